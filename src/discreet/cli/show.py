"""`discreet show`: describe a table, or a release, to a person."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import CardTable, Json, Source, console, grid, percent, print_json, working
from discreet.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.core.describe import Description, Identifying
    from discreet.core.table import Table
    from discreet.core.validate import Violation


def show(
    source: Source,
    card: Annotated[str | None, typer.Option("--card", "-c", help="The data card (TOML).", metavar="CARD")] = None,
    table: CardTable = None,
    as_json: Json = False,
) -> None:
    """Describe a table: its columns and how recognisable the people in it are. Or a release: what it promises.

    \b
    Examples:
      discreet show patients.csv --card patients.toml
      discreet show release/
    """
    if (Path(source) / "manifest.json").is_file():
        _show_release(Path(source), as_json)
        return
    if card is None:
        raise BadInput(
            "A table is shown with its card: add --card CARD.",
            hint=f"No card yet? Draft one: discreet card draft {source.rpartition('@')[2]} > card.toml",
        )
    from discreet.core.describe import describe
    from discreet.core.validate import violations
    from discreet.engines.read import read

    with working(f"Counting {source.rpartition('@')[2]}"):
        opened = read(source, card, table=table)
        description = describe(opened)
        broken = violations(opened)
    if as_json:
        print_json(
            {
                "table": opened.card.name,
                "engine": opened.engine.title,
                **asdict(description),
                "violations": [asdict(violation) for violation in broken],
            }
        )
        return
    print_table(opened, description, console())
    _print_violations(broken, console())


def print_table(table: Table, description: Description, out: Console) -> None:
    """The columns of a table and what makes its records recognisable."""
    columns = grid("column", "kind", "role", "declared")
    for column in table.card.columns:
        declared = "–"
        if column.bounds is not None:
            declared = f"{column.bounds[0]} to {column.bounds[1]}"
        elif column.categories is not None:
            declared = f"{len(column.categories)} categories"
        levels = f", {column.hierarchy.height} levels" if column.hierarchy else ""
        read_off = " (read off the data)" if column.from_data else ""
        columns.add_row(
            column.name,
            column.kind.value,
            column.role.value,
            (declared + levels + read_off).strip("–, ") or "–",
        )
    out.print(f"[bold]{table.card.name}[/bold]: {description.rows:,} rows on {table.engine.title}")
    out.print(columns)
    if description.together is None:
        out.print("No quasi-identifier is declared or there are no rows, so there is nothing to count.")
        return
    together = description.together
    out.print(
        f"[bold]{percent(together.unique, description.rows)}[/bold] of the records ({together.unique:,}) are unique on "
        f"{', '.join(together.columns)} together; a record hides among {together.crowd:,.1f} on average.\n"
    )
    out.print(_identifying("Most identifying columns", description.alone, description.rows))
    if len(together.columns) > 2:
        out.print(_identifying("Most identifying pairs", description.pairs[:10], description.rows))


def _identifying(title: str, found: tuple[Identifying, ...], rows: int) -> object:
    out = grid("columns", "#values", "#unique", "#share", "#hides among", "", title=title)
    for one in found:
        bar = "█" * round(12 * one.unique / rows)
        out.add_row(
            " × ".join(one.columns),
            f"{one.classes:,}",
            f"{one.unique:,}",
            percent(one.unique, rows),
            f"{one.crowd:,.1f}",
            bar,
        )
    return out


def _print_violations(broken: tuple[Violation, ...], out: Console) -> None:
    if broken:
        out.print("[bold]The data does not keep to its card:[/bold]")
    for violation in broken:
        out.print(f"  {violation}", markup=False)


def _show_release(folder: Path, as_json: bool) -> None:
    from discreet.core.release import Release

    release = Release.load(folder)
    if as_json:
        print_json({"statement": release.statement.to_dict(), "recipe": release.recipe.to_dict()})
        return
    console().print(str(release), markup=False)
