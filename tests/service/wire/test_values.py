"""Values of the protocol's types, there and back; and messages that are none."""

import datetime as dt
from decimal import Decimal

import pytest

from discreet.errors import BadInput
from discreet.service.postgres import values
from discreet.service.postgres.messages import BadMessage, Bind, Execute, Parse, Startup, Target
from discreet.service.postgres.session_settings import SessionSettings

NUMBERS = ("0", "1", "-1", "0.5", "-0.05", "10000", "12345678.00012300", "1e-20", "9" * 38, "0.0001", "100000000")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_in_binary_is_the_number(number):
    sent = values.NUMERIC.binary(number)
    assert Decimal(values.literal_of(sent, 1700, 1).sql()) == Decimal(number)
    assert Decimal(values.literal_of(number.encode(), 1700, 0).sql()) == Decimal(number)


@pytest.mark.parametrize(
    ("type_", "value", "written"),
    [
        (values.INT8, -3, "-3"),
        (values.OID, 2**32 - 1, str(2**32 - 1)),
        (values.FLOAT8, 1.5, "1.5"),
        (values.BOOL, True, "TRUE"),
        (values.DATE, "1999-12-31", "CAST('1999-12-31' AS DATE)"),
        (values.TIMESTAMP, "2024-02-29T12:00:00.5", "CAST('2024-02-29 12:00:00.500000' AS TIMESTAMP)"),
        (values.TEXT, "it's\\'; --", "'it''s\\'';--'"),
    ],
)
def test_binary_and_text_of_a_value_are_the_same_literal(type_, value, written):
    literals = [values.literal_of(values.encoder(type_, format_)(value), type_.oid, format_) for format_ in (0, 1)]
    assert literals[0] == literals[1]
    assert literals[0].sql("duckdb").replace(" --", "--") == written


@pytest.mark.parametrize("items", [[], ["a"], ["a,b", 'c"d', "e\\f", "NULL", "", "{x}", " y ", None, "ü"]])
def test_arrays_come_back_as_they_were(items):
    type_ = values.array_type(values.TEXT)
    for format_ in (0, 1):
        literal = values.literal_of(values.encoder(type_, format_)(items), type_.oid, format_)
        assert [one.name if one.is_string else None for one in literal.expressions] == items


@pytest.mark.parametrize(
    ("value", "oid", "format_"),
    [
        (b"x", 20, 0), (b"1.5", 23, 0), (b"nan", 701, 0), (b"inf", 1700, 0),
        (b"maybe", 16, 0), (b"2024-13-01", 1082, 0),
        (b"\xff\xfe", 25, 0), (b"a\0b", 25, 0), (b"\0", 20, 1), (b"\x7f\xff\xff\xff", 1082, 1), (b"\0" * 7, 1700, 1),
        (b"\0\xff" + b"\0" * 6, 1700, 1), (b"\x7f\xf0" + b"\0" * 6, 701, 1), (b"{a", 1009, 0), (b"{a,}", 1009, 0),
        (b"{{a}}", 1009, 0), (b"\0" * 3, 1009, 1), (b"\0\0\0\x02" + b"\0" * 8, 1009, 1), (b"9" * 50, 20, 0),
        (b"\0\0\0\1\0\0\0\0\0\0\0\x19\x7f\xff\xff\xff\0\0\0\1", 1009, 1), (b"{" + b"a," * 2000 + b"a}", 1009, 0),
    ],
)  # fmt: skip
def test_what_is_no_value_of_its_type_is_refused(value, oid, format_):
    with pytest.raises(BadInput):
        values.literal_of(value, oid, format_)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Parse, b""), (Parse, b"a\0b"), (Parse, b"a\0b\0\0\2\0\0\0\1"),
        (Parse, b"a\0b\0\0\0more"), (Parse, b"\xff\0b\0\0\0"),
        (Bind, b"\0\0\0\0\0\1\0\0\0\5abc\0\0"), (Bind, b"\0\0\0\2\0\0\0\0\0\1\0\0\0\0\0\0"),
        (Bind, b"\0\0\0\1\0\7\0\0\0\0"),
        (Bind, b"\0\0\0\0\xff\xff"), (Bind, b"\0\0\0\0\0\1\xff\xff\xff\xfe\0\0"), (Target, b"X\0"), (Target, b"Sa"),
        (Execute, b"\0\0\0"), (Startup, b"\0\3\0\0user\0"),
        (Startup, b"\0\3\0\0user\0ann\0"), (Startup, b"\4\xd2\x16\x2fx"),
    ],
)  # fmt: skip
def test_messages_that_are_shorter_or_longer_than_they_say_are_none(kind, data):
    with pytest.raises(BadMessage):
        kind.read(data)


def test_dates_are_those_of_postgresql():
    assert values.DATE.binary("2000-01-02") == b"\0\0\0\1"
    assert values.TIMESTAMPTZ.binary("2000-01-01T00:00:01+00:00") == (10**6).to_bytes(8)
    assert values.encoder(values.TIMESTAMP, 0)(dt.datetime(2024, 1, 2).isoformat()) == b"2024-01-02 00:00:00"


def test_a_transaction_takes_back_what_was_set_in_it():
    settings = SessionSettings("ann")
    settings.start({"discreet.epsilon": "1"})
    settings.begin()
    settings.set("discreet.epsilon", "2")
    settings.set("discreet.delta", "1e-6", local=True)
    assert settings.own("delta") == "1e-6"
    settings.end(well=True)
    assert (settings.own("epsilon"), settings.own("delta")) == ("2", "0")
    settings.begin()
    settings.set("discreet.epsilon", "3")
    settings.end(well=False)
    assert settings.own("epsilon") == "2"
    settings.set("discreet.epsilon", None)
    assert settings.own("epsilon") == "1"
    with pytest.raises(BadInput, match="too many"):
        for number in range(200):
            settings.set(f"a.b{number}", "1")
