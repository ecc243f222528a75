"""Suppressing single cells: classes of what is released are large enough with * as a value of its own."""

from fractions import Fraction

import pyarrow as pa
import pytest
from tests.publish import exhaustive as slow
from tests.publish.labelled import released, seeded, text, values_of

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.verbs.publish.local import SuppressCells
from discreet.verbs.publish.publish import publish


@pytest.mark.parametrize("seed", range(25))
def test_what_is_released(seed):
    rng = seeded(seed)
    case, k, share = slow.random_case(rng), rng.randint(1, 5), rng.choice([0, 0, "1/10"])
    diverse = rng.random() < 0.4
    models = [KAnonymity(k), *([LDiversity(2, "s")] if diverse else [])]
    table = read(case.data(), case.card())
    everybody = [value for _, value in case.rows]
    try:
        found = SuppressCells(suppress=share, effort=2).recode(table, models)
    except NoPromise:
        assert len(case.rows) < k or (diverse and len(set(everybody)) < 2)
        return
    rows = [dict(zip(case.names, quasi, strict=True)) for quasi, _ in case.rows]
    classes = released(rows, case.names, found.mapping)
    inside, _ = values_of(case, classes)
    assert min(map(len, inside)) >= k
    assert not diverse or min(len(set(values)) for values in inside) >= 2
    assert found.suppressed == len(rows) - sum(map(len, inside)) <= Fraction(share) * len(rows)
    cells = dict.fromkeys(case.names, 0)
    for labels, places in classes.items():
        for name, label in zip(case.names, labels, strict=True):
            own = {rows[place][name] for place in places}
            assert own == {label} or (label == "*" and len(own) > 1), "only cells that differ are suppressed"
            cells[name] += (label == "*") * len(places)
    assert found.parameters["suppressed_cells"] == cells
    assert found.quality["suppressed cells"] == sum(cells.values())
    lost = sum(cells.values()) + found.suppressed * len(cells)
    assert found.loss == pytest.approx(lost / len(rows) / len(cells))


def people(**columns):
    card = Card("people", tuple(Column(name, Kind.TEXT, Role.QUASI) for name in columns))
    return read(pa.table({name: text(values) for name, values in columns.items()}), card)


def shown(table, found):
    classes = released(table.fetch().to_pylist(), table.quasi(), found.mapping)
    return {labels: len(places) for labels, places in classes.items()}


def test_weights_say_what_is_kept():
    table = people(sex=list("ffmm"), city=list("abab"))
    kept_sex = SuppressCells({"sex": 3}).recode(table, [KAnonymity(2)])
    kept_city = SuppressCells({"city": "1.5"}).recode(table, [KAnonymity(2)])
    assert shown(table, kept_sex) == {("f", "*"): 2, ("m", "*"): 2}
    assert shown(table, kept_city) == {("*", "a"): 2, ("*", "b"): 2}
    assert kept_sex.loss == pytest.approx(1 / 4)
    assert kept_city.loss == pytest.approx(1 / 2.5)


def test_hierarchies_are_not_used():
    card = Card(
        "people",
        (
            Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Coding(top=90)),
            Column("city", Kind.TEXT, Role.QUASI, hierarchy=Taxonomy.from_tree({"north": ["a", "b"]})),
        ),
    )
    table = read(pa.table({"age": [91, 92, 5, 5], "city": ["a", "a", "z", "z"]}), card)
    assert shown(table, SuppressCells().recode(table, [KAnonymity(2)])) == {("*", "a"): 2, ("5", "z"): 2}


def test_a_suppressed_cell_matches_nothing_else():
    """Where a missing value may match anything, one suppressed cell would do here; it would leave a class of one."""
    table = people(sex=list("ffm"), city=list("aaa"))
    found = SuppressCells().recode(table, [KAnonymity(2)])
    assert shown(table, found) == {("*", "a"): 3}


def test_missing_values_are_like_each_other_only():
    table = people(sex=[None, None, "f", "f"])
    assert shown(table, SuppressCells().recode(table, [KAnonymity(2)])) == {(None,): 2, ("f",): 2}


def test_a_value_that_looks_suppressed():
    table = people(sex=["*", "f", "m"])
    found = publish(table, SuppressCells(), [KAnonymity(3)])
    assert found.payload.column("sex").to_pylist() == ["*"] * 3


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_with_next_to_nothing(rows):
    table = people(sex=["f"] * rows)
    assert shown(table, SuppressCells().recode(table, [KAnonymity(1)])) == ({("f",): 1} if rows else {})


def test_fewer_rows_than_a_class_must_have():
    with pytest.raises(NoPromise, match="3-anonymous"):
        SuppressCells().recode(people(sex=["f", "f"]), [KAnonymity(3)])


def test_what_cannot_be_asked():
    with pytest.raises(BadInput, match="weights of sex"):
        SuppressCells({"sex": 0})
    with pytest.raises(NotFound, match="not a quasi-identifier"):
        SuppressCells({"shoe": 2}).recode(people(sex=["f"]), [KAnonymity(1)])
    with pytest.raises(BadInput, match="effort"):
        SuppressCells(effort=-1)


def test_the_recipe_says_how_many():
    found = SuppressCells().recode(people(sex=list("ffmm"), city=list("abab")), [KAnonymity(2)])
    assert found.steps[0].startswith("4 of 8 cells became *")
    assert any("counts as a separate value" in step for step in found.steps)
