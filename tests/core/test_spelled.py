"""Options are of the type that the method says, or a clear error."""

from dataclasses import fields

import pytest

from discreet.core.spelled import require_options
from discreet.errors import BadInput
from discreet.verbs.tabulate.methods.parse import FORMS as TABLES
from discreet.verbs.tabulate.methods.parse import parse_method


@pytest.mark.parametrize(
    "text",
    [
        *(f"round base={wrong}" for wrong in ("abc", "nan", "inf", "-inf", "1e30", "0", "-5", "true")),
        "round base",
        "round base=5 seconds=abc",
        "round base=5 seconds=0",
        "cell-key variance=abc",
        "cell-key most=2.5",
        "suppress seconds=abc",
        "suppress gap=abc",
        "suppress zeros=maybe",
        "suppress how",
        "factors least=abc",
        "factors law=normal",
        "factors least=30% most=20%",
        "adjust seconds=abc",
        "adjust seconds=-1",
        "adjust gap=abc",
        "adjust gap=2",
        "adjust keep-totals=maybe",
        "swap areas=a risk=b rate=abc",
        "swap areas=a risk=b rate=2",
        "swap areas=a risk=b k=1",
        "swap areas risk=b",
        f"round base={'9' * 400}",
    ],
)
def test_options_of_the_wrong_type_or_size_are_refused(text):
    with pytest.raises(BadInput):
        parse_method(text)


def test_what_is_right_is_taken():
    assert parse_method("adjust keep-totals").keep_totals is True
    assert parse_method("adjust keep-totals=false").keep_totals is False
    assert parse_method("factors least=10% most=0.2").most == 0.2
    assert parse_method("swap areas=1 risk=b").risk == "b"


def test_every_method_has_types_that_are_understood():
    for name, (example, kind) in TABLES.items():
        for option in fields(kind):
            with pytest.raises(BadInput):
                require_options(name, kind, {option.name: object()}, example)


def test_the_error_says_what_is_expected():
    with pytest.raises(BadInput, match=r"adjust: seconds is a number, not 'x'. Write: adjust"):
        parse_method("adjust seconds=x")
    with pytest.raises(BadInput, match=r"adjust: keep-totals is yes or no \(true or false\), not 'maybe'"):
        parse_method("adjust keep-totals=maybe")
