"""Random small histories with tables of sums and audited sums, against brute force over all whole amounts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releases.exposure_reference import Said, answer_said, each_table, estimated, table_said
from tests.releases.test_exposure_brute_force import COLUMNS, FILTERS, QUASI, History, compare, kept

import discreet as dc
from discreet.core.cardfile import parse_cards
from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.errors import DiscreetError

COLUMNS["pay"] = 'kind = "integer"\nrole = "sensitive"\nbounds = [0, 1000]\nrequired = true'
SIDES = ("town", "sex", "age", "town × sex", "town × age", "sex × age")
RULES = ("p=10", "p=30", "p=60", "min=2", "min=1", "")
QUESTIONS = ("", "town", "sex")
ONCE_WRONG = 2171
"""A history that was refused once for what one of two people could tell of the other before."""


@dataclass
class SumHistory(History):
    """A history in which sums of what people are paid are told, too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.policy = dc.ExposurePolicy(share=self.draw.choice((0.1, 0.3, 0.6)))
        self.columns = [*self.columns, "pay"]
        while len(self.rows) > 6:
            del self.rows[self.draw.choice(list(self.rows))]
        for row in self.rows.values():
            row["pay"] = self.draw.choice((0, 1, 2, 3, 5, 8))
        self.table = self._written()

    def _person(self, number: int) -> dict[str, Any]:
        return super()._person(number) if "pay" not in self.columns else self._paid(number)

    def _paid(self, number: int) -> dict[str, Any]:
        self.columns.remove("pay")
        person = super()._person(number) | {"pay": self.draw.choice((0, 1, 2, 3, 5, 8))}
        self.columns.append("pay")
        return person

    def _written(self) -> Any:
        """The file and its card, and beside them one without amounts, to be published."""
        if "pay" not in self.columns:
            return super()._written()
        unit = "id" if self.kind != "none" else None
        most = {"unit": 1, "none": None, "several": 5}[self.kind]
        tables = []
        for name, columns in (("p", self.columns), ("q", self.columns[:-1])):
            text = card_of(name, columns, unit, most)
            (self.folder / f"{name}.toml").write_text(text)
            lines = [{column: row[column] for column in columns} for row in self.rows.values()]
            pq.write_table(pa.Table.from_pylist(lines), self.folder / f"{name}.parquet")
            read = dc.read(self.folder / f"{name}.parquet", card=self.folder / f"{name}.toml")
            tables.append(replace(read, policy=self.policy))
        self.without = tables[1]
        return tables[0]

    def play(self) -> None:
        for step in range(self.draw.randint(2, 4)):
            if step and self.kind == "unit" and self.draw.random() < 0.25:
                self._next_version()
            what = self.draw.random()
            if what < 0.65:
                self._tabulate_sums()
            elif what < 0.8 or self.kind != "unit":
                self._tabulate()
            else:
                table, self.table, self.columns = self.table, self.without, self.columns[:-1]
                try:
                    self._publish()
                finally:
                    self.table, self.columns = table, [*self.columns, "pay"]

    def _next_version(self) -> None:
        if self.draw.random() < 0.6:
            super()._next_version()
            return
        key = self.draw.choice(list(self.rows))
        self.rows[key] = self.rows[key] | {"pay": self.draw.choice((0, 1, 2, 3, 5, 8))}
        self.changed = True
        self.log.append(f"paid otherwise: {self.rows}")
        self.table = self._written()

    def _tabulate_sums(self) -> None:
        table, rows = self._filtered()
        by = self.draw.sample(SIDES, 2 if self.draw.random() < 0.15 else 1)
        rules = self.draw.choice(RULES)
        how = self.draw.choice(("controlled", "conventional", "random"))
        options = {"rules": rules} if rules else {"method": f"round base=3 how={how}", "seed": self.seed}
        promised = int(rules[2:]) / 100 if rules.startswith("p=") else 0.0
        self.log.append(f"tabulate the pay {by} {options}")

        def said(made: Any, number: int) -> list[Said]:
            tables = each_table(made.payload, by)
            return [table_said(number, rows, one, QUASI, made.recipe.parameters, "pay", promised) for one in tables]

        self._release(lambda given: dc.tabulate(given, by, "pay", **options), table, said)  # type: ignore[arg-type]

    def _wanted(self, earlier: Sequence[int], new: list[Said]) -> list[Any]:
        before = [one for number in earlier for one in self.out[number]]
        found = estimated(before, new, self.units, float(self.policy.share))
        self.counts["amounts"] += bool(found)
        return [*found, *super()._wanted(earlier, new)]


class AuditedHistory(SumHistory):
    """A history that begins with audited sums."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kind = "unit"
        self.rows = {number: row | {"id": number} for number, row in enumerate(self.rows.values())}
        if "id" not in self.columns:
            self.columns = ["id", *self.columns]
        self.rows = {key: {name: row[name] for name in self.columns} for key, row in self.rows.items()}

    def play(self) -> None:
        card = parse_cards(card_of("p", self.columns, "id", 1))["p"]
        pq.write_table(pa.Table.from_pylist(list(self.rows.values())), self.folder / "p.parquet")
        with Curator.create(self.folder / "office", {"p": (self.folder / "p.parquet", card)}, Pure(3)) as curator:
            curator.audit("p", {"pay": "sum"}, by=QUASI)
            for _ in range(self.draw.randint(1, 3)):
                self._ask(curator)
            self.table = replace(curator.workspace.original("p"), policy=self.policy)
            for _ in range(self.draw.randint(1, 2)):
                self._tabulate_sums()

    def _ask(self, curator: Curator) -> None:
        by, text = self.draw.choice(QUESTIONS), self.draw.choice(("", *FILTERS))
        rows: dict[Hashable, Any] = kept(self.rows, text) if text else dict(self.rows)
        shown, grouped = (f"{by}, ", f" GROUP BY {by}") if by else ("", "")
        question = f"SELECT {shown}SUM(pay) AS s FROM p{f' WHERE {text}' if text else ''}{grouped}"
        self.log.append(question)
        try:
            lines = curator.ask_audited(question).table.to_pylist()
        except DiscreetError as error:
            self.log.append(f"-> {type(error).__name__}")
            return
        self.counts["answers"] += 1
        sums = {line[by] if by else None: int(line["s"] or 0) for line in lines}
        rows = {key: row for key, row in rows.items() if not by or row[by] in sums}
        self.out.append([answer_said(0, rows, sums, by, "pay")])


def card_of(name: str, columns: list[str], unit: str | None, most: int | None) -> str:
    """A card of a table of the population ``all``."""
    lines = ["discreet = 1", f"[tables.{name}]", 'population = "all"', *([f'unit = "{unit}"'] if unit else [])]
    lines += [f"rows_per_unit = {most}"] if most else []
    for column in columns:
        lines += [f"[tables.{name}.columns.{column}]", COLUMNS[column]]
    return "\n".join(lines)


def test_twenty_histories(tmp_path):
    total = compare(tmp_path, [*range(2000, 2012), ONCE_WRONG], SumHistory)
    (tmp_path / "audited").mkdir()
    total += compare(tmp_path / "audited", range(3000, 3006), AuditedHistory)
    assert total["amounts"] >= 5
    assert total["answers"] >= 3
    assert not total["undecided"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(2100, 2600, 100))
def test_five_hundred_histories(tmp_path: Path, first: int) -> None:
    total = compare(tmp_path, range(first, first + 80), SumHistory)
    (tmp_path / "audited").mkdir()
    total += compare(tmp_path / "audited", range(first, first + 20), AuditedHistory)
    print(total)
    assert total["undecided"] < 0.05 * total["steps"]
