"""Random small histories of releases, against brute force over all databases that agree with what was released."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import parse_one
from tests.releases.exposure_reference import Row, Said, compatible, each_table, exposed, file_said, table_said

import discreet as dc
from discreet.core.cardfile import parse_cards
from discreet.errors import DiscreetError, Exposed
from discreet.noise.entropy import Entropy
from discreet.verbs.publish.local import LocalRecode

QUASI = ("town", "sex", "age")
ILL, SORT, OTHER = ("cold", "flu", "hiv"), ("x", "y"), ("p", "q")
FILTERS = (
    "age < 40",
    "age < 60",
    "age > 20",
    "town = 'A'",
    "sex = 'f'",
    "town <> 'B' OR age < 40",
)
SIDES = ("town × ill", "sex × ill", "age × ill", "town × sex × ill", "ill", "town × age × ill")
RULES = ("min=2", "min=3", "")
FILES = ("generalize", "mondrian", "generalize suppress=30%", "local")
COLUMNS = {
    "id": 'kind = "integer"\nrole = "identifier"',
    "town": 'kind = "text"\nrole = "quasi"',
    "sex": 'kind = "text"\nrole = "quasi"',
    "age": 'kind = "integer"\nrole = "quasi"\nbounds = [0, 120]',
    "ill": f'kind = "text"\nrole = "sensitive"\ncategories = {list(ILL)}',
    "sort": f'kind = "text"\nrole = "sensitive"\ncategories = {list(SORT)}',
    "other": f'kind = "text"\nrole = "other"\ncategories = {list(OTHER)}',
    "pid": 'kind = "text"\nrole = "other"',
}


def card_text(columns: list[str], unit: str | None, most: int | None) -> str:
    """A card of a table ``p``."""
    lines = ["discreet = 1", "[tables.p]", *([f'unit = "{unit}"'] if unit else [])]
    lines += [f"rows_per_unit = {most}"] if most else []
    for name in columns:
        lines += [f"[tables.p.columns.{name}]", COLUMNS[name]]
    return "\n".join(lines)


def kept(rows: dict[Hashable, dict[str, Any]], condition: str) -> dict[Hashable, Any]:
    """The rows that have a condition."""
    test = condition.replace(" = ", " == ").replace("<>", "!=").replace(" OR ", " or ")
    return {key: row for key, row in rows.items() if eval(test, {}, dict(row))}  # noqa: S307


class Repeated(Entropy):
    """The same bits for the same seed."""

    __slots__ = ("_draw",)

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311

    def bytes(self, count: int) -> bytes:
        return self._draw.randbytes(count)


@dataclass
class History:
    """People, what was released of them, and what the reference knows of it."""

    folder: Path
    seed: int
    rows: dict[Hashable, dict[str, Any]] = field(default_factory=dict)
    out: list[list[Said]] = field(default_factory=list)
    """What each release told that left."""
    units: dict[Hashable, Hashable] = field(default_factory=dict)
    changed: bool = False
    log: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)  # noqa: S311  # a test's draws
        draw = self.draw
        self.kind = draw.choices(("unit", "none", "several"), (8, 2, 2))[0]
        self.second = draw.random() < 0.25
        self.other = draw.random() < 0.15
        self.values = ILL[: draw.choice((2, 3))]
        columns = ["id"] if self.kind != "none" else []
        columns += [*QUASI, "ill", *(["sort"] if self.second else []), *(["other"] if self.other else [])]
        self.columns = columns
        for number in range(draw.randint(3, 5 if self.second or self.other else 8)):
            self.rows[number] = self._person(number)
        if self.kind != "unit":  # rows alike, and people with several rows
            for number in range(draw.randint(1, 2)):
                twin = dict(draw.choice(list(self.rows.values())))
                if self.kind == "several":
                    twin |= {name: self._person(0)[name] for name in draw.sample([*QUASI, "ill"], 2)}
                self.rows[100 + number] = twin
        self.table = self._written()
        self.least = draw.choice((2, 3))

    def _person(self, number: int) -> dict[str, Any]:
        draw = self.draw
        person = {
            "id": number,
            "town": draw.choice("AB"),
            "sex": draw.choice("fm"),
            "age": draw.choice((20, 35, 50, 65)),
            "ill": draw.choice(self.values),
            "sort": draw.choice(SORT),
            "other": draw.choice(OTHER),
        }
        return {name: person[name] for name in self.columns}

    def _written(self) -> Any:
        """The file and its card as they are now."""
        import pyarrow.parquet as pq

        unit = "id" if self.kind != "none" else None
        most = {"unit": 1, "none": None, "several": 5}[self.kind]
        (self.folder / "p.toml").write_text(card_text(self.columns, unit, most))
        pq.write_table(pa.Table.from_pylist(list(self.rows.values())), self.folder / "p.parquet")
        return dc.read(self.folder / "p.parquet", card=self.folder / "p.toml")

    # -- steps

    def play(self) -> None:
        for step in range(self.draw.randint(2, 4)):
            if step and self.kind == "unit" and self.draw.random() < 0.25:
                self._next_version()
            if self.draw.random() < 0.7:
                self._tabulate()
            else:
                self._publish()

    def _next_version(self) -> None:
        draw = self.draw
        what = draw.choice(("added", "changed", "gone"))
        if what == "added" and len(self.rows) < 9:
            number = max(self.rows) + 1  # type: ignore[type-var, operator]
            self.rows[number] = self._person(number)
        elif what == "gone" and len(self.rows) > 3:
            del self.rows[draw.choice(list(self.rows))]
        else:
            key = draw.choice(list(self.rows))
            self.rows[key] = self.rows[key] | {"ill": draw.choice(self.values)}
        self.changed = True
        self.log.append(f"{what}: {self.rows}")
        self.table = self._written()

    def _filtered(self) -> tuple[Any, dict[Hashable, Row]]:
        if self.draw.random() < 0.4:
            return self.table, dict(self.rows)
        text = self.draw.choice(FILTERS)
        self.log.append(text)
        return self.table.where(parse_one(text)), kept(self.rows, text)

    def _tabulate(self) -> None:
        table, rows = self._filtered()
        sides = [*SIDES, *(["town × ill × sort", "town × sort"] if self.second else [])]
        sides += ["sex × ill × other"] if self.other else []
        by = self.draw.sample(sides, 2 if not self.second and self.draw.random() < 0.2 else 1)
        rules = self.draw.choice(RULES)
        how = self.draw.choice(("controlled", "conventional", "random"))
        options = {"rules": rules} if rules else {"method": f"round base=3 how={how}", "seed": self.seed}
        self.log.append(f"tabulate {by} {options}")

        def said(made: Any, number: int) -> list[Said]:
            tables = each_table(made.payload, by)
            return [table_said(number, rows, one, QUASI, made.recipe.parameters) for one in tables]

        self._release(lambda given: dc.tabulate(given, by, **options), table, said)  # type: ignore[arg-type]

    def _publish(self) -> None:
        table, rows = self._filtered()
        if not rows:
            return
        how = self.draw.choice(FILES)
        self.log.append(f"publish {how}")
        told = [name for name in self.columns if name not in (*QUASI, "id")]

        def said(made: Any, number: int) -> list[Said]:
            shadow_rows = [dict(row) | {"pid": str(key)} for key, row in rows.items()]
            text = card_text([*self.columns, "pid"], "id" if self.kind != "none" else None, None)
            card = parse_cards(text)["p"]
            shadow = self._recoded(dc.read(pa.Table.from_pylist(shadow_rows), card), how).payload.to_pylist()
            names = {str(key): key for key in rows}
            classes = {names[line["pid"]]: tuple(str(line[name]) for name in QUASI) for line in shadow}
            lines = Counter(tuple(str(line[name]) for name in (*QUASI, *told)) for line in made.payload.to_pylist())
            same = Counter(tuple(str(line[name]) for name in (*QUASI, *told)) for line in shadow)
            if lines != same:
                raise LookupError("the shadow was recoded otherwise")
            return [file_said(number, rows, classes, told)]

        self._release(lambda given: self._recoded(given, how), table, said)

    def _recoded(self, table: Any, how: str) -> Any:
        """The same rows recoded in the same way each time: else a shadow may be of other classes that look the same."""
        return dc.publish(table, LocalRecode(entropy=Repeated(self.seed)) if how == "local" else how, "k=2")

    def _release(self, verb: Any, table: Any, said: Any) -> None:
        """Release something, and compare whether it is refused with what the reference says."""
        refusal, made, kept = "", None, True
        try:
            made = verb(table)
        except Exposed as error:
            refusal, kept = str(error), self.draw.random() < 0.5
            made = verb(table.despite("a test") if kept else replace(table, registers=()))
        except DiscreetError as error:
            self.log.append(f"-> {type(error).__name__}")
            return
        self.counts["steps"] += 1
        new = said(made, self.counts["steps"])
        self.units |= {key: row.get("id", key) for key, row in self.rows.items()}
        sets = list(self._compatible(new))
        largest = [one for one in sets if not any(set(one) < set(other) for other in sets)]
        wanted = [found for one in largest for found in self._wanted(one, new)]
        self.log.append(f"wanted: {wanted}; {refusal or 'passed'}")
        unchecked = any("Not checked together with" in one for one in made.statement.caveats)
        if "not decided" in refusal:
            self.counts["undecided"] += 1
            self.log.append("undecided")
        elif wanted and not refusal and self.changed and unchecked:
            self.counts["said not to be checked"] += 1
        else:
            self.counts["refused" if refusal else "passed"] += 1
            if refusal and not wanted:
                wanted = [found for one in sets for found in self._wanted(one, new)]
            if bool(wanted) != bool(refusal):
                self.wrong.append(f"{'not safe' if wanted else 'false alarm'}, seed {self.seed}: {wanted}")
        if kept:
            self.out.append(new)

    def _wanted(self, earlier: Sequence[int], new: list[Said]) -> list[Any]:
        """What the reference says that the new release exposes beside some earlier ones."""
        sensitive = [name for name in ("ill", "sort") if name in self.columns]
        before = [one for number in earlier for one in self.out[number]]
        found = exposed(before, new, sensitive, self.units)
        self.counts["of several atoms only"] += bool(found) and not exposed(
            before, new, sensitive, self.units, unions=False
        )
        return found

    def _compatible(self, new: list[Said]) -> Iterator[tuple[int, ...]]:
        """Earlier releases that may be put together with the new one: nothing that two of them tell has changed."""
        everything = [*self.out, new]
        fits = [[all(compatible(a, b) for a in x for b in y) for x in everything] for y in everything]
        for size in range(len(self.out) + 1):
            for some in combinations(range(len(self.out)), size):
                if all(fits[a][b] for a, b in combinations((*some, len(self.out)), 2)):
                    yield some


def compare(folder: Path, seeds: Iterable[int], kind: type[History] = History) -> Counter[str]:
    """Play histories; an error if a release is refused and the reference says that it is safe, or the other way."""
    total: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        history = kind(place, seed)
        try:
            history.play()
        except LookupError:
            total["other recoding"] += 1
        total += history.counts
        if history.wrong:
            wrong.append("\n".join([*history.wrong, str(history.rows), *history.log]))
    assert not wrong, f"{len(wrong)} of {total}:\n" + "\n\n".join(wrong[:3])
    return total


ONCE_WRONG = (2, 1039, 1064, 1070, 1330, 1377, 1386)
"""Histories that were decided otherwise once: rows told apart in two ways, a count that was asked for twice,
combinations of values that nobody has and that rounded figures do not rule out."""


def test_twenty_histories(tmp_path):
    total = compare(tmp_path, [*ONCE_WRONG, *range(100, 114)])
    assert total["refused"] >= 10
    assert total["passed"] >= 20
    assert not total["undecided"]


@pytest.mark.slow
def test_five_hundred_histories(tmp_path):
    total = compare(tmp_path, range(1000, 1500))
    print(total)
    assert total["undecided"] < 0.05 * total["steps"]
