"""What every attack on a release keeps to. A new one is added to the catalogue and gets all of these tests."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released
from tests.contract.test_maskers import MASKERS
from tests.publish.mask.people import people as masked_people
from tests.publish.test_publish_every import CARD, METHODS, people

import discreet as dc
from discreet.noise.entropy import SYSTEM
from discreet.verbs.attack.attack import attack, every_attack
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.matching import find_candidates

NUMBERS = ["age", "income", "height"]
RECIPES = {
    "rank-swap intersection": ("rank-swap", {"columns": NUMBERS, "p": 1.0, "law": "window"}),
    "microaggregation intersection": ("microaggregate", {"columns": NUMBERS, "blocks": [[n] for n in NUMBERS], "k": 3}),
    "linkage by the likeliest noise": ("noise", {"columns": NUMBERS, "noise_variance": dict.fromkeys(NUMBERS, 0.01)}),
}
"""What must be said of a copy for an attack on one method to take it for that method's."""
SLOW = {"learned linkage", "singling out by several columns"}
"""They take longest, and are left out where many releases are attacked."""
EVERY = pytest.mark.parametrize("one", every_attack(), ids=lambda one: one.name)
NAMES = {one.name for one in every_attack()}


ROWS = 80


@cache
def table():
    return released.known(released.people(ROWS).fetch(), town=dc.Role.SENSITIVE)


@cache
def copied(one, kind):
    """What the attack finds in a copy, or in people who are not the ones attacked; or why it does not apply."""
    rows = {"copy": table(), "strangers": released.people(ROWS, seed=99), "nobody": released.people(1)}[kind].fetch()
    method, said = RECIPES.get(one.name, ("by hand", {}))
    release, links = released.release(rows.slice(kind == "nobody"), method, **said)
    return one.applies(release) or one.run(release, table(), links)


def test_no_two_attacks_share_a_name():
    assert len(NAMES) == len(every_attack())


@EVERY
def test_a_copy_gives_nearly_everybody_away(one):
    found = copied(one, "copy")
    if isinstance(found, str) or one.name == "similarity":  # towns are alike or not, and never almost
        return
    assert found.outcome is Outcome.BROKE
    assert (found.figure - found.baseline) / (1 - found.baseline) > 0.9
    assert found.victims


@EVERY
def test_strangers_give_nobody_away(one):
    found = copied(one, "strangers")
    if not isinstance(found, str) and found.outcome is not Outcome.FAILED:
        assert found.outcome is Outcome.NOTHING
        assert found.interval[0] <= found.baseline


@EVERY
def test_a_finding_says_who_knows_what_and_what_it_means(one):
    found = copied(one, "copy")
    if isinstance(found, str):
        assert found.endswith(".")
        return
    assert found.attack == one.name
    assert found.knows.startswith("The attacker")
    assert found.knows.endswith(".")
    assert found.meaning.endswith(".")
    assert found.interval[0] <= found.figure <= found.interval[1] or found.outcome is Outcome.FAILED
    assert "victims" not in found.to_dict()


@EVERY
def test_a_number_or_no_rows_are_no_reason_to_stumble(one):
    number = dc.Release(1.5, dc.Statement(unit="a row"), dc.Recipe("by hand"))
    assert one.applies(number)
    found = copied(one, "nobody")
    assert isinstance(found, str) or found.outcome is Outcome.FAILED


def judged(release, table, links=None, chosen=NAMES - SLOW):
    """Every attack was run or said why not, and some could run on the recipe alone."""
    report = attack(release, table, links, sorted(chosen))
    names = [one.attack for one in report.findings] + [name for name, _ in report.not_applicable]
    assert sorted(names) == sorted(chosen)
    assert all(one.meaning for one in report.findings)
    ran = [one for one in report.findings if one.outcome is not Outcome.FAILED]
    assert ran
    return {one.attack: one for one in ran}


@pytest.mark.parametrize("method", METHODS)
def test_every_generalised_release_can_be_attacked_by_its_recipe(method):
    """And the true row, which a column of numbers tells here, is never ruled out."""
    card = dc.Card("people", (*CARD.columns, dc.Column("number", dc.Kind.INTEGER)))
    table = dc.read(people(1, 60).append_column("number", pa.array(range(60))), card)
    release = dc.publish(table, METHODS[method], dc.KAnonymity(3))
    found = judged(release, table)
    assert 1 / 60 < found["matching by quasi-identifiers"].figure <= 1 / 3
    assert found["uniqueness"].outcome is Outcome.NOTHING
    if not release.recipe.parameters.get("dummies"):
        links = release.payload["number"].to_numpy()
        matched = find_candidates(release, table, links)
        assert (matched.weight_of_truth()[links] == 1).all()
        assert (matched.candidate_counts[links] >= 3).all()
        assert matched.success.mean() <= 1 / 3


@pytest.mark.parametrize("name", {masker.name: name for name, masker in reversed(MASKERS.items())}.values())
def test_every_masked_release_can_be_attacked_by_its_recipe(name):
    table = masked_people(60)
    release = dc.publish(table, MASKERS[name], seed=1)
    found = judged(release, table, chosen=NAMES if name == "noise" else NAMES - SLOW)
    assert {"distance linkage", "probabilistic linkage"} <= set(found)
    ways = {
        "noise": "linkage by the likeliest noise",
        "multiply": "linkage by the likeliest noise",
        "rank-swap": "rank-swap intersection",
        "microaggregate": "microaggregation intersection",
    }
    if name in ways:
        assert ways[name] in found


def test_private_rows_can_be_attacked_by_their_recipe():
    rng = np.random.default_rng(1)
    rows = pa.table({"age": rng.integers(20, 40, 3000), "city": rng.choice(["a", "b", "c", "d"], 3000)})
    ages = dc.hierarchy.Intervals(widths=(10,))
    columns = (
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI),
        dc.Column("city", dc.Kind.TEXT, dc.Role.QUASI, hierarchy=CARD["city"].hierarchy),
    )
    table = dc.read(rows, dc.Card("people", columns))
    method = dc.SafePub("1", "1e-3", {"age": 1, "city": 1}, hierarchies={"age": ages})
    recipe = dc.Recipe(method.name, method.parameters, method.steps(table.card))
    release = dc.Release(method.run(table, SYSTEM), method.promise(table.card), recipe)
    found = judged(release, table)["matching by quasi-identifiers"]
    assert 0 < release.payload.num_rows < 3000
    assert found.figure <= 1 / method.k
    assert found.details["columns"] == ["age", "city"]
