"""Statements: what is said, to whom, and what is left of it when releases come together."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.core.statement import Claim, Evidence, Secrecy, Statement, parallel, sequential, weakness
from discreet.errors import BadInput, NoPromise

BY_AGE = Claim("k-anonymity", "2-anonymous on age", {"k": 2, "columns": ["age"]})
BY_WEIGHT = Claim("k-anonymity", "2-anonymous on weight", {"k": 2, "columns": ["weight"]})
RING = Secrecy(("Ann", "Bea", "Cas"), (("Ann",), ("Bea",), ("Cas",)))
FULL = Statement(
    "patient",
    Approximate("0.5", "1e-6"),
    (BY_AGE,),
    RING,
    Evidence.CHECKED,
    ("Every patient has at most 3 rows.",),
    ("The year 2020 is left out.",),
)


AGE_WEIGHT = {
    "Alice": (30, 60, "no"), "Bob": (30, 90, "no"), "Carl": (40, 90, "no"),
    "Don": (40, 100, "yes"), "Ellie": (50, 60, "no"), "Frank": (50, 100, "yes"),
}  # fmt: skip


def spent(loss: Loss, evidence: Evidence = Evidence.PROVED) -> Statement:
    return Statement("person", loss, evidence=evidence)


@pytest.mark.parametrize("statement", [FULL, Statement("row"), spent(Renyi([(2, 1)]))])
def test_a_statement_comes_back_from_json_as_it_was(statement: Statement) -> None:
    assert Statement.from_dict(json.loads(json.dumps(statement.to_dict()))) == statement


@pytest.mark.parametrize(
    "change",
    [
        {"evidence": "sworn"},
        {"unit": 3},
        {"loss": {"kind": "none"}},
        {"models": [{"name": "k"}]},
        {"secrecy": {"parties": ["Ann", "Bea"], "withstands": ["Ann"]}},
        {"assumes": [1]},
        {"more": 1},
    ],
)
def test_other_json_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        Statement.from_dict(FULL.to_dict() | change)


def test_claims_with_the_same_parameters_are_equal_in_any_order() -> None:
    assert Claim("k-anonymity", "2-anonymous on age", {"columns": ("age",), "k": 2}) == BY_AGE
    assert BY_AGE.parameters == (("columns", ("age",)), ("k", 2))


@pytest.mark.parametrize("value", [float("nan"), object(), {"a": 1}])
def test_a_claim_holds_plain_data_only(value: object) -> None:
    with pytest.raises(BadInput, match="plain data"):
        Claim("t-closeness", "close", {"t": [value]})


def test_nothing_promised_is_said_plainly() -> None:
    statement = Statement("person")
    assert not statement.private
    assert str(statement) == "This release makes no privacy promise."


@pytest.mark.parametrize(
    "promise",
    [{"loss": Pure(1)}, {"models": (BY_AGE,)}, {"secrecy": RING}],
    ids=["loss", "models", "secrecy"],
)
def test_any_one_promise_is_a_promise(promise: dict[str, object]) -> None:
    statement = replace(Statement("person"), **promise)
    assert statement.private
    assert "no privacy promise" not in str(statement)


def test_a_statement_reads_as_a_paragraph() -> None:
    assert str(FULL) == (
        "For each patient: ε = 0.5, δ = 1e-6. With or without the data of any one patient, no outcome is "
        "more than 1.65 times as likely, plus a chance of 1e-6. "
        "For each patient, the release is 2-anonymous on age. This holds for this release alone: combined "
        "with another release about the same people, it may not hold. "
        "Of Ann, Bea and Cas, these learn no more than their own inputs and the result: Ann alone; Bea "
        "alone; Cas alone. This was checked on the released data. "
        "Assumed: Every patient has at most 3 rows. Note: The year 2020 is left out."
    )


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Pure(1), "2.72 times"),
        (Pure(1000), "too large to protect anyone"),
        (Concentrated(1), "zero-concentrated"),
        (Renyi([(2, 1)]), "Rényi divergence"),
    ],
)
def test_every_kind_of_loss_is_explained(loss: Loss, words: str) -> None:
    assert words in str(spent(loss))


def test_eight_prefix_queries_cost_eight_epsilon() -> None:
    assert sequential(*[spent(Pure("0.1"))] * 8) == spent(Pure("0.8"))


def test_three_marginals_cost_three_epsilon() -> None:
    assert sequential(*[spent(Pure("0.1"))] * 3) == spent(Pure("0.3"))


def test_disjoint_parts_cost_the_largest_and_the_disjointness_is_assumed() -> None:
    together = parallel(spent(Pure(1)), spent(Approximate("0.5", "1e-6")))
    assert together.loss == Approximate(1, "1e-6")
    assert together.assumes == ("Which one part a person is in depends on that person alone.",)


def test_two_2_anonymous_answers_single_out_don() -> None:
    sick = [(age, weight) for age, weight, disease in AGE_WEIGHT.values() if disease == "yes"]
    youngest, lightest = min(age for age, _ in sick), min(weight for _, weight in sick)
    by_age = {name for name, (age, *_) in AGE_WEIGHT.items() if age == youngest}
    by_weight = {name for name, (_, weight, _) in AGE_WEIGHT.items() if weight == lightest}
    assert (len(by_age), len(by_weight)) == (2, 2)
    assert by_age & by_weight == {"Don"}


def test_two_2_anonymous_answers_are_not_2_anonymous_together() -> None:
    together = sequential(Statement("person", models=(BY_AGE,)), Statement("person", models=(BY_WEIGHT,)))
    assert together.models == ()
    assert not together.private
    assert "“2-anonymous on age” is no longer promised" in str(together)
    assert "“2-anonymous on weight” is no longer promised" in str(together)


def test_a_model_outlives_parallel_parts_only_if_all_have_it() -> None:
    both = Statement("person", models=(BY_AGE, BY_WEIGHT))
    together = parallel(both, Statement("person", models=(BY_AGE,)))
    assert together.models == (BY_AGE,)
    assert [caveat for caveat in together.caveats if "weight" in caveat]


def test_one_statement_composes_to_itself() -> None:
    assert sequential(FULL) == parallel(FULL) == FULL


@pytest.mark.parametrize("compose", [sequential, parallel])
def test_one_part_without_a_bound_leaves_the_whole_without(compose: object) -> None:
    together = compose(spent(Pure(1)), Statement("person", models=(BY_AGE,)))
    assert together.loss is None
    assert not together.private
    assert "no bound on its loss" in str(together)


@pytest.mark.parametrize("compose", [sequential, parallel])
def test_different_units_do_not_compose(compose: object) -> None:
    with pytest.raises(NoPromise, match="person and household"):
        compose(spent(Pure(1)), replace(spent(Pure(1)), unit="household"))


@pytest.mark.parametrize("compose", [sequential, parallel])
def test_nothing_does_not_compose(compose: object) -> None:
    with pytest.raises(BadInput, match="no statement"):
        compose()


def test_the_weakest_evidence_counts() -> None:
    proved, calculated, checked, estimated, argued = (spent(Pure(1), evidence) for evidence in Evidence)
    assert sequential(proved, calculated).evidence is Evidence.CALCULATED
    assert sequential(calculated, checked).evidence is Evidence.CHECKED
    assert sequential(estimated, checked).evidence is Evidence.ESTIMATED
    assert parallel(argued, proved, checked, estimated).evidence is Evidence.ARGUED


@pytest.mark.parametrize("evidence", Evidence)
def test_every_kind_of_evidence_is_said_and_survives_being_written(evidence: Evidence) -> None:
    statement = spent(Pure(1), evidence)
    assert evidence.value in str(statement)
    assert Statement.from_dict(statement.to_dict()) == statement


def test_assumptions_and_caveats_are_kept_once() -> None:
    together = sequential(FULL, FULL)
    assert together.assumes == FULL.assumes
    assert together.caveats[0] == FULL.caveats[0]
    assert together.caveats.count(FULL.caveats[0]) == 1


def test_the_same_secrecy_is_kept_and_a_different_one_given_up() -> None:
    kept = Statement("person", secrecy=RING)
    assert sequential(kept, kept).secrecy == RING
    together = sequential(kept, Statement("person", secrecy=Secrecy(("Ann", "Bea"), (("Ann",),))))
    assert together.secrecy is None
    assert "none is promised" in str(together)


def test_a_group_of_k_pays_k_epsilon_and_keeps_no_model() -> None:
    group = Statement("person", Pure("0.5"), (BY_AGE,)).for_group(3)
    assert (group.unit, group.loss, group.models) == ("group of 3 × person", Pure("1.5"), ())
    assert "protects one unit at a time" in str(group)


def test_a_group_of_one_is_a_unit() -> None:
    assert FULL.for_group(1) == FULL


@pytest.mark.parametrize("statement", [FULL, Statement("person")])
def test_a_group_has_one_unit_or_more(statement: Statement) -> None:
    with pytest.raises(BadInput, match="one unit or more"):
        statement.for_group(0)


def test_groups_and_single_units_do_not_compose() -> None:
    one = spent(Pure(1))
    with pytest.raises(NoPromise):
        sequential(one, one.for_group(2))


@pytest.mark.parametrize(
    ("parties", "withstands"),
    [(("Ann",), ()), (("Ann", "Ann"), ()), (("Ann", "Bea"), ((),)), (("Ann", "Bea"), (("Ann", "Bea"),)),
     (("Ann", "Bea"), (("Zoe",),))],
)  # fmt: skip
def test_secrecy_is_between_known_parties(parties: tuple[str, ...], withstands: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(BadInput):
        Secrecy(parties, withstands)


def test_a_loss_of_answers_says_so_and_is_not_mixed_with_one_of_presence():
    local = Statement("respondent", Pure(1), replaces=True)
    assert "Whatever any one respondent answers, no outcome is more than 2.72 times as likely" in str(local)
    assert Statement.from_dict(local.to_dict()) == local
    assert "replaces" not in Statement("respondent", Pure(1)).to_dict()
    assert sequential(local, local).replaces
    with pytest.raises(NoPromise, match="do not compose"):
        sequential(local, Statement("respondent", Pure(1)))


@pytest.mark.parametrize(
    ("loss", "weak"),
    [
        (Pure(1), False),
        (Pure(1000), True),
        (Approximate(1, "1e-9"), False),
        (Approximate(1, "0.5"), True),
        (Concentrated(1), False),
        (Concentrated(50), True),
    ],
)
def test_a_loss_that_protects_next_to_nobody_is_called_so(loss, weak):
    assert ("almost nothing" in weakness(loss)) is weak


def test_a_statement_has_a_line_for_each_thing_to_know():
    statement = Statement("person", Pure(1), assumes=("A.", "B."), caveats=("C.",))
    assert statement.lines[1:] == ("Assumed: A.", "Assumed: B.", "Note: C.")
    assert " ".join(statement.lines) == str(statement)


def test_secrets_of_a_holder_protect_nobody() -> None:
    hidden = Statement("secret", models=(BY_AGE,), of_holder=True)
    assert hidden.promises
    assert not hidden.private
    assert "another release of the same data" in str(hidden)
    assert "people" not in str(hidden)
    assert Statement.from_dict(hidden.to_dict()) == hidden
    assert "of_holder" not in Statement("secret", models=(BY_AGE,)).to_dict()
    assert parallel(hidden, hidden).of_holder
    with pytest.raises(NoPromise, match="do not compose"):
        parallel(hidden, replace(hidden, of_holder=False))
