"""Masking as a release: rows in an order that tells nothing and, for the holder alone, which row is whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Role
from discreet.core.holder_copy import LINK, HolderCopy
from discreet.core.identifiers import said_of_withheld
from discreet.core.markup import Markup, tag
from discreet.core.release import Rows
from discreet.core.report import section, styled
from discreet.core.sql import content_order
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table, count_name
from discreet.engines.duckdb import DuckDB
from discreet.engines.files import open_file
from discreet.engines.read import read
from discreet.errors import NoPromise
from discreet.models.classes import require_people
from discreet.models.model import Model, check_all, checked_alone, evidence_of
from discreet.releases.method import Bench, Made, Method
from discreet.verbs.publish.mask.masker import Masked, Masker, MaskingPlan, RecordMasker, on_workers, stream
from discreet.verbs.publish.mask.report import compare_pictures, pictures
from discreet.verbs.publish.mask.values import Array, bounds_steps, clamp_to_bounds, limits_of
from discreet.verbs.publish.recoding import content_keys, published_columns, with_row_numbers


@dataclass(frozen=True)
class Masking(Method[Any]):
    """Rows masked so that they are no longer those of people, in an order that tells nothing.

    Masking promises nothing by itself; models that are to hold are checked on what came out. A record-wise masker that
    writes to a folder never holds the rows: they stream through it.
    """

    masker: Masker
    models: Sequence[Model] = ()
    seed: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.masker.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The models; those of the masker come with what it makes."""
        return {"models": [model.claim.text for model in self.models]}

    def promise(self, card: Card) -> Statement:
        """The claims of the required models, if any."""
        claims = tuple(model.claim for model in self.models)
        evidence = evidence_of(self.models) if claims else Evidence.ARGUED
        assumes = (card.whose,) if claims or card.rows_are_people else ()
        return Statement(card.unit or "person", None, claims, None, evidence, assumes)

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """The masked rows, and for the holder which original each of them was."""
        bench.progress(0.0, "masking")
        if self.models:
            require_people(table)
        streams = bench.scratch is not None and isinstance(self.masker, RecordMasker)
        masked = (
            _mask_stream(table, self.masker, self.seed, bench)
            if streams
            else _mask_in_memory(table, self.masker, self.seed)
        )
        payload, told, links = masked
        limits = bounds_steps(limits_of(table.card, told.parameters))
        parameters = {**told.parameters, "table": table.card.name, "rows": table.count()}
        return Made(
            payload,
            parameters,
            (*told.steps, *limits),
            caveats=_caveats(table, told),
            seed=self.seed,
            holder=_holder(table, told, links, payload, bench),
            title=f"{table.card.name}, masked",
            context=table,
        )

    def recheck(self, made: Made[Any], written: pa.Table | Rows, promised: Statement) -> Made[Any]:
        """Check the models on the rows as they were written."""
        table: Table = made.context
        out = read(written.path if isinstance(written, Rows) else written, released_card(table.card))
        verdicts = check_all(out, self.models) if self.models else []
        broken = [verdict.claim.text for verdict in verdicts if not verdict.holds]
        if broken:
            raise NoPromise(
                f"The masked {table.card.name} is not {' and not '.join(broken)}. Nothing was released.",
                hint="Mask more, or use dc.Generalize, which searches for levels at which models hold.",
            )
        caveats = [*(caveat for verdict in verdicts for caveat in verdict.caveats), *checked_alone(self.models)]
        return replace(
            made,
            caveats=(*made.caveats, *caveats, *said_of_withheld(table)),
            pictures=pictures(out, _masked_columns(made.parameters, out)),
        )


def _holder(
    table: Table, told: Masked | MaskingPlan, links: Array | None, payload: pa.Table | Rows, bench: Bench
) -> HolderCopy:
    """Links from released to original rows (not on Spark), and masked columns beside the originals."""

    def draw() -> Markup:
        source: pa.Table | Path = payload if isinstance(payload, pa.Table) else payload.path
        if isinstance(source, Path) and not source.exists() and bench.folder is not None:
            source = bench.folder / source.name
        after = read(source, released_card(table.card))
        drawn = compare_pictures(table, after, _masked_columns(told.parameters, after))
        first = section("Confidential", tag("p", "Original and released values side by side: never release this page."))
        return styled([first, *(section(picture.title, picture.figure) for picture in drawn)])

    if links is None:
        return HolderCopy("comparison", pa.table({}), draw=draw)
    return HolderCopy("links", pa.table({LINK: pa.array(links, pa.int64())}), draw=draw)


def _mask_in_memory(table: Table, masker: Masker, seed: int | None) -> tuple[pa.Table, Masked, Array]:
    """All in memory, ordered by content."""
    masked = masker.mask(table, seed)
    rows = clamp_to_bounds(masked.rows, limits_of(table.card, masked.parameters))
    order = content_order(rows)
    return rows.take(order), masked, order


def _mask_stream(table: Table, masker: Any, seed: int | None, bench: Bench) -> tuple[Rows, MaskingPlan, Array | None]:
    """Through the engine to a file, ordered by content on the way; only the links are held, eight bytes a row."""
    plan, scratch = masker.plan(table), cast("Path", bench.scratch)
    place = scratch / "payload.parquet"
    names = [column.name for column in published_columns(table.card)]
    if table.engine.has_workers:
        masked = _order_by_content(on_workers(masker, plan, table, seed), names, names)
        _write(table.engine.stream(masked), place)
        return Rows(place), plan, None
    first, number = scratch / "masked.parquet", count_name(names)
    _write(with_row_numbers(stream(masker, plan, table, seed), number), first)
    engine = DuckDB()
    relation = open_file(first, None, engine)[1]
    links = _write(engine.stream(_order_by_content(relation, [*names, number], names)), place, number)
    engine.close()
    first.unlink()
    return Rows(place), plan, links


def _order_by_content(relation: exp.Query, shown: Sequence[str], by: Sequence[str]) -> exp.Select:
    return exp.select(*map(sql.column, shown)).from_(relation.subquery("r")).order_by(*content_keys(by))


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


def _masked_columns(parameters: Mapping[str, Any], out: Table) -> list[str]:
    """The columns that a recipe says were masked, as far as they are released."""
    return [name for name in parameters.get("columns", ()) if name in out.columns]


def released_card(card: Card) -> Card:
    """The card of what leaves: no identifiers, no unit."""
    return card.without_unit(published_columns(card))


def _caveats(table: Table, told: Masked | MaskingPlan) -> tuple[str, ...]:
    card, caveats = table.card, list(told.not_promised)
    masked = told.parameters.get("columns", ())
    left = [c.name for c in card.having(Role.QUASI) if c.name not in masked and c.name != card.unit]
    if left:
        caveats.append(f"Quasi-identifiers that were not masked: {', '.join(left)}. They may single people out.")
    if card.unit is not None and card.rows_per_unit != 1:
        caveats.append(f"Rows are masked one by one: a {card.unit} with several rows is masked less.")
    caveats.append("The method promises no bound on what an intruder learns: attack the release to measure it.")
    return tuple(caveats)
