"""`discreet show`: describe a table, or a release, to a person."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from discreet.cli.options import CardFile, CardTable, Json, Source, require_new
from discreet.cli.output import bold, console, grid, percent, plain_release, print_json, working
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.core.identifiers import Description, Identifying
    from discreet.core.table import Table, Violation

_PAIRS = 10


def show(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    page: Annotated[
        Path | None, Option(help="For a holder's copy: write its (confidential) page to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Describe a table and how identifiable its people are, a release, or a holder's copy.

    \b
    Examples:
      discreet show patients.csv --card patients.toml
      discreet show release/
      discreet show release.holder.parquet --page holder.html
    """
    from discreet.core.release import is_release

    folder = Path(source)
    if is_release(folder):
        _show_release(folder, as_json)
        return
    if card is None and source.endswith(".holder.parquet"):
        _show_holder(folder, page, as_json)
        return
    if folder.is_dir() and not any(folder.glob("**/*.parquet")):
        raise NotFound(f"{source} is neither a release (it has no manifest.json) nor a folder of Parquet files.")
    from discreet.engines.read import shown

    if card is None:
        raise BadInput(
            "Showing a table needs its card: add --card CARD.",
            hint=f"No card yet? Draft one: discreet card draft {shown(source)} -o card.toml",
        )
    from discreet.core.cardfile import card_fields
    from discreet.core.identifiers import describe
    from discreet.core.table import violations
    from discreet.engines.read import read

    with working(f"Counting {shown(source)}"):
        opened = read(source, card, table=table)
        description = describe(opened)
        broken = violations(opened)
    if as_json:
        print_json(
            {
                "table": opened.card.name,
                "engine": opened.engine.title,
                "card": card_fields([opened.card])["tables"][opened.card.name],
                **asdict(description),
                "violations": [asdict(violation) for violation in broken],
                "not_on_the_card": opened.unseen,
            }
        )
        return
    print_table(opened, description, console(), broken)


def _show_holder(place: Path, page: Path | None, as_json: bool) -> None:
    from discreet.core.document import open_private
    from discreet.core.holder_copy import read_holder_copy

    copy = read_holder_copy(place)
    if page is not None:
        require_new(page)
        with open_private(page) as file:
            file.write(copy.draw().encode())
    if as_json:
        print_json({"kind": copy.kind, "title": copy.title, "rows": copy.rows.num_rows, "notes": dict(copy.notes)})
        return
    out = console()
    out.print(bold(copy.title), f"({copy.kind})")
    out.print(str(copy))
    out.print(f"Its page: {page}." if page is not None else "Write its page with --page FILE.")


def print_table(table: Table, description: Description, out: Console, broken: tuple[Violation, ...] = ()) -> None:
    """The columns of a table, where it breaks its card, and what makes its records identifiable."""
    out.print(bold(table.card.name), f"{description.rows:,} rows on {table.engine.title}")
    rows = ((column.name, column.kind.value, column.role.value, column.declared) for column in table.card.columns)
    out.print(grid("column", "kind", "role", "declared", rows=rows))
    if table.unseen:
        out.print(f"In the data and not on the card: {', '.join(table.unseen)}.\n")
    if broken:
        out.print(bold("The data does not fit its card:"), *map(str, broken), "", sep="\n  ")
    if description.together is None:
        none = "There are no rows" if not description.rows else "No quasi-identifier is declared"
        out.print(f"{none}, so there is nothing to count.")
        return
    together = description.together
    out.print(
        f"{percent(together.unique, description.rows)} of the records ({together.unique:,}) are unique on "
        f"{', '.join(together.columns)}; the average record is in an equivalence class of {together.crowd:,.1f}.\n",
        style="bold",
    )
    out.print(_identifying("Most identifying columns", description.alone, description.rows))
    if len(together.columns) > 2:
        title = "Most identifying pairs"
        if len(description.pairs) > _PAIRS:
            title += f" ({_PAIRS} of {len(description.pairs)})"
        out.print(_identifying(title, description.pairs[:_PAIRS], description.rows))


def _identifying(title: str, found: tuple[Identifying, ...], rows: int) -> object:
    out = grid("columns", "#values", "#unique", "#share", "#mean class", "", title=title)
    for one in found:
        figures = f"{one.classes:,}", f"{one.unique:,}", percent(one.unique, rows), f"{one.crowd:,.1f}"
        out.add_row(" × ".join(one.columns), *figures, "█" * round(12 * one.unique / rows))
    return out


def _show_release(folder: Path, as_json: bool) -> None:
    from discreet.core.release import Release

    release = Release.load(folder)
    if as_json:
        plain = plain_release(release, folder)
        print_json({"title": release.title, "private": release.private, **plain})
        return
    console().print(str(release))
