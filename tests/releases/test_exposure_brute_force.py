"""Random small histories of releases, against brute force over all databases that agree with what was released."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import parse_one
from tests.releases.exposure_reference import Row, Said, exposed, file_said, table_said

import discreet as dc
from discreet.core.cardfile import parse_cards
from discreet.errors import DiscreetError, Exposed

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


@dataclass
class History:
    """People, what was released of them, and what the reference knows of it."""

    folder: Path
    seed: int
    rows: dict[Hashable, dict[str, Any]] = field(default_factory=dict)
    states: list[dict[str, Any]] = field(default_factory=list)
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
        self.log.append(f"{what}: {self.rows}")
        self.table = self._written()

    def _filtered(self) -> tuple[Any, dict[Hashable, Row]]:
        if self.draw.random() < 0.4:
            return self.table, dict(self.rows)
        text = self.draw.choice(FILTERS)
        test = text.replace(" = ", " == ").replace("<>", "!=").replace(" OR ", " or ")
        kept = {key: row for key, row in self.rows.items() if eval(test, {}, dict(row))}  # noqa: S307
        self.log.append(text)
        return self.table.where(parse_one(text)), kept

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
            return [table_said(number, rows, made.payload, QUASI, made.recipe.parameters)]

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
            shadow = dc.publish(dc.read(pa.Table.from_pylist(shadow_rows), card), how, "k=2").payload.to_pylist()
            names = {str(key): key for key in rows}
            classes = {names[line["pid"]]: tuple(str(line[name]) for name in QUASI) for line in shadow}
            lines = Counter(tuple(str(line[name]) for name in (*QUASI, *told)) for line in made.payload.to_pylist())
            same = Counter(tuple(str(line[name]) for name in (*QUASI, *told)) for line in shadow)
            if lines != same:
                raise LookupError("the shadow was recoded otherwise")
            return [file_said(number, rows, classes, told)]

        self._release(lambda given: dc.publish(given, how, "k=2"), table, said)

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
        states = self._agreeing(new)
        sensitive = [name for name in ("ill", "sort") if name in self.columns]
        unit = {key: row.get("id", key) for one in self.states for key, row in one["units"].items()}
        unit |= {key: row.get("id", key) for key, row in self.rows.items()}
        wanted = [found for state in states for found in exposed(state["said"], new, sensitive, unit)]
        self.counts["of several atoms only"] += bool(wanted) and not any(
            exposed(state["said"], new, sensitive, unit, unions=False) for state in states
        )
        self.log.append(f"wanted: {wanted}; {refusal or 'passed'}")
        if "not decided" in refusal:
            self.counts["undecided"] += 1
            self.log.append("undecided")
        else:
            self.counts["refused" if refusal else "passed"] += 1
            if bool(wanted) != bool(refusal):
                self.wrong.append(f"{'not safe' if wanted else 'false alarm'}, seed {self.seed}: {wanted}")
        if kept:
            self._keep(states, new)

    def _agreeing(self, new: list[Said]) -> list[dict[str, Any]]:
        """The states of the table of which all that was told is as it is now, or a new one."""
        now = {(key, c): row[c] for one in new for key, row in one.truth.items() for c in one.labels}
        rows = {key for key, _ in now}
        common = [state for state in self.states if rows & {key for key, _ in state["told"]}]
        found = [one for one in common if all(one["told"].get(at, value) == value for at, value in now.items())]
        if self.states and not common:
            return self.states[-1:]
        return found or [{"told": {}, "said": [], "units": {}}]

    def _keep(self, states: list[dict[str, Any]], new: list[Said]) -> None:
        for state in states:
            if not any(state is one for one in self.states):
                self.states.append(state)
            for one in new:
                state["told"] |= {(key, c): row[c] for key, row in one.truth.items() for c in one.labels}
                state["units"] |= dict(one.truth)
            state["said"] = [*state["said"], *new]


def compare(folder: Path, seeds: Iterable[int]) -> Counter[str]:
    """Play histories; an error if a release is refused and the reference says that it is safe, or the other way."""
    total: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        history = History(place, seed)
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


def test_forty_histories(tmp_path):
    total = compare(tmp_path, [*ONCE_WRONG, *range(100, 133)])
    assert total["refused"] >= 10
    assert total["passed"] >= 20
    assert not total["undecided"]


@pytest.mark.slow
def test_five_hundred_histories(tmp_path):
    total = compare(tmp_path, range(1000, 1500))
    print(total)
    assert total["undecided"] < 0.05 * total["steps"]
