"""A masked table as a release: rows in an order that tells nothing, and for the holder alone what became of whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Role
from discreet.core.holder_copy import RELEASE, fingerprint, kept
from discreet.core.picture import Picture
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Release
from discreet.core.release_folder import Rows
from discreet.core.report import fragment, render
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table, count_name
from discreet.core.withheld import said_of_withheld
from discreet.engines.duckdb import DuckDB
from discreet.engines.files import open_file
from discreet.engines.read import read
from discreet.engines.spark import Spark
from discreet.errors import NoPromise
from discreet.models.classes import require_people
from discreet.models.model import Model, Verdict, check_all, checked_alone, evidence_of
from discreet.verbs.publish.mask.bounds import limits_of, said, within
from discreet.verbs.publish.mask.records import on_workers, stream
from discreet.verbs.publish.mask.report import compared, pictures
from discreet.verbs.publish.mask.values import Array
from discreet.verbs.publish.masking import Masked, Masker, Plan, RecordMasker
from discreet.verbs.publish.recode import published_columns
from discreet.verbs.publish.recoding import Progress

T = TypeVar("T")
LINK = "row"
"""The column of a links file: for each released row the original's row number, from 0."""


@dataclass(frozen=True, repr=False)
class Linked(Release[T]):
    """A release in its holder's hands: ``links`` are never saved with it."""

    links: Array | None = field(default=None, compare=False)
    """For each released row the original's row number, from 0; ``None`` if nobody counted (on Spark)."""
    original: Table | None = field(default=None, compare=False)
    """The table it was made of."""

    @property
    def compared(self) -> tuple[Picture, ...]:
        """How each masked column was spread, and is now: drawn when it is asked for."""
        if self.original is None:
            return ()
        rows: Any = self.payload
        after = read(rows.path if isinstance(rows, Rows) else rows, _card(self.original.card))
        return compared(self.original, after, _masked(self.recipe.parameters, after))

    def page(self) -> str:
        """The report with the originals beside what is released, as HTML that opens offline. It must never leave."""
        return render(self._for_holder())

    def _repr_html_(self) -> str:
        return fragment(self._for_holder())

    def _for_holder(self) -> Release[object]:
        title = f"{self.title} (beside the original: for its holder alone)"
        return cast("Release[object]", replace(self, pictures=self.compared, title=title))


def release_masked(
    table: Table,
    masker: Masker,
    models: Sequence[Model],
    *,
    seed: int | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    keep: str | Path | None = None,
    progress: Progress,
) -> Linked[Any]:
    """Mask ``table``, check ``models`` on what came out, and let it go.

    A record-wise masker that writes to a folder never holds the rows: they stream through it.
    """
    progress(0.0, "masking")
    made = _streamed(table, masker, seed, to) if to and isinstance(masker, RecordMasker) else _held(table, masker, seed)
    with made as (payload, told, links):
        progress(0.8, "checking")
        card = _card(table.card)
        out = read(payload.path if isinstance(payload, Rows) else payload, card)
        verdicts = _require_held(table, out, models)
        limits = limits_of(table.card, told.parameters)
        release = Linked(
            payload,
            _statement(table, models, verdicts, told),
            Recipe(
                masker.name,
                {
                    **told.parameters,
                    "table": table.card.name,
                    "rows": table.count(),
                    "models": [model.claim.text for model in models],
                },
                (*told.steps, *said(limits)),
                seed=seed,
                versions=versions(table.engine),
            ),
            pictures=pictures(out, _masked(told.parameters, out)),
            title=f"{table.card.name}, masked",
            links=links,
            original=table,
        )
        with kept(None if links is None else pa.table({LINK: pa.array(links, pa.int64())}), keep) as notes:
            if to is not None:
                folder = release.save(to, csv=csv)
                release = replace(release, payload=Rows(folder / "payload.parquet"))
                notes[RELEASE] = fingerprint(folder)
            elif keep is not None and isinstance(payload, pa.Table):
                notes[RELEASE] = fingerprint(payload)  # as it will be if it is saved later
    progress(1.0, "done")
    return release


def by_content(rows: pa.Table) -> Array:
    """The numbers of the rows in the order of what they hold, so that the order they came in tells nothing."""
    plain = [c.cast(pa.int8()) if pa.types.is_boolean(c.type) else c for c in rows.columns]
    keys = pa.table(plain, names=[str(place) for place in range(len(plain))])
    return np.asarray(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names]), np.int64)


@contextmanager
def _held(table: Table, masker: Masker, seed: int | None) -> Iterator[tuple[pa.Table, Masked, Array]]:
    """All in memory, ordered by content."""
    masked = masker.mask(table, seed)
    rows = within(masked.rows, limits_of(table.card, masked.parameters))
    order = by_content(rows)
    yield rows.take(order), masked, order


