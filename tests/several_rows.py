"""Small random tables with several rows a person, and what is true of them, in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pyarrow as pa

import discreet as dc
from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind

CARD = Card(
    "visits",
    (
        Column("who", Kind.TEXT, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 7), hierarchy=Intervals(widths=(2, 4))),
        Column("ward", Kind.TEXT, Role.QUASI, categories=("a", "b")),
        Column("ill", Kind.TEXT, Role.SENSITIVE),
    ),
    unit="who",
    rows_per_unit=4,
)


def rows_of(seed: int, people: int | None = None) -> list[dict]:
    """Rows of some people, one to four each; some values are missing, and rows may repeat."""
    rng = random.Random(seed)  # noqa: S311
    count = people or rng.randint(2, 14)
    ages, wards, ills = (
        rng.randint(1, 8),
        rng.choice([("a",), ("a", "b"), ("a", "b", None)]),
        "xyzw"[: rng.randint(2, 4)],
    )
    return [
        {"who": f"p{who}", "age": rng.randrange(ages), "ward": rng.choice(wards), "ill": rng.choice([*ills, None])}
        for who in range(count)
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4]))
    ]


def table_of(rows: list[dict], **engine) -> dc.Table:
    names = [column.name for column in CARD.columns]
    return dc.read(pa.table({n: pa.array([r[n] for r in rows], _TYPES[n]) for n in names}), CARD, **engine)


_TYPES = {"who": pa.string(), "age": pa.int64(), "ward": pa.string(), "ill": pa.string()}


def by_person(rows: list[dict], quasi=("age", "ward"), who: str = "who") -> dict[str, Counter]:
    """The multiset of tuples that each person has."""
    found: dict = {}
    for row in rows:
        found.setdefault(row[who], Counter())[tuple(row[name] for name in quasi)] += 1
    return found


def fewest(sets: dict[str, Counter]) -> dict[str, int | None]:
    """By trying everything that can be known of anybody: the smallest number of people who match."""
    found: dict[str, int | None] = {}
    for many in (1, 2):
        known = {tuple(sorted(part, key=str)) for own in sets.values() for part in combinations(own.elements(), many)}
        counts = [sum(Counter(part) <= other for other in sets.values()) for part in known]
        found[str(many)] = min(counts, default=None)
    found["all"] = min((sum(other == own for other in sets.values()) for own in sets.values()), default=None)
    return found


def classes(rows: list[dict], quasi=("age", "ward"), who: str = "who") -> list[list[str]]:
    """People who have the same rows, each as often."""
    found: dict = {}
    for person, own in by_person(rows, quasi, who).items():
        found.setdefault(frozenset(own.items()), []).append(person)
    return list(found.values())


def diversity(members: list[str], rows: list[dict], who: str = "who") -> int:
    """The largest l for which the l - 1 most frequent values are those of fewer people than there are."""
    values = {person: {row["ill"] for row in rows if row[who] == person} for person in members}
    counts = sorted(Counter(value for own in values.values() for value in own).values(), reverse=True)
    return 1 + sum(sum(counts[: many + 1]) < len(members) for many in range(len(counts)))


def hitting_set(members: list[str], rows: list[dict], who: str = "who") -> int:
    """How few values there are of which everybody has one."""
    values = [{row["ill"] for row in rows if row[who] == person} for person in members]
    every = sorted({value for own in values for value in own}, key=str)
    for many in range(1, len(every) + 1):
        if any(all(own & set(some) for own in values) for some in combinations(every, many)):
            return many
    raise AssertionError
