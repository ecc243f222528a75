"""Options are of the type that the method says, or a clear error."""

import pytest

from discreet.core.families import PRIVATE_SYNTHESIS, TABLE_METHODS
from discreet.errors import BadInput


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
        TABLE_METHODS.parse(text)


def test_what_is_right_is_taken():
    assert TABLE_METHODS.parse("adjust keep-totals").keep_totals is True
    assert TABLE_METHODS.parse("adjust keep-totals=false").keep_totals is False
    assert TABLE_METHODS.parse("factors least=10% most=0.2").most == 0.2
    assert TABLE_METHODS.parse("swap areas=1 risk=b").risk == "b"


def test_a_list_may_have_spaces_behind_its_commas():
    made = PRIVATE_SYNTHESIS.parse(
        "epsilon=1, person=sex, ward quantiles=age,cost bins=age:4, cost:8 on sex, ward, age"
    )
    assert (made.person, made.quantiles, made.bins) == (("sex", "ward"), ("age", "cost"), {"age": 4, "cost": 8})
    assert made.columns == ("sex", "ward", "age")


def test_the_error_says_what_is_expected():
    with pytest.raises(BadInput, match=r"adjust: seconds must be a number above 0, got 'x'. Write: adjust"):
        TABLE_METHODS.parse("adjust seconds=x")
    with pytest.raises(BadInput, match=r"adjust: keep-totals must be yes or no \(true or false\), got 'maybe'"):
        TABLE_METHODS.parse("adjust keep-totals=maybe")