@contextmanager
def _streamed(
    table: Table, masker: RecordMasker, seed: int | None, to: str | Path
) -> Iterator[tuple[Rows, Plan, Array | None]]:
    """Through the engine to a file, ordered by content on the way; only the links are held, eight bytes a row."""
    plan = masker.plan(table)
    with TemporaryDirectory(prefix=".discreet-", dir=Path(to).resolve().parent) as scratch:
        place = Path(scratch) / "payload.parquet"
        names = [column.name for column in published_columns(table.card)]
        if isinstance(table.engine, Spark):
            masked = _ordered(on_workers(masker, plan, table, table.engine, seed), names, names)
            _write(table.engine.stream(masked), place)
            links = None
        else:
            first, number = Path(scratch) / "masked.parquet", count_name(names)
            _write(_numbered(stream(masker, plan, table, seed), number), first)
            engine = DuckDB()
            relation = open_file(first, None, engine)[1]
            links = _write(engine.stream(_ordered(relation, [*names, number], names)), place, number)
            engine.close()
        yield Rows(place), plan, links


def _ordered(relation: exp.Query, shown: Sequence[str], by: Sequence[str]) -> exp.Select:
    keys = [exp.Ordered(this=sql.column(name), desc=False, nulls_first=False) for name in by]
    return exp.select(*map(sql.column, shown)).from_(relation.subquery("r")).order_by(*keys)


def _numbered(rows: pa.RecordBatchReader, name: str) -> pa.RecordBatchReader:
    """The same rows with their number, from 0, in one more column."""

    def numbered() -> Iterator[pa.RecordBatch]:
        seen = 0
        for batch in rows:
            counted = pa.array(np.arange(seen, seen + batch.num_rows))
            seen += batch.num_rows
            yield pa.RecordBatch.from_arrays([*batch.columns, counted], schema=schema)

    schema = rows.schema.append(pa.field(name, pa.int64()))
    return pa.RecordBatchReader.from_batches(schema, numbered())


def _write(rows: pa.RecordBatchReader, place: Path, aside: str | None = None) -> Array | None:
    """Write the rows without the column ``aside``, which is returned."""
    schema = rows.schema if aside is None else pa.schema([f for f in rows.schema if f.name != aside])
    kept = [np.empty(0, np.int64)]
    with pq.ParquetWriter(place, schema, compression="zstd") as writer:
        for batch in rows:
            if aside is not None:
                kept.append(batch.column(aside).to_numpy())
            if batch.num_rows:
                writer.write_batch(batch.select(schema.names))
    return np.concatenate(kept) if aside is not None else None


def _masked(parameters: Mapping[str, Any], out: Table) -> list[str]:
    """The columns that a recipe says were masked, as far as they are released."""
    return [name for name in parameters.get("columns", ()) if name in out.columns]


def _card(card: Card) -> Card:
    """The card of what leaves: no identifiers, no unit."""
    return card.without_unit(published_columns(card))


def _require_held(table: Table, out: Table, models: Sequence[Model]) -> list[Verdict]:
    if not models:
        return []
    require_people(table)
    verdicts = check_all(out, models)
    broken = [verdict.claim.text for verdict in verdicts if not verdict.holds]
    if broken:
        raise NoPromise(
            f"What was made of {table.card.name} is not {' and not '.join(broken)}. Nothing was released.",
            hint="Mask more, or generalise: dc.Generalize finds what makes a model hold.",
        )
    return verdicts


def _statement(table: Table, models: Sequence[Model], verdicts: Sequence[Verdict], told: Masked | Plan) -> Statement:
    card, caveats = table.card, list(told.not_promised)
    masked = told.parameters.get("columns", ())
    left = [c.name for c in card.having(Role.QUASI) if c.name not in masked and c.name != card.unit]
    if left:
        caveats.append(f"Not masked, and known to outsiders: {', '.join(left)}. They may single people out.")
    if card.unit is not None and card.rows_per_unit != 1:
        caveats.append(f"Rows are masked one by one: a {card.unit} with several rows is masked less.")
    caveats.append("How much an intruder learns is measured by attacking the release, not promised by its method.")
    caveats += [*(caveat for verdict in verdicts for caveat in verdict.caveats), *checked_alone(models)]
    caveats += said_of_withheld(table)
    claims = tuple(model.claim for model in models)
    evidence = evidence_of(models) if claims else Evidence.ARGUED
    return Statement(card.unit or "person", None, claims, None, evidence, (), tuple(caveats))
