"""JSON that loses nothing."""

from __future__ import annotations

import datetime as dt
import json
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.document import dumps, fields, loads
from discreet.errors import BadInput

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.fractions()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC)).map(lambda time: time.replace(fold=0))
)
keys = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda key: not key.startswith("$"))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.lists(inner).map(tuple),
    max_leaves=8,
)


@given(values)
def test_every_value_comes_back_equal_and_of_its_own_type(value: object) -> None:
    assert repr(loads(dumps(value))) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {1: "a"},
        {"$fraction": "1/3"},
        {1, 2},
        b"bytes",
        object(),
        np.float64(0.5),
        np.int64(3),
        pytest.param("half a pair \ud800", id="surrogate"),
        dt.time(12),
        dt.datetime(2020, 1, 1, fold=1),
        dt.datetime(2020, 1, 1, tzinfo=ZoneInfo("Europe/Madrid")),
    ],
)
def test_what_would_not_come_back_the_same_is_refused(value: object) -> None:
    with pytest.raises(BadInput):
        dumps(["fine", {"inside": (value,)}])


def test_the_refusal_says_where_the_value_is() -> None:
    with pytest.raises(BadInput, match=r"the value\['rows'\]\[1\] is a builtins.set"):
        dumps({"rows": [1, {2}]})


def test_an_integer_too_long_to_write_down_is_refused() -> None:
    with pytest.raises(BadInput, match="too long"):
        dumps([10**5000])


def test_a_list_inside_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(BadInput, match="too deep"):
        dumps(endless)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        '{"a": 1, "a": 2}',
        '{"$module": "os"}',
        '{"$fraction": "1/0"}',
        '{"$fraction": "1e999999999"}',
        '{"$fraction": 1}',
        '{"$decimal": "x"}',
        '{"$date": "1", "b": 2}',
    ],
)
def test_text_that_was_not_written_here_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="not JSON that discreet wrote"):
        loads(text)


def test_plain_data_stays_plain_json() -> None:
    plain = {"k": 5, "columns": ["zip", "àge"], "t": 0.5, "none": None}
    assert json.loads(dumps(plain)) == plain
    assert "àge" in dumps(plain)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "must be an object"),
        ({}, "no field 'k'"),
        ({"k": 1, "l": 2}, "unknown field 'l'"),
        ({"k": "1"}, "k has the wrong type"),
        ({"k": True}, "k has the wrong type"),
    ],
)
def test_fields_are_exactly_those_expected(data: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        fields(data, "a claim", k=int)


def test_a_truth_is_no_number_unless_both_are_expected() -> None:
    with pytest.raises(BadInput, match="wrong type"):
        fields({"k": True}, "a claim", k=int | str)
    assert fields({"k": True}, "a claim", k=bool | int) == {"k": True}
