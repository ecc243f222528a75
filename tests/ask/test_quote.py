"""Prices before anything is spent: expected errors, the smallest epsilon for an error, identities, quotes in words."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import exp as e_to_the

import numpy as np
import pyarrow as pa
import pytest
from tests.ask.test_plan import planned as plan_of
from tests.ask.test_plan import table
from tests.ask.visits import CARD

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.release import Release
from discreet.core.statement import Recipe, Statement
from discreet.errors import BadInput, BadQuery
from discreet.verbs.ask import price as module
from discreet.verbs.ask import syntax
from discreet.verbs.ask.plan import UNITS
from discreet.verbs.ask.price import Quote, expected_errors, price, smallest_epsilon
from discreet.verbs.ask.question import SqlMethod, normal, planned, pose, questions_in

COUNT = "SELECT COUNT(*) AS n FROM visits"
MEAN = "SELECT AVG(age) AS a FROM visits"
OPEN = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"
VISITS = {"visits": table(CARD)}


def bar(text: str, epsilon: object, rows: int | None = None) -> float | None:
    made = plan_of(text)
    (one,) = expected_errors(made, price(made, epsilon), rows).values()  # type: ignore[arg-type]
    return one


def test_the_error_of_a_count_is_that_of_its_noise() -> None:
    made = plan_of(COUNT)
    paid = price(made, 1)
    (noise,) = paid.noise.values()
    assert expected_errors(made, paid, None) == {"n": float(noise.error(Fraction(48, 1000)))}
    assert bar(COUNT, 1) == bar(COUNT, 1, 1000)


def test_the_error_of_an_average_needs_the_rows_behind_it() -> None:
    assert bar(MEAN, 1) is None
    made = plan_of(MEAN)
    paid, rows = price(made, 1), 1000
    (figure,) = made.figures.values()
    spreads = paid.spreads()
    total, count = spreads[figure.total], spreads[figure.count]  # type: ignore[attr-defined]
    far = bar(MEAN, 1, rows)
    assert far is not None
    assert far * rows == pytest.approx(math.hypot(total, (60 + far) * count)), "60 from the middle at most"
    assert bar(MEAN, 1, 1) == 120, "of one row nothing is known"


def test_figures_without_a_bar_have_no_expected_error() -> None:
    made = plan_of("SELECT COUNT(*) * 2 AS twice, MEDIAN(age) AS m, COUNT(*) AS n, city AS c FROM visits GROUP BY city")
    assert expected_errors(made, price(made, 1), 10).keys() == {"twice", "m", "n"}
    assert expected_errors(made, price(made, 1), 10)["m"] is None


@pytest.mark.parametrize("epsilon", ["0.001", "0.0734", "1", "9.99"])
def test_the_smallest_epsilon_gives_exactly_that_error_and_the_next_one_below_does_not(epsilon: str) -> None:
    error = bar(COUNT, epsilon)
    assert error is not None
    found = smallest_epsilon(plan_of(COUNT), 0, error, None, None)
    assert found <= Fraction(epsilon)
    assert bar(COUNT, found) == error
    digits = found
    while digits < 100:
        digits *= 10
    below = found * (1 - 1 / digits)
    assert bar(COUNT, below) > error  # type: ignore[operator]


def test_an_error_may_be_a_share_of_the_figure_that_is_expected() -> None:
    made = plan_of(COUNT)
    plain = smallest_epsilon(made, 0, 50, None, None)
    for share in ("5%", "5 %", "5% at 95%", " 5 % at 95 % "):
        assert smallest_epsilon(made, 0, share, 1000, None) == plain
    with pytest.raises(BadInput, match="discreet will not take from the data"):
        smallest_epsilon(made, 0, "5%", None, None)
    with pytest.raises(BadInput, match="No epsilon gives an error of 0"):
        smallest_epsilon(made, 0, 0, None, None)
    with pytest.raises(BadInput, match="No epsilon gives an error of 0"):
        smallest_epsilon(made, 0, "0%", 1000, None)


def test_what_has_no_error_beforehand_has_no_epsilon_for_it() -> None:
    with pytest.raises(BadInput, match="a has no error known in advance"):
        smallest_epsilon(plan_of(MEAN), 0, 5, None, None)
    assert bar(MEAN, smallest_epsilon(plan_of(MEAN), 0, 5, None, 1000), 1000) <= 5  # type: ignore[operator]
    with pytest.raises(BadInput, match="This question has no error"):
        smallest_epsilon(plan_of("SELECT COUNT(*) * COUNT(*) AS n FROM visits"), 0, 5, None, None)
    with pytest.raises(BadInput, match="delta above 0"):
        smallest_epsilon(plan_of(OPEN), 0, 5, None, None)
    far = Card("far", (Column("x", Kind.REAL, bounds=(0.0, 1e15)),))
    with pytest.raises(BadInput, match="No epsilon that protects people"):
        smallest_epsilon(plan_of("SELECT SUM(x) FROM far", {"far": table(far)}), 0, "1e-9", None, None)


@pytest.mark.parametrize("first", ["1e-6", "0.00000999", "0.0123", "1", "1.01", "9990"])
def test_epsilons_are_tried_by_three_digits(first: str) -> None:
    assert module._first(lambda epsilon: epsilon >= Fraction(first)) == Fraction(first)


def test_epsilons_have_ends() -> None:
    assert module._first(lambda epsilon: True) == Fraction("1e-6")
    with pytest.raises(BadInput):
        module._first(lambda epsilon: epsilon > 9990)


@pytest.mark.parametrize(("delta", "few"), [("1e-6", None), ("1e-3", 2), ("0.9", None)])
def test_a_group_of_one_person_passes_the_threshold_with_its_share_of_delta_and_no_lower_one_does(
    delta: str, few: int | None
) -> None:
    tables = {"visits": table(replace(CARD, groups_per_unit=few))}
    made = plan_of(OPEN, tables)
    paid = price(made, "0.5", delta)
    assert paid.loss == Approximate("0.5", delta)
    groups = made.rows.owned.groups
    assert groups == (few or 3)
    scale = float(paid.noise[UNITS].scale)  # type: ignore[union-attr]

    def passes(threshold: int) -> float:
        """P(each + noise > threshold)."""
        away = threshold - made.measures[UNITS].each
        tail = e_to_the(-(abs(away) + 1) / scale) / (1 + e_to_the(-1 / scale))
        return tail if away >= 0 else 1 - tail * e_to_the(1 / scale)

    assert paid.threshold is not None
    share = min(float(delta) / groups, 0.25)
    assert passes(paid.threshold) <= share < passes(paid.threshold - 1)


@pytest.mark.parametrize("delta", [0, 1, 2])
def test_open_groups_need_a_delta_between_0_and_1(delta: int) -> None:
    with pytest.raises(BadInput, match="The values of note are not declared"):
        price(plan_of(OPEN), 1, delta)
    with pytest.raises(BadInput, match="an expression"):
        price(plan_of("SELECT LOWER(note) AS l, COUNT(*) AS n FROM visits GROUP BY 1"), 1, delta)


def test_a_loss_says_what_is_promised() -> None:
    assert price(plan_of(COUNT), 1).loss == Pure(1)
    assert price(plan_of(COUNT), 1, "1e-6").loss == Pure(1), "declared groups need no delta"
    assert price(plan_of(COUNT), rho="1/2").loss == Concentrated("1/2")
    assert price(plan_of(COUNT), rho="1/2").threshold is None


def test_bars_are_at_95_percent_and_sums_of_noises_have_the_root_of_the_sum_of_squares() -> None:
    paid = price(plan_of(COUNT), "1/50")
    ((name, noise),) = paid.noise.items()
    assert paid.errors() == {name: noise.error(Fraction(48, 1000))}
    assert paid.spreads()[name] == pytest.approx(paid.errors()[name], rel=0.02)
    assert paid.spreads(9)[name] == pytest.approx(3 * paid.spreads()[name])
    assert paid.errors(9)[name] == math.ceil(paid.spreads(9)[name])


def test_a_quotient_has_its_error_in_the_answer_and_none_beforehand() -> None:
    made = plan_of("SELECT SUM(age) / COUNT(*) AS q, COUNT(*) AS n FROM visits")
    known = expected_errors(made, price(made, 1), 10)
    assert known["q"] is None and known["n"] is not None
    assert smallest_epsilon(made, 0, 50, None, None) > 0, "of those that are known"


# -- questions


def test_the_questions_of_a_file() -> None:
    assert questions_in("SELECT 1;\n-- two\nSELECT  2 ;; ") == ["SELECT 1", "SELECT 2"]
    assert questions_in("SELECT 1") == ["SELECT 1"]
    for nothing in ("", " ; ", "-- nothing"):
        with pytest.raises(BadQuery, match="no question in this file"):
            questions_in(nothing)


def test_a_question_has_one_spelling_up_to_the_longest() -> None:
    assert normal("select  count(*)\n from visits -- all") == "SELECT COUNT(*) FROM visits"
    assert normal("SELECT 1; SELECT 2") == "SELECT 1; SELECT 2"
    assert normal("") == ""
    assert normal("SELECT (") == "SELECT ("
    long = COUNT.ljust(syntax.LONGEST)
    assert normal(long) == COUNT
    assert normal(long + " ") == long + " "
    with pytest.raises(BadQuery, match="incomplete Unicode character"):
        planned("SELECT COUNT(*) FROM visits WHERE note = '\ud800'", VISITS)


def test_a_question_is_the_same_about_the_same_tables_at_the_same_loss_only() -> None:
    asked = planned(COUNT, VISITS)
    one = pose(asked, {"visits": "1", "other": "9"}, epsilon=1)
    assert one.tables == ("visits",)
    assert one.twins == {"visits": "1"}, "what it reads, and no other"
    same = pose(planned("select count(1) as m from visits as v", VISITS), {"visits": "1"}, epsilon=1)
    assert one.identity == same.identity
    others = [pose(asked, {"visits": "2"}, epsilon=1), pose(asked, {"visits": "1"}, epsilon=2)]
    others += [pose(asked, {"visits": "1"}, rho=1), pose(planned(MEAN, VISITS), {"visits": "1"}, epsilon=1)]
    assert len({one.identity, *(other.identity for other in others)}) == 5


def test_an_error_bar_that_is_no_number_is_refused_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = planned(COUNT, VISITS)
    for bars, fine in (({"n": None}, True), ({"n": 0.0}, True), ({"n": -1.0}, False), ({"n": float("inf")}, False)):
        monkeypatch.setattr("discreet.verbs.ask.question.expected_errors", lambda *_, bars=bars: bars)
        if fine:
            assert pose(asked, {"visits": "1"}, epsilon=1)
            continue
        with pytest.raises(BadInput, match="no finite error bar"):
            pose(asked, {"visits": "1"}, epsilon=1)


def test_a_quote_in_words() -> None:
    quote = Quote(Pure(1), {"n": 12.3456, "a": None, "s": 123456.7}, Pure(2), answered=False)
    assert str(quote).splitlines() == [
        "This would cost ε = 1; ε = 2 is left.",
        "  n: ±12.35",
        "  a: shown with the answer",
        "  s: ±123,457",
    ]
    assert str(replace(quote, answered=True)).startswith("Answered before, so it is free.\n  n")
    assert "visits and staff would answer instead" in str(replace(quote, synthetic=("visits", "staff")))
    assert [module._short(one) for one in (9999.0, 10_000.0, -10_000.0, 0.00012345)] == [
        "9,999",
        "10,000",
        "-10,000",
        "0.0001234",
    ]


def test_an_answer_is_given_in_the_words_of_the_question() -> None:
    method = SqlMethod(pose(planned(COUNT, VISITS), {"visits": "1"}, epsilon=1), (CARD,))
    assert method.parameters == {"question": COUNT}
    assert method.promise(CARD).loss == Pure(1)
    assert method.expected(None) == {"n": bar(COUNT, 1)}
    assert len(method.steps(CARD)) == 2
    kept = Release(pa.table({"m": [5], "m_error": [3]}), Statement("person", Pure(1)), Recipe("ask", {"question": "?"}))
    given = method.named(kept)
    assert given.payload.column_names == ["n", "n_error"]
    assert given.recipe.parameters == {"question": COUNT}
    own = replace(kept, recipe=Recipe("ask", {"question": COUNT}))
    assert method.named(own) is own
    assert np.array_equal(given.payload["n"].to_numpy(), [5])
