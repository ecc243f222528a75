"""An audited table without a ledger: sets, exact figures, decisions, and what is learnt of them."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.errors import BadQuery, Refused
from discreet.verbs.ask.query_auditing import audit as module
from discreet.verbs.ask.query_auditing.audit import Audit, Decision, Outcome
from discreet.verbs.ask.query_auditing.facts import written
from discreet.verbs.ask.query_auditing.policy import Policy


def column(name, kind, high):
    return Column(name, kind, Role.SENSITIVE, bounds=(-high, high), required=True)


CARD = Card(
    "staff",
    (
        Column("who", Kind.INTEGER, Role.IDENTIFIER),
        Column("city", Kind.TEXT, Role.QUASI, categories=("Milan", "Rome")),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("f", "m")),
        column("salary", Kind.REAL, 1000.0),
        column("bonus", Kind.INTEGER, 1000),
        column("tax", Kind.DECIMAL, Decimal(1000)),
        Column("ill", Kind.BOOLEAN, Role.SENSITIVE, required=True),
    ),
    unit="who",
    rows_per_unit=2,
)
WHO = [1, 1, 2, 3, 4, 5, 6, 6]
ROWS = pa.table(
    {
        "who": WHO,
        "city": ["Rome", "Rome", "Rome", "Rome", "Milan", "Milan", "Milan", "Milan"],
        "sex": ["f", "f", "m", "m", "f", "m", "m", "m"],
        "salary": [0.1, 0.2, 0.3, 4.0, 5.0, 6.0, 7.0, -8.0],
        "bonus": [1, 2, 3, 4, 5, 6, 7, 8],
        "tax": pa.array([Decimal(n) / 100 for n in range(101, 109)], pa.decimal128(10, 2)),
        "ill": [True, False] * 4,
    }
)
POLICY = {"salary": "sum", "bonus": "extremes", "tax": "sum"}


def audited(columns=POLICY, by=("city", "sex"), card=CARD, rows=ROWS):
    return Audit(dc.read(rows, card), Policy.of(columns, by, card))


def ask(audit, text):
    """What becomes of a question, which is learnt."""
    question = audit.question(text)
    decision = audit.decide(question)
    audit.learn(question, decision)
    return audit.answer(question, decision.told).to_pylist() if decision.told else decision.outcome


def test_answers_are_exact_and_in_the_order_of_their_groups():
    found = ask(audited(), "SELECT city, SUM(salary) AS s, AVG(salary) AS m, COUNT(*) AS n FROM staff GROUP BY city")
    assert found == [
        {"city": "Milan", "s": 10.0, "m": 2.5, "n": 4},
        {"city": "Rome", "s": 4.6, "m": 1.15, "n": 4},
    ]
    assert ask(audited(), "SELECT MAX(bonus) AS high FROM staff") == [{"high": 8}]
    assert ask(audited(), "SELECT SUM(tax) AS t FROM staff") == [{"t": Decimal("8.36")}]
    assert ask(audited(), "SELECT MIN(bonus) AS low FROM staff WHERE city = 'Milan'") == [{"low": 5}]


def test_groups_of_two_keys_are_told_apart():
    audit = audited()
    sets = audit._facts.sets(audit.question("SELECT city AS c, sex AS s, SUM(tax) AS t FROM staff GROUP BY city, sex"))
    assert sets.keys.to_pylist() == [{"c": c, "s": s} for c in ("Milan", "Rome") for s in ("f", "m")]
    assert (sets.sizes.tolist(), sets.count) == ([1, 3, 2, 2], 4)
    assert sets.group.tolist() == [2, 2, 3, 3, 0, 1, 1, 1]
    some = audit._facts.sets(audit.question("SELECT sex, SUM(tax) AS t FROM staff WHERE city = 'Rome' GROUP BY sex"))
    assert some.group.tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    none = audit._facts.sets(audit.question("SELECT SUM(tax) AS t FROM staff WHERE city = 'Oslo'"))
    assert (none.group.tolist(), none.sizes.tolist()) == ([-1] * 8, [0])
    assert audit._facts.figures("sum", "tax", none) == [None]


def test_a_person_of_two_rows_is_one_person():
    audit = audited()
    assert ask(audit, "SELECT SUM(salary) AS s FROM staff WHERE city = 'Rome' AND sex = 'f'") is Outcome.DENIED
    assert ask(audit, "SELECT SUM(salary) AS s FROM staff") == [{"s": 14.6}]
    assert ask(audit, "SELECT SUM(salary) AS s FROM staff WHERE city = 'Rome'") == [{"s": 4.6}]
    assert ask(audit, "SELECT SUM(salary) AS s FROM staff WHERE sex = 'm' AND city = 'Rome'") is Outcome.DENIED
    assert ask(audit, "SELECT SUM(tax) AS s FROM staff WHERE sex = 'm' AND city = 'Rome'") is Outcome.DENIED, "one span"
    assert ask(audit, "SELECT SUM(tax) AS s FROM staff WHERE city = 'Milan'") == [{"s": Decimal("4.26")}]


def test_rows_without_a_unit_are_each_a_persons_own():
    card = Card("staff", CARD.columns[1:])
    audit = audited(card=card, rows=ROWS.drop_columns(["who"]))
    assert audit._facts.owner.tolist() == list(range(8))
    assert ask(audit, "SELECT SUM(salary) AS s FROM staff WHERE city = 'Rome' AND sex = 'f'") != Outcome.DENIED


def test_nothing_is_learnt_of_a_denial_and_something_of_an_answer():
    audit = audited({"bonus": "extremes"})
    rome = audit.question("SELECT MAX(bonus) AS b FROM staff WHERE city = 'Rome'")
    decision = audit.decide(rome)
    assert decision.outcome is Outcome.ANSWERED
    assert decision.told == {("max", "bonus"): [4]}
    denied = Decision(Outcome.DENIED, {})
    assert audit.fingerprint(rome, denied) == ""
    assert len(audit.fingerprint(rome, decision)) == 16
    both = audit.question("SELECT city, MAX(bonus) AS b FROM staff GROUP BY city")
    assert audit.fingerprint(both, decision) != audit.fingerprint(rome, decision)
    side = audit._auditors["column bonus"]._sides["max"]
    audit.learn(rome, denied)
    assert not side.touched.any()
    audit.learn(rome, decision)
    assert side.touched.any()
    assert ask(audit, "SELECT MIN(bonus) AS b FROM staff WHERE city = 'Rome'") is Outcome.DENIED


def test_a_bounded_column_is_looked_at_and_closed_for_good():
    columns = tuple(one for one in CARD.columns if one.name in ("city", "sex", "ill"))
    card = Card("staff", columns)
    many = pa.table(
        {"city": ["Rome"] * 8 + ["Milan"] * 8, "sex": ["f", "m"] * 8, "ill": [True, False] * 4 + [True] * 8}
    )
    audit = audited({"ill": "bounded=1:look"}, card=card, rows=many)
    assert ask(audit, "SELECT SUM(ill) AS n FROM staff WHERE city = 'Rome'") == [{"n": 4}]
    assert ask(audit, "SELECT SUM(ill) AS n FROM staff WHERE city = 'Milan'") is Outcome.CLOSED, "all of them"
    assert ask(audit, "SELECT SUM(ill) AS n FROM staff WHERE city = 'Rome'") is Outcome.SHUT


def test_a_question_has_as_many_figures_as_the_limit(monkeypatch):
    text = "SELECT city, SUM(salary) AS s, SUM(tax) AS t FROM staff GROUP BY city"
    monkeypatch.setattr(module, "_MOST", 4)
    assert len(ask(audited(), text)) == 2
    monkeypatch.setattr(module, "_MOST", 3)
    with pytest.raises(BadQuery, match="more than 3 figures"):
        ask(audited(), text)


def test_figures_are_written_and_read_exactly():
    audit = audited()
    for name, figure in (("salary", 0.1), ("bonus", 7), ("tax", Decimal("1.10")), ("tax", None)):
        text = written(figure)
        assert audit.read({("sum", name): [text]}) == {("sum", name): [figure]}
        assert text is None or isinstance(text, str)
    assert audit._answers({("sum", "tax"): [Decimal("1.5"), None], ("max", "bonus"): [3]}, "sum") == [Fraction(3, 2), 0]


@pytest.mark.parametrize(("high", "fine"), [(2**59, True), (2**59 + 1, False)])
def test_sums_of_whole_numbers_fit_64_bits(high, fine):
    card = Card("staff", (CARD["city"], column("bonus", Kind.INTEGER, high)))
    rows = pa.table({"city": ["Rome"] * 8, "bonus": np.full(8, 3)})
    if fine:
        assert ask(audited({"bonus": "sum"}, ("city",), card, rows), "SELECT SUM(bonus) AS b FROM staff") == [{"b": 24}]
        return
    with pytest.raises(Refused, match="too large to be exact"):
        audited({"bonus": "sum"}, ("city",), card, rows)
    assert audited({"bonus": "extremes"}, ("city",), card, rows), "extremes are not added"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("SELECT city, SUM(bonus) AS s FROM staff GROUP BY city", [("bonus", [26.0, 10.0])]),
        ("SELECT SUM(bonus) AS s FROM staff WHERE city = 'Rome'", [("bonus", [10.0])]),
        ("SELECT SUM(salary) AS s FROM staff", None),
        ("SELECT SUM(bonus) AS s, SUM(salary) AS t FROM staff", None),
        ("SELECT MAX(bonus) AS s FROM staff", None),
    ],
)
def test_joint_exposure_is_told_sums_of_whole_numbers_and_no_others(question, told):
    audit = audited({"salary": "sum", "bonus": "extremes" if "MAX" in question else "sum"})
    asked = audit.question(question)
    sums = audit.sums(asked, audit.decide(asked).told)
    assert (None if sums is None else [(one.measure, one.sums.tolist()) for one in sums]) == told
    for one in sums or ():
        totals = [one.amounts[one.group == place].sum() for place in range(len(one.sums))]
        assert totals == one.sums.tolist() and one.unit.to_pylist() == [1, 1, 2, 3, 4, 5, 6, 6]


def test_without_units_joint_exposure_is_told_nothing():
    audit = audited({"bonus": "sum"}, card=replace(CARD, unit=None, rows_per_unit=None))
    asked = audit.question("SELECT SUM(bonus) AS s FROM staff")
    assert audit.sums(asked, audit.decide(asked).told) is None
