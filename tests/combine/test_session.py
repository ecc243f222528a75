"""Sessions: the four salaries, what is charged and when, what is promised, and how a result reads."""

import datetime as dt
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.combine.playing import crypto, played, result

from discreet.core.card import Card, Column
from discreet.core.loss import Approximate, Pure
from discreet.core.release import Receipt
from discreet.engines.read import read
from discreet.errors import BadInput, BudgetExceeded, DataError, NoPromise, NotDeclared, Refused
from discreet.verbs.combine import session
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.terms import Result, Terms

SALARIES = {"north": 1200, "south": 2350, "east": 900, "west": 41_000}
BOUNDS = {"low": Fraction(0), "high": Fraction(100_000)}


def terms(function="sum", protocol="masks", **more):
    return Terms(tuple(SALARIES), protocol, function, **{**BOUNDS, **more})


@pytest.mark.parametrize("protocol", ["ring", "paths count=3", "shares", "masks", "trusted"])
def test_four_people_learn_the_sum_of_their_salaries(protocol):
    """The combine case of CASES.md: the sum modulo n, round a ring and by the other ways."""
    found = result("sum", SALARIES, protocol, **BOUNDS)
    assert found == Result(sum(SALARIES.values()), tuple(SALARIES))
    assert str(found) == "45,450"


def test_cents_and_places_side_by_side():
    held = {name: [f"{value}.05", -1] for name, value in SALARIES.items()}
    found = result("sum length=2", held, low=Fraction(-10), high=Fraction(100_000), decimals=2)
    assert [str(value) for value in found.value] == ["45450.20", "-4.00"]


def test_a_value_outside_the_bounds_is_an_error_before_anything_is_sent():
    play = session.play(terms(), "north", crypto(0), Data.from_value(100_001))
    with pytest.raises(DataError, match="outside the declared bounds"):
        next(play)
    with pytest.raises(DataError, match="sum length=2"):
        next(session.play(terms(), "north", crypto(0), Data.from_value([1, 2])))


class Ledger:
    """Keeps what was charged."""

    def __init__(self):
        self.lines = []

    def charge(self, loss, key):
        self.lines.append((loss, key))
        return Receipt("pay", key, loss, len(self.lines), "", dt.datetime.now(dt.UTC))


def test_the_loss_is_charged_before_the_first_message_and_once():
    ledger = Ledger()
    noisy = terms(epsilon=Fraction(1, 2))
    play = session.play(noisy, "north", crypto(0), Data.from_value(5), charge=ledger.charge)
    assert not ledger.lines
    first = next(play)
    assert [loss for loss, _ in ledger.lines] == [Pure("1/2")]
    again = session.play(noisy, "north", crypto(0), Data.from_value(5), charge=ledger.charge)
    assert str(next(again)) == str(first)
    assert ledger.lines[0] == ledger.lines[1], "a session that is resumed charges under the same key"
    other = session.play(noisy, "north", crypto(0, run=1), Data.from_value(5), charge=ledger.charge)
    next(other)
    assert ledger.lines[2][1] != ledger.lines[0][1]


def test_nothing_is_sent_when_the_budget_does_not_cover_it():
    def refuse(loss, key):
        raise BudgetExceeded("No.", asked=loss, left=Pure(0))

    play = session.play(terms(epsilon=Fraction(1)), "north", crypto(0), Data.from_value(5), charge=refuse)
    with pytest.raises(BudgetExceeded):
        next(play)


def test_bad_data_are_not_charged_and_exact_results_cost_nothing():
    ledger = Ledger()
    with pytest.raises(DataError):
        next(session.play(terms(epsilon=Fraction(1)), "north", crypto(0), Data.from_value(-1), charge=ledger.charge))
    next(session.play(terms(), "north", crypto(0), Data.from_value(1), charge=ledger.charge))
    assert not ledger.lines


