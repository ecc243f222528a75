"""A synthetic table as a release that promises nothing: rows in an order that tells nothing, attacked before they
leave, and for the holder alone what the attacks found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core.card import Card, Column
from discreet.core.holder_copy import private
from discreet.core.kind import Kind
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Release
from discreet.core.release_folder import Rows
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.core.withheld import said_of_withheld
from discreet.engines.read import read
from discreet.verbs.publish.mask.bounds import limits_of, said
from discreet.verbs.publish.mask.release import by_content
from discreet.verbs.publish.mask.report import pictures
from discreet.verbs.publish.recode import published_columns
from discreet.verbs.publish.recoding import Progress
from discreet.verbs.synthesize.non_private.attacked import Attacked, attacked
from discreet.verbs.synthesize.non_private.copies import COPY
from discreet.verbs.synthesize.non_private.edit_rules import possible
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer, Synthetic


def release_synthetic(
    table: Table,
    synthesizer: Synthesizer,
    *,
    control: Table | None = None,
    seed: int | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    keep: str | Path | None = None,
    progress: Progress,
) -> Attacked[Any]:
    """Make rows like those of ``table``, attack them, and let them go.

    ``keep`` is a new file, for its owner alone, for the page of what the attacks found: it is there if the release is.
    """
    progress(0.0, "learning and drawing")
    release = _made(table, synthesizer, seed)
    rows = read(release.payload, _card(table.card, release.payload.column_names))
    release = replace(release, pictures=pictures(rows, release.recipe.parameters["columns"]))
    found = attacked(
        release,
        table,
        lambda people: _made(people, synthesizer, seed),
        control=control,
        seed=seed,
        progress=lambda share, what: progress(0.4 + 0.5 * share, f"attack: {what}"),
    )
    progress(0.9, "writing")
    with _kept(found, keep):
        if to is not None:
            folder = found.save(to, csv=csv)
            found = replace(found, payload=Rows(folder / "payload.parquet"))
    progress(1.0, "done")
    return found


def _made(table: Table, synthesizer: Synthesizer, seed: int | None) -> Release[Any]:
    """The release as it would leave, not attacked yet."""
    made = possible(table, synthesizer, seed)
    return Release(
        made.rows.take(by_content(made.rows)),
        _statement(table, made),
        Recipe(
            synthesizer.name,
            {**made.parameters, "table": table.card.name, "rows": table.count()},
            (*made.steps, *said(limits_of(table.card, made.parameters))),
            seed=seed,
            versions=versions(table.engine),
        ),
        title=f"{table.card.name}, synthetic",
    )


@contextmanager
def _kept(found: Attacked[Any], place: str | Path | None) -> Iterator[None]:
    """The page is there before the release is, and gone if that fails."""
    if place is None:
        yield
        return
    with private(Path(place)) as file:
        file.write(found.page().encode())
    try:
        yield
    except BaseException:
        Path(place).unlink()
        raise


def _card(card: Card, names: Sequence[str]) -> Card:
    """The card of what leaves: no identifiers, no unit, and which copy a row is of."""
    columns = published_columns(card)
    own = (Column(COPY, Kind.INTEGER),) if COPY in names and COPY not in card else ()
    return card.without_unit((*columns, *own))


def _statement(table: Table, made: Synthetic) -> Statement:
    card = table.card
    caveats = [
        "Synthetic does not mean safe: these rows were learnt from people, and nothing bounds what can be learnt of "
        "them.",
        "This is not differential privacy: with or without one person the release may be very different.",
        *made.not_promised,
    ]
    if card.unit is not None and card.rows_per_unit != 1:
        caveats.append(
            f"Rows are made one by one: which of them belong to the same {card.unit} is lost, and whoever has several "
            "is drawn from as often."
        )
    caveats += said_of_withheld(table)
    caveats.append("It was attacked before it left; attacks that find nothing prove nothing.")
    return Statement(card.unit or "person", None, (), None, Evidence.ARGUED, (), tuple(caveats))
