"""Uniques that are matched, the warning that synthetic does not mean safe, and attacks on synthetic rows."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from bench.uniques import histogram
from tests.attack import released

import discreet as dc
from discreet.core.loss import Pure
from discreet.verbs.attack.attack import attack, every_attack
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.sample_uniques import MatchedUniques

LINKING = ("linkage", "intersection", "interval disclosure")


def made(rows, method="synthesize", **said):
    return dc.Release(rows, dc.Statement(unit="a row"), dc.Recipe(method, said))


def known(**columns):
    return released.known(pa.table(columns))


def test_only_who_is_alone_counts_and_is_looked_for_value_by_value():
    table = known(a=["x", "x", "y", "z"], b=[1, 1, 2, 3])
    found = MatchedUniques().run(made(pa.table({"a": ["y", "z", "z"], "b": [2, 2, 9]})), table)
    assert (found.details["unique"], found.details["matched"], found.figure) == (2, 1, 0.5)
    assert found.victims == (2,)
    assert found.details["unique released rows that match a unique person"] == pytest.approx(1 / 3)


def test_guessing_is_exactly_what_rows_drawn_column_by_column_match():
    table = known(a=["x", "y"], b=["u", "v"])
    release = made(pa.table({"a": ["x", "x", "y"], "b": ["u", "v", "v"]}))
    found = MatchedUniques().run(release, table)
    chance = {"x": 2 / 3, "y": 1 / 3}, {"u": 1 / 3, "v": 2 / 3}
    expected = 0.0
    for person in (("x", "u"), ("y", "v")):
        for drawn in product(product("xy", "uv"), repeat=3):
            if person in drawn:
                expected += np.prod([chance[0][a] * chance[1][b] for a, b in drawn]) / 2
    assert found.baseline == pytest.approx(expected)


def test_missing_values_are_values_and_columns_can_be_chosen():
    table = known(a=pa.array(["x", None, "x"]), b=pa.array([1, 2, 2]))
    release = made(pa.table({"a": pa.array([None, "q"], pa.string()), "b": [2, 1]}))
    assert MatchedUniques().run(release, table).victims == (1,)
    assert MatchedUniques(("b",)).run(release, table).victims == (0,)
    nobody = known(a=["x", "x"], b=[1, 1])
    assert "No one is unique" in MatchedUniques().run(release, nobody).meaning


def test_a_control_says_how_many_are_matched_although_nobody_is_in_it():
    """The release has every value there is: it matches members and others alike."""
    everything = pa.table({"a": np.repeat(np.arange(60), 60), "b": np.tile(np.arange(60), 60)})
    rng = np.random.default_rng(1)
    some = [everything.take(rng.permutation(3600)[:200]) for _ in range(2)]
    table, control = (released.known(rows) for rows in some)
    general = MatchedUniques(control=control).run(made(everything), table)
    assert general.figure == 1
    assert general.outcome is Outcome.NOTHING
    copied = MatchedUniques(control=control).run(made(table.fetch()), table)
    assert copied.outcome is Outcome.BROKE


@pytest.fixture(scope="module")
def crowd():
    """Two thousand people in forty thousand combinations of declared values."""
    rng = np.random.default_rng(3)
    sizes = {"age": 50, "town": 20, "job": 20, "sex": 2}
    columns = {name: rng.choice(size, 2000, p=rng.dirichlet(np.ones(size))) for name, size in sizes.items()}
    declared = tuple(
        dc.Column(name, dc.Kind.INTEGER, dc.Role.QUASI, categories=tuple(range(size))) for name, size in sizes.items()
    )
    return dc.read(pa.table(columns), dc.Card("crowd", declared))


def test_a_private_histogram_at_a_large_epsilon_gives_everybody_away(crowd):
    """It promises what it says, and it is not enough: synthetic does not mean safe, nor does a large epsilon."""
    found = {}
    for epsilon in (1, 10):
        release = histogram(crowd, str(epsilon))
        assert release.statement.loss == Pure(epsilon)
        found[epsilon] = MatchedUniques().run(release, crowd)
    alone = "unique released rows that match a unique person"
    assert found[10].details["unique"] > 300
    assert found[10].figure > 0.99
    assert found[10].outcome is Outcome.BROKE
    assert found[10].details[alone] > 0.95
    assert found[1].details[alone] < 0.2


def test_every_attack_runs_on_synthetic_rows_or_says_why_not():
    """Of another number of rows, and without links."""
    table, others = released.people(120), released.people(120, seed=8)
    release = made(released.people(150, seed=99).fetch())
    report = attack(release, table, control=others)
    assert {one.attack for one in report.findings} == {
        "uniques matched exactly",
        "singling out by one column",
        "singling out by several columns",
        "linkability",
        "inference",
        "membership by the closest record",
    }
    assert {one.outcome for one in report.findings} <= {Outcome.NOTHING, Outcome.UNSURE}
    why = dict(report.not_applicable)
    assert all("synthetic" in why[one.name] for one in every_attack() if one.name in ("uniqueness", "homogeneity"))
    assert all("." in why[name] for name in why if any(word in name for word in LINKING))
    copied = attack(made(table.fetch()), table, control=others)
    assert all(one.outcome is Outcome.BROKE for one in copied.findings)


def test_what_is_kept_of_partially_synthetic_rows_is_matched():
    table = released.people(60)
    release = made(table.fetch(), "synthesize cart", columns=["income"], kept=["age", "height", "born", "town"])
    (found,) = attack(release, table, attacks=["uniqueness"]).findings
    assert found.outcome is Outcome.BROKE
    assert "age" in found.details["columns"]
    (why,) = attack(release, table, attacks=["distance linkage"]).not_applicable
    assert "synthetic" in why[1]
    assert not attack(release, table, attacks=["composition"], others=[release]).not_applicable