def test_the_statement_carries_secrecy_and_loss():
    exact = session.statement(terms())
    assert exact.loss is None
    assert exact.secrecy.parties == tuple(SALARIES)
    assert ("south", "west") in exact.secrecy.withstands
    assert any("can lie about its own value" in sentence for sentence in exact.caveats)
    noisy = session.statement(terms("mean", epsilon=Fraction(1), delta=Fraction(1, 10**6), honest=3))
    assert noisy.loss == Approximate(1, "1e-6")
    assert not noisy.replaces
    assert any("At least 3" in sentence for sentence in noisy.assumes)
    assert any("more than one row" in sentence for sentence in noisy.assumes)
    assert any("any one party" in sentence for sentence in noisy.caveats)
    own = session.statement(terms(epsilon=Fraction(1)))
    assert own.replaces
    assert own.unit == "party"
    assert any("any one party" in sentence for sentence in own.caveats)
    outside = session.statement(terms(epsilon=Fraction(1), honest=4))
    assert any("a party knows its own noise" in sentence for sentence in outside.caveats)


@pytest.mark.parametrize("function", ["median", "kmeans x=a k=2", "logistic y=a:n|y x=b", "tree y=a:n|y x=b:n|y"])
def test_where_totals_steer_what_is_asked_the_statement_says_who_can_steer(function):
    said = session.statement(terms(function))
    assert any("between sums" in sentence and "single values" in sentence for sentence in said.assumes)
    assert session.reveals(terms(function))
    assert set(session.reveals(terms(function))) <= set(said.caveats)
    once = session.statement(terms("sum"))
    assert not any("single values" in sentence for sentence in once.assumes)
    assert session.reveals(terms("sum")) == ()


def test_with_noise_nobody_may_have_several_rows():
    columns = (Column("id", "integer"), Column("age", "integer", bounds=(0, 110)))
    rows = pa.table({"id": [1, 2, 2], "age": [3, 40, 41]})
    table = read(rows, Card("visits", columns, unit="id", rows_per_unit=2))
    noisy = terms("mean of=age:0:110", epsilon=Fraction(1))
    with pytest.raises(Refused, match="several rows"):
        next(session.play(noisy, "north", crypto(0), Data.from_value(table)))
    next(session.play(terms("mean of=age:0:110"), "north", crypto(0), Data.from_value(table)))


@pytest.mark.parametrize(
    "function",
    [
        "min", "max", "median", "quantile at=0.5", "regression y=a x=b", "logistic y=a:n|y x=b", "tree y=a:n|y x=b:n|y",
        "kmeans x=a k=2",
    ],
)  # fmt: skip
def test_functions_that_steer_by_totals_offer_no_noise(function):
    session.statement(terms(function))
    with pytest.raises(NoPromise, match="noise is not supported"):
        session.statement(terms(function, epsilon=Fraction(1)))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"low": None}, NotDeclared),
        ({"threshold": 3, "protocol": "ring"}, BadInput),
        ({"epsilon": Fraction(1), "honest": 5}, BadInput),
        ({"epsilon": Fraction(1), "function": "variance", "decimals": 4}, BadInput),
        ({"epsilon": Fraction(1), "delta": Fraction(1, 10**6), "function": "variance"}, BadInput),
        ({"function": "som"}, BadInput),
        ({"function": "sum length=0"}, BadInput),
        ({"function": "sum length=100000000"}, BadInput),
        ({"protocol": "dining"}, BadInput),
        ({"function": "parity"}, BadInput),
    ],
)
def test_wrong_terms_are_told_before_any_data(more, error):
    with pytest.raises(error):
        session.statement(terms(**more))


def test_dropouts_are_left_out_of_the_result():
    found = played(
        terms("mean", threshold=3),
        SALARIES,
        leaves=lambda party, effect: party == "west" and "vector" in getattr(effect, "body", {}),
    )
    assert found.results["north"].value == {"mean": 4450 / 3, "rows": 3, "sum": 4450}
    assert found.results["north"].parties == ("north", "south", "east")


def test_results_read_well():
    told = result("histogram edges=0,1000,50000", SALARIES, low=None, high=None)
    assert str(told) == "counts\n  0 to below 1000: 1\n  1000 to 50000: 3"
    assert told.picture is not None
    assert result("count", SALARIES).picture is None
    table = Result({"columns": ["sex", "rows"], "rows": [["f", 12_345], ["m", None]], "converged": True}, ())
    assert str(table) == "sex  rows\nf    12,345\nm    none\nconverged: yes"
