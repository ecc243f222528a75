"""Publishing people with several rows: one row each, all rows unlinked or linked, and two linked tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from tests import several_rows as plain

import discreet as dc
from discreet.core.card import Card, Column, Role
from discreet.core.holder_copy import read_holder_copy
from discreet.core.kind import Kind
from discreet.core.release import Release
from discreet.errors import BadInput, DataError, NoPromise, NotDeclared
from discreet.noise.entropy import Entropy
from discreet.verbs.publish import people as module
from discreet.verbs.publish.people import Linked, Unlinked
from discreet.verbs.publish.people_rows import draw_rows, numbered_rows

SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 300))]
HALF = dc.Generalize(suppress="0.5")


def _published(rows, people, **more):
    return dc.publish(plain.table_of(rows), HALF, ["k=2", "l=2 on ill"], people=people, **more)


def _original(release, rows):
    """The original rows behind the released ones."""
    return [rows[number] for number in release.links.tolist()]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("people", ["unlinked", "linked"])
def test_what_is_released_keeps_its_statement_and_the_attack_agrees(seed, people):
    rows = plain.rows_of(seed)
    table = plain.table_of(rows)
    try:
        release = _published(rows, people)
    except NoPromise:
        return
    known, shown = _original(release, rows), release.payload.to_pylist()
    assert "who" not in release.payload.column_names
    whose = [{**label, "who": row["who"]} for label, row in zip(shown, known, strict=True)]
    assert [one["ill"] for one in shown] == [one["ill"] for one in known]
    sets = plain.by_person(whose)
    for members in plain.classes(whose):
        assert len(members) >= 2
        assert plain.diversity(members, whose) >= 2
    for person, own in sets.items():  # whole people leave, or none of their rows
        assert own.total() == sum(row["who"] == person for row in rows)
    fewest = plain.fewest(sets)
    assert release.recipe.parameters["known_rows"] == fewest
    assert f"all of a person's rows, at least {fewest['all']}" in release.promise
    (finding,) = dc.attack(release, table).findings
    assert finding.attack == "known rows"
    assert finding.details["fewest people by known rows"] == fewest
    alike = Counter(row for own in sets.values() for row in own.elements())
    best = {person: max(count / alike[row] for row, count in own.items()) for person, own in sets.items()}
    if people == "linked":
        best = {person: 1 / sum(own == other for other in sets.values()) for person, own in sets.items()}
        assert plain.by_person(shown, who="person").keys() == {one["person"] for one in shown}
        assert Counter(map(str, plain.by_person(shown, who="person").values())) == Counter(map(str, sets.values()))
        assert dc.check(dc.read(release.payload, _linked_card(release))).known in (fewest, {})
    assert finding.figure == pytest.approx(sum(best.values()) / len(best))
    assert finding.details["highest chance"] == pytest.approx(max(best.values()))
    assert max(best.values()) <= 1 / 2


def _linked_card(release):
    columns = tuple(
        Column(c.name, Kind.TEXT if pa.types.is_string(release.payload[c.name].type) else c.kind, c.role)
        for c in plain.CARD.columns[1:]
    )
    return Card("visits", (Column("person", Kind.INTEGER, Role.IDENTIFIER), *columns), unit="person")


def test_one_row_of_each_person_is_drawn_and_everything_works_as_with_one_row():
    rows = plain.rows_of(5, people=12)
    table = plain.table_of(rows)
    for method in (HALF, dc.LocalRecode(), dc.Mondrian()):
        release = dc.publish(table, method, "k=2", people="one-row")
        known = _original(release, rows)
        assert len({row["who"] for row in known}) == len(known) == release.payload.num_rows
        assert [one["ill"] for one in release.payload.to_pylist()] == [row["ill"] for row in known]
        assert release.recipe.parameters["people"] == "one-row"
        assert "One row of each who was drawn at random: 12 of" in release.promise
        found = {one.attack: one for one in dc.attack(release, table).findings}
        assert found["matching by quasi-identifiers"].figure <= 1 / 2
        assert "known rows" not in found
    masked = dc.publish(table, "noise alpha=0.1 on age", people="one-row")
    known = _original(masked, rows)
    assert len({row["who"] for row in known}) == 12
    assert [one["ill"] for one in masked.payload.to_pylist()] == [row["ill"] for row in known]
    assert dc.attack(masked, table, attacks=["matching by quasi-identifiers"]).findings[0].details["people"] == 12
    dc.publish(table, "microaggregate k=3 on age", "k=1", people="one-row")


def test_an_attack_on_drawn_rows_needs_the_holders_copy(tmp_path):
    table = plain.table_of(plain.rows_of(5, people=12))
    dc.publish(table, HALF, "k=2", people="one-row", to=tmp_path / "out")
    with pytest.raises(DataError, match="it is unknown which"):
        dc.attack(Release.load(tmp_path / "out"), table)


class _Chosen(Entropy):
    """Words that a test chose."""

    def __init__(self, words):
        self.chosen = words

    def bytes(self, count):
        return b"".join(word.to_bytes(8, "little") for word in self.chosen)


def test_rows_are_drawn_by_the_systems_randomness_and_by_nothing_else():
    rows = [{"who": who, "age": age, "ward": "a", "ill": "x"} for who, age in zip("ababa", range(5), strict=True)]
    table, number = numbered_rows(plain.table_of(rows))
    kept = draw_rows(table, number, 1, _Chosen([9, 1, 3, 2, 5])).fetch().to_pylist()
    assert [(row["who"], row["age"]) for row in kept] == [("b", 1), ("a", 2)]
    kept = draw_rows(table, number, 2, _Chosen([9, 1, 3, 2, 5])).fetch().to_pylist()
    assert [(row["who"], row["age"]) for row in kept] == [("b", 1), ("a", 2), ("b", 3), ("a", 4)]


def test_each_row_of_a_person_is_drawn_as_often():
    rows = [{"who": f"p{n}", "age": age, "ward": "a", "ill": "x"} for age in range(3) for n in range(30)]
    table, number = numbered_rows(plain.table_of(rows))
    seen = Counter(age for _ in range(10) for age in draw_rows(table, number, 1, Entropy()).fetch()["age"].to_pylist())
    assert seen.total() == 300
    assert all(30 < seen[age] < 180 for age in range(3))  # a fair draw is outside of this less than once in 10^12


def test_pseudonyms_are_fresh_and_say_nothing_of_who_it_is():
    rows = [{"who": f"p{n:02}", "age": 1, "ward": "a", "ill": ill} for n in range(40) for ill in (f"{n}", "y")]
    orders = []
    for _ in range(2):
        release = dc.publish(plain.table_of(rows), HALF, "k=2", people="linked as pseudonym")
        names = release.payload["pseudonym"].to_pylist()
        assert sorted(set(names)) == list(range(1, 41))
        orders.append([row["who"] for row in _original(release, rows)])
    assert orders[0] != orders[1]


def test_a_table_with_several_rows_is_refused_unless_it_is_said_what_leaves():
    table = plain.table_of(plain.rows_of(5, people=12))
    with pytest.raises(BadInput, match=r"one person several times.*one-row.*unlinked.*linked"):
        dc.publish(table, HALF, "k=2")
    with pytest.raises(BadInput, match="names no unit"):
        alone = replace(plain.CARD, unit=None, rows_per_unit=None, rows_are_people=True)
        dc.publish(dc.read(table.fetch(), alone), HALF, "k=2", people="linked")
    with pytest.raises(BadInput, match="but a person has several"):
        dc.publish(table, dc.LocalRecode(), "k=2", people="linked")
    with pytest.raises(BadInput, match="assumes one row per person"):
        dc.publish(table, HALF, "t=0.5 on ill", people="linked")
    with pytest.raises(BadInput, match="There is already a column 'ill'"):
        dc.publish(table, HALF, "k=2", people="linked as ill")
    with pytest.raises(BadInput, match="no seed repeats"):
        dc.publish(table, "noise alpha=0.1 on age", people="one-row", seed=1)
    with pytest.raises(BadInput, match="not a treatment of people"):
        dc.publish(table, HALF, "k=2", people=HALF)
    earlier = dc.publish(table, HALF, "k=2", people="linked")
    with pytest.raises(BadInput, match="together with earlier ones"):
        dc.publish(table, HALF, "k=2", people="linked", earlier=[earlier])


def test_without_the_unit_nobody_passes_for_several_people():
    rows = plain.rows_of(5, people=40)
    table = dc.read(plain.table_of(rows).fetch(), replace(plain.CARD, unit=None, rows_per_unit=None))
    for people in (None, "one-row", "linked"):
        with pytest.raises(NotDeclared, match="who repeats"):
            dc.publish(table, HALF, "k=2", people=people)
    with pytest.raises(NotDeclared, match="who repeats"):
        dc.check(table)


def test_what_was_not_written_as_it_was_meant_is_not_released(monkeypatch):
    rows = [{"who": f"p{n}", "age": n // 2 % 2, "ward": "a", "ill": ill} for n in range(8) for ill in "xy"]
    monkeypatch.setattr(module, "_same_rows", lambda *_: False)
    with pytest.raises(NoPromise, match="has other rows"):
        dc.publish(plain.table_of(rows), HALF, "k=2", people="unlinked")


def test_rows_are_found_to_be_the_same_however_they_are_written(tmp_path):
    rows = plain.rows_of(5, people=12)
    for to in (None, tmp_path / "out"):
        release = dc.publish(plain.table_of(rows), HALF, "k=2", people="unlinked", to=to)
        assert release.recipe.parameters["people"] == "unlinked"


def test_at_most_some_rows_of_each_are_drawn():
    rows = plain.rows_of(7, people=14)
    release = dc.publish(plain.table_of(rows), HALF, "k=2", people=Unlinked(most=2))
    many = Counter(row["who"] for row in _original(release, rows))
    assert set(many.values()) <= {1, 2}
    assert "At most 2 rows of each" in release.promise


# -- two linked tables

PATIENTS = Card(
    "patients",
    (
        Column("id", Kind.TEXT, Role.IDENTIFIER),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("f", "m")),
        Column("pay", Kind.TEXT, Role.SENSITIVE),
    ),
    unit="id",
    rows_per_unit=1,
)


def _patients(names):
    rows = [{"id": name, "sex": "fm"[n % 2], "pay": "pq"[n % 3 // 2]} for n, name in enumerate(sorted(names))]
    return dc.read(pa.Table.from_pylist(rows), PATIENTS)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(s, marks=pytest.mark.slow) for s in range(5, 100))])
@pytest.mark.parametrize("idle", [0, 3])
def test_two_tables_are_linked_and_the_joint_record_is_shared(seed, idle, tmp_path):
    rows = plain.rows_of(seed, people=12)
    names = {row["who"] for row in rows} | {f"idle{n}" for n in range(idle)}
    table, patients = plain.table_of(rows), _patients(names)
    try:
        release = dc.publish(
            table, HALF, ["k=2"], people=Linked(other=patients), to=tmp_path / "out", csv=True, holder=tmp_path / "h"
        )
    except NoPromise:
        return
    release = Release.load(tmp_path / "out")
    people, visits = release.also.to_pylist(), release.payload.to_pylist()
    assert list(people[0]) == ["person", "sex", "pay"]
    assert list(visits[0]) == ["person", "age", "ward", "ill"]
    by_person = {one["person"]: one for one in people}
    assert len(by_person) == len(people)
    assert {one["person"] for one in visits} <= by_person.keys()  # referential integrity
    joint = {name: Counter() for name in by_person}
    for one in visits:
        joint[one["person"]][one["age"], one["ward"]] += 1
    joint = {name: (by_person[name]["sex"], frozenset(own.items())) for name, own in joint.items()}
    assert min(Counter(joint.values()).values()) >= 2
    assert release.recipe.parameters["released_units"] == len(people)
    original = {row["id"]: row for row in patients.fetch().to_pylist()}
    links = read_holder_copy(tmp_path / "h").links
    for one, number in zip(visits, links.tolist(), strict=True):  # both rows are the same person's
        mine = original[rows[number]["who"]]
        assert (by_person[one["person"]]["sex"], by_person[one["person"]]["pay"]) in (
            (mine["sex"], mine["pay"]),
            ("*", mine["pay"]),
        )
    (finding,) = dc.attack(release, table, links).findings
    assert finding.details["fewest people by known rows"]["all"] == min(Counter(joint.values()).values())
    assert (tmp_path / "out" / "linked.csv").read_text().startswith('"person","sex","pay"\n')


def test_rows_of_somebody_who_is_not_in_the_other_table_are_an_error():
    rows = plain.rows_of(5, people=12)
    with pytest.raises(DataError, match="belong to a who who is not in patients"):
        dc.publish(plain.table_of(rows), HALF, "k=2", people=Linked(other=_patients(["p1", "p2"])))
    with pytest.raises(BadInput, match="both have a column 'ill'"):
        twice = dc.read(
            pa.table({"id": ["p1"], "ill": ["x"]}),
            Card("p", (Column("id", Kind.TEXT), Column("ill", Kind.TEXT)), unit="id"),
        )
        dc.publish(plain.table_of(rows), HALF, "k=2", people=Linked(other=twice))


def test_models_may_name_columns_of_the_other_table_and_its_long_texts_stay_behind():
    rows = plain.rows_of(5, people=30)
    names = sorted({row["who"] for row in rows})
    note = Column("note", Kind.TEXT)
    card = replace(PATIENTS, columns=(*PATIENTS.columns, note))
    people = [
        {"id": name, "sex": "fm"[at % 2], "pay": "pq"[at % 2], "note": f"a long letter about {name}"}
        for at, name in enumerate(names)
    ]
    patients = dc.read(pa.Table.from_pylist(people), card)
    release = dc.publish(plain.table_of(rows), HALF, ["k=2", "l=2 on pay"], people=Linked(other=patients))
    assert release.also.column_names == ["person", "sex", "pay"]
    assert release.recipe.parameters["levels"]["sex"] == 1  # or sex would tell pay
    assert "Withheld, since long text with many values may name people: note" in release.promise


def test_nothing_leaves_of_a_column_of_the_other_table_whose_role_is_undecided(tmp_path):
    rows = plain.rows_of(5, people=30)
    people = _patients({row["who"] for row in rows}).fetch().append_column("habit", pa.array(["x"] * 30))
    card = replace(PATIENTS, columns=(*PATIENTS.columns, Column("habit", Kind.TEXT, Role.UNDECIDED)))
    with pytest.raises(NotDeclared, match="columns of patients are undecided: habit"):
        dc.publish(plain.table_of(rows), HALF, "k=2", people=Linked(other=dc.read(people, card)), to=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_both_populations_know_of_the_release(tmp_path):
    from discreet.releases.register import Register

    rows = plain.rows_of(5, people=12)
    place = str(tmp_path / "register.db")
    table = replace(plain.table_of(rows), registers=(place,))
    patients = replace(_patients({row["who"] for row in rows}), registers=(place,))
    dc.publish(table, HALF, "k=2", people=Linked(other=patients))
    with Register(place) as register:
        lines = register.entries()
    assert {one.population for one in lines} == {"visits", "patients"}
    assert {one.facts for one in lines} == {"opaque"}


def test_an_undecided_column_of_the_other_table_keeps_both_back():
    rows = plain.rows_of(5, people=12)
    patients = _patients({row["who"] for row in rows})
    columns = tuple(replace(one, role=Role.UNDECIDED) if one.name == "pay" else one for one in PATIENTS.columns)
    patients = replace(patients, card=replace(PATIENTS, columns=columns))
    with pytest.raises(NotDeclared, match="patients are undecided: pay"):
        dc.publish(plain.table_of(rows), HALF, "k=2", people=Linked(other=patients))
