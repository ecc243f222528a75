"""Dummy rows: classes are filled up, people all stay, and what dummies hold is drawn from the table."""

from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.publish.labelled import seeded, text

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.models.closeness import TCloseness
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.noise.entropy import Entropy
from discreet.verbs.publish.dummies import AddDummies
from discreet.verbs.publish.publish import publish

CARD = Card(
    "people",
    (
        Column("name", Kind.TEXT, Role.IDENTIFIER),
        Column("illness", Kind.TEXT, Role.SENSITIVE),
        Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Coding(bottom=18, top=65)),
        Column("city", Kind.TEXT, Role.QUASI, hierarchy=Taxonomy.from_tree({"north": ["a", "b"], "south": ["c"]})),
        Column("visits", Kind.INTEGER),
    ),
)


def people(seed, rows):
    rng = seeded(seed)
    return pa.table(
        {
            "name": text([f"person {place}" for place in range(rows)]),
            "illness": text([rng.choice(["flu", "cold", None]) for _ in range(rows)]),
            "age": pa.array([rng.choice([None, *range(90)]) for _ in range(rows)], pa.int64()),
            "city": text(rng.choices("abc", k=rows)),
            "visits": pa.array([rng.randint(0, 3) for _ in range(rows)], pa.int64()),
        }
    )


def label(row, levels):
    """The class of a row, worked out by hand."""
    age, city = row["age"], row["city"]
    if levels["age"] == 2:
        age = "*"
    elif levels["age"] == 1 and age is not None:
        age = "<18" if age < 18 else ">=65" if age >= 65 else str(age)
    if levels["city"]:
        city = {"a": "north", "b": "north", "c": "south"}[city] if levels["city"] == 1 else "*"
    return age, city


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("levels", [{"age": 1, "city": 1}, {"age": 2, "city": 0}, {"age": 0, "city": 2}])
def test_what_is_released(seed, levels):
    given = people(seed, 60)
    table = read(given, CARD)
    release = publish(table, AddDummies(levels, most=9), [KAnonymity(4), LDiversity(2, "illness")])
    before = Counter(label(row, levels) for row in given.to_pylist())
    rows = release.payload.to_pylist()
    after, illnesses = Counter(), defaultdict(set)
    for row in rows:
        after[row["age"], row["city"]] += 1
        illnesses[row["age"], row["city"]].add(row["illness"])
    assert set(after) == set(before), "no class that was not there"
    assert min(after.values()) >= 4
    assert min(map(len, illnesses.values())) >= 2
    full = Counter((*label(row, levels), row["illness"], row["visits"]) for row in given.to_pylist())
    out = Counter((row["age"], row["city"], row["illness"], row["visits"]) for row in rows)
    assert not full - out, "everybody is in it"
    assert release.recipe.parameters["dummies"] == len(rows) - 60
    assert all(f"{len(rows) - 60:,} of {len(rows):,} rows are dummies" in step for step in release.recipe.steps[:1])
    pairs = {(row["illness"], row["visits"]) for row in given.to_pylist()}
    assert {(row["illness"], row["visits"]) for row in rows} <= pairs, "what goes together is drawn together"


def test_no_more_than_it_takes():
    table = read(people(3, 50), CARD)
    levels = {"age": 1, "city": 1}
    found = AddDummies(levels, most=9).recode(table, [KAnonymity(5)])
    sizes = Counter(label(row, levels) for row in table.fetch().to_pylist())
    assert found.added.num_rows == sum(max(5 - size, 0) for size in sizes.values())
    assert found.levels == levels


def test_large_enough_already():
    found = AddDummies({"age": 2, "city": 2}).recode(read(people(1, 30), CARD), [KAnonymity(5)])
    assert found.added.num_rows == 0
    assert found.loss == 0


class Chosen(Entropy):
    """Bits that were chosen beforehand."""

    __slots__ = ("_bytes",)

    def __init__(self, chosen):
        self._bytes = iter(chosen)

    def bytes(self, count):
        return bytes(next(self._bytes) for _ in range(count))


def test_a_dummy_is_a_row_drawn_at_random():
    """Of 16 rows, the highest four of 64 bits say which one is drawn."""
    card = Card("two", (Column("q", Kind.TEXT, Role.QUASI), Column("s", Kind.INTEGER, Role.SENSITIVE)))
    table = read(pa.table({"q": text(["a"] * 15 + ["b"]), "s": pa.array([1] * 4 + [2] * 9 + [3] * 3)}), card)
    counted = Counter()
    for high in range(16):
        found = AddDummies(entropy=Chosen([0] * 7 + [high << 4])).recode(table, [KAnonymity(2)])
        assert found.added.column("q").to_pylist() == ["b"]
        counted.update(found.added.column("s").to_pylist())
    assert counted == {1: 4, 2: 9, 3: 3}, "every value as often as in the table"


def test_draws_are_fair():
    """With the system's own bits: a share of 1/4 among 4,000 dummies, at a false alarm of one in a billion."""
    card = Card("two", (Column("q", Kind.INTEGER, Role.QUASI), Column("s", Kind.INTEGER, Role.SENSITIVE)))
    table = read(pa.table({"q": pa.array(range(1000)), "s": pa.array([1, 2, 2, 2] * 250)}), card)
    dummies = AddDummies(most=4).recode(table, [KAnonymity(5)]).added
    ones = dummies.column("s").to_pylist().count(1)
    assert dummies.num_rows == 4000
    low, high = binom.ppf([5e-10, 1 - 5e-10], 4000, 0.25)
    assert low <= ones <= high
    assert not low <= 4000 * 0.25 * 1.3 <= high, "a share that is a third too large would be noticed"


def test_closeness_takes_as_many_as_it_takes():
    rows = pa.table({"q": text(["a"] * 30 + ["b"] * 3), "s": text(["x", "y"] * 15 + ["x"] * 3)})
    card = Card("two", (Column("q", Kind.TEXT, Role.QUASI), Column("s", Kind.TEXT, Role.SENSITIVE)))
    release = publish(read(rows, card), AddDummies(most=50), [TCloseness("1/5", "s")])
    out = release.payload.to_pylist()
    whole = Counter(row["s"] for row in out)
    for label_ in "ab":
        here = Counter(row["s"] for row in out if row["q"] == label_)
        assert abs(here["x"] / here.total() - whole["x"] / whole.total()) <= 0.2 + 1e-12


def test_too_many():
    with pytest.raises(NoPromise, match="More than 1 dummy for each row"):
        AddDummies().recode(read(people(0, 40), CARD), [KAnonymity(9)])


def test_nothing_but_quasi_identifiers():
    card = Card("one", (Column("q", Kind.TEXT, Role.QUASI),))
    release = publish(read(pa.table({"q": text(["a", "a", None])}), card), AddDummies(), [KAnonymity(2)])
    assert release.payload.column("q").to_pylist() == ["a", "a", None, None]


def test_an_empty_table():
    assert AddDummies().recode(read(people(0, 0), CARD), [KAnonymity(2)]).added.num_rows == 0


def test_what_cannot_be_asked():
    table = read(people(0, 9), CARD)
    with pytest.raises(NotFound, match="not a quasi-identifier"):
        AddDummies({"illness": 1}).recode(table, [KAnonymity(2)])
    with pytest.raises(BadInput, match="from 0 to 2"):
        AddDummies({"age": 3}).recode(table, [KAnonymity(2)])
    with pytest.raises(BadInput, match="population"):
        AddDummies().recode(table, [KMap(2, table)])
    with pytest.raises(BadInput, match="must not be negative"):
        AddDummies(most=-1)
