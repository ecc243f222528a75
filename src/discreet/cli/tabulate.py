"""`discreet tabulate` and `discreet tabulate audit`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from discreet.cli.methods import ListingCommand
from discreet.cli.options import CardFile, DefaultCommand, Despite, Holder, Json, Output, refuse_options, require_output
from discreet.cli.output import bold, console, grid, plain_release, print_json, stoppable, tracking
from discreet.core.exact import share_of
from discreet.core.text import number
from discreet.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from discreet.core.release import Release
    from discreet.verbs.tabulate.tables.crosstable import CrossTable

_SHOWN_ROWS, _SHOWN_COLUMNS = 40, 12
"""Size of the largest table that is printed on a terminal."""
_SHOWN_CELLS = 40
"""Number of cells that the audit lists on a terminal."""


class _Group(DefaultCommand):
    default = "table"


app = typer.Typer(cls=_Group, help="Publish a table of counts or sums with sensitive cells protected.")


@app.command("table", cls=ListingCommand)
def tabulate(
    source: Annotated[
        str | None, Argument(help="The rows, as for `discreet publish`; or a workspace.", metavar="[DATA]")
    ] = None,
    card: CardFile = None,
    table: Annotated[
        list[str] | None,
        Option(
            "--table",
            "-t",
            help="Without DATA: an aggregate table to protect (CSV or Parquet); repeat for linked tables. "
            "With DATA: which table of the card.",
        ),
    ] = None,
    *,
    by: Annotated[
        list[str] | None, Option(help='Dimensions: "region × activity" (or *); repeat for linked tables.')
    ] = None,
    value: Annotated[str | None, Option(help="Column to sum; without it rows are counted.")] = None,
    rule: Annotated[
        list[str] | None,
        Option("--rule", "-r", help='Sensitivity rule: "p=10", "n=1,k=0.7", "p=10,q=50", "min=3".'),
    ] = None,
    method: Annotated[
        str,
        Option(
            help='Protection method: suppress, "round base=5", adjust, cell-key, "factors least=10%", '
            '"swap areas=region risk=size"; in a workspace, "noise epsilon=1".'
        ),
    ] = "suppress",
    output: Output = None,
    weight: Annotated[str | None, Option(help="The column of sampling weights.")] = None,
    decimals: Annotated[int | None, Option(min=0, help="Decimal places of the sums.")] = None,
    totals: Annotated[
        list[str] | None, Option(help="For --table: file that maps each code to its parent, activity=FILE.")
    ] = None,
    total: Annotated[str, Option(help="For --table: the code of the total.")] = "Total",
    share: Annotated[
        str, Option(help="Protection level where the rule has none, as a share of the cell value.")
    ] = "10%",
    absolute: Annotated[
        bool, Option("--absolute", help="Apply rules to absolute values where contributions are negative.")
    ] = False,
    secret: Annotated[
        Path | None, Option(help="Secret key file for cell keys and factors; created if missing.")
    ] = None,
    holder: Holder = None,
    despite: Despite = None,
    xlsx: Annotated[Path | None, Option(help="Also write the table to this workbook.")] = None,
    csv: Annotated[bool, Option("--csv", help="Also write the rows as CSV.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="With noise: show the price and spend nothing.")] = False,
    seed: Annotated[
        int | None, Option(min=0, help="Random seed. Makes the result repeatable by anyone: not for release.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Publish a table of counts or sums with sensitive cells protected.

    \b
    Examples:
      discreet tabulate firms.parquet --card firms.toml --by "region × activity" --value turnover --rule p=10 -o table
      discreet tabulate --table published.csv --rule "n=1,k=0.7" -o table
      discreet tabulate firms.parquet --card firms.toml --by "region × activity" --method "round base=5" -o table
      discreet tabulate audit table

    Sensitive cells are suppressed, and as few others as possible with them, so that no one can compute them. Before
    anything is written, a suppression audit checks what an intruder can compute for every hidden cell; if that is too
    close, nothing is released. The holder's copy beside the folder, for you alone, says which cells are sensitive, why,
    and what an intruder can compute.
    """
    if method.strip().lower().startswith("noise"):
        refuse_options(
            "noise",
            value=value,
            rule=rule,
            weight=weight,
            xlsx=xlsx,
            seed=seed,
            holder=holder,
            secret=secret,
            csv=csv,
            despite=despite,
        )
        _noisy(source, table or [], by or [], method, output=output, dry_run=dry_run, as_json=as_json)
        return
    if source is None and not table:
        raise BadInput("Which table? Give DATA and --card CARD, or --table FILE.", hint="See discreet tabulate --help.")
    refuse_options(method, dry_run=dry_run)
    output = require_output(output)
    from discreet.core.holder_copy import holder_file
    from discreet.verbs.tabulate.tabulate import tabulate as make

    place = holder or holder_file(output)
    _require_places(output, [place, *([xlsx] if xlsx else [])], secret)
    given: dict[str, Any] = {"rules": "; ".join(rule or ()), "method": method, "seed": seed}
    if secret is not None:
        from discreet.verbs.tabulate.perturb.record_keys import secret_in

        given["secret"] = secret_in(secret)
    given |= {"share": share_of(share, "--share"), "negative": "absolute" if absolute else "refuse"}
    if source is not None:
        refuse_options("rows", totals=totals, total=total if total != "Total" else None)
        data: Any = _rows(source, card, table).despite(despite)
        given |= {"by": by or (), "value": value, "weight": weight, "decimals": decimals}
    else:
        refuse_options("a table of figures", weight=weight, decimals=decimals, despite=despite)
        data = [
            _figures(Path(one), card, by or [], value=value, totals=totals or [], total=total) for one in table or ()
        ]
    with stoppable(lambda: f"Nothing was written to {output}."), tracking("Tabulating") as at:
        release = make(data, **given, to=output, csv=csv, holder=place, progress=at)
    if xlsx is not None:
        from discreet.verbs.tabulate.printing.xlsx import save_xlsx

        save_xlsx(release, xlsx)
    if as_json:
        print_json(_plain(release, output))
    else:
        _print(release, output, place)


def _rows(source: str, card: str | None, names: list[str] | None) -> Any:
    from discreet.engines.read import read

    if card is None:
        raise BadInput("A table of rows needs its card: add --card CARD.", hint="Draft one: discreet card draft …")
    if names and len(names) > 1:
        raise BadInput("With DATA, --table names one table of the card.")
    return read(source, card, table=names[0] if names else None)


def _require_places(output: Path, places: list[Path], secret: Path | None) -> None:
    """Check that all output files can be written and no confidential one lies in the release."""
    folder = output.resolve()
    if not folder.parent.is_dir():
        raise BadInput(f"There is no folder {folder.parent} to put {folder.name} in.")
    if len({place.resolve() for place in places}) < len(places):
        raise BadInput("Two files would have the same name.", hint="Name them differently.")
    for place in (*places, *([secret] if secret else [])):
        if folder in (place.resolve(), *place.resolve().parents):
            raise BadInput(
                f"{place} is confidential, but inside the release folder {output}.",
                hint="Choose a path outside that folder.",
            )
        if not place.resolve().parent.is_dir():
            raise BadInput(f"There is no folder {place.resolve().parent} to write {place.name} to.")
        if place.exists() and place is not secret:
            raise BadInput(f"There is a file {place} already.", hint="Move it away, or write to another folder.")


def _figures(
    file: Path, card: str | None, by: list[str], *, value: str | None, totals: list[str], total: str
) -> CrossTable:
    from discreet.core.cardfile import load_card
    from discreet.verbs.tabulate.tables.read_table import read_table
    from discreet.verbs.tabulate.tabulate import sides_of

    parents = {}
    for text in totals:
        side, equals, place = text.partition("=")
        if not equals:
            raise BadInput(f"--totals {text} names no file.", hint="Write --totals activity=parents.csv")
        parents[side.strip()] = Path(place.strip())
    sides = sides_of(by) if by else (None,)
    if len(sides) > 1:
        raise BadInput(
            "With --table, --by names the dimensions and is given once.", hint="Give each linked table its own --table."
        )
    declared = load_card(card) if card is not None else None
    return read_table(file, sides[0], value, total=total, parents=parents, card=declared)


def _noisy(
    source: str | None,
    names: list[str],
    by: list[str],
    method: str,
    *,
    output: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Counts with noise, through the pipeline of a workspace."""
    from discreet.cli.ask import answer_method
    from discreet.curator.curator import ANALYST, Curator
    from discreet.verbs.tabulate.private.macro_table import MacroTable
    from discreet.verbs.tabulate.tabulate import sides_of

    said = dict(re.findall(r"(\w+)\s*=\s*(\S+)", method))
    if source is None or not Path(source).is_dir() or len(names) != 1:
        raise BadInput(
            "Noise is charged to the budget of a workspace: give its folder, and --table NAME.",
            hint='Such as: discreet tabulate clinic --table visits --by "sex × ward" --method "noise epsilon=1"',
        )
    if set(said) not in ({"epsilon"}, {"rho"}):
        raise BadInput("No privacy loss given.", hint='Write --method "noise epsilon=1" or "noise rho=0.1".')
    epsilon, rho = said.get("epsilon"), said.get("rho")
    with Curator(source) as curator:
        made = MacroTable(sides_of(by), epsilon, rho)
        answer_method(curator, made, names[0], analyst=ANALYST, dry_run=dry_run, as_json=as_json)
        if output is not None and not dry_run:
            curator.release(made, names[0]).save(output)  # answered before, so it is free


def _plain(release: Release[Any], folder: Path) -> dict[str, Any]:
    from discreet.core.release import with_rows

    plain = plain_release(release, folder)
    del plain["recipe"]["parameters"]
    return plain | {"rows": with_rows(release).payload.to_pylist()}


def _print(release: Release[Any], folder: Path, place: Path) -> None:
    from discreet.verbs.tabulate.printing.html import shown
    from discreet.verbs.tabulate.printing.printed import PublishedTable

    out = console()
    out.print(bold(release.title), f"in {folder}")
    printed, holder = PublishedTable.read(release), release.holder.details  # type: ignore[union-attr]  # just made
    sensitive, added = int(holder.protection.sensitive.sum()), int(holder.added.sum())
    if sensitive:
        besides = f"; {number(added, 'other')} suppressed with them" if added else ""
        out.print(f"{number(sensitive, 'sensitive cell')} among {len(holder.cells):,}{besides}.")
    elif release.recipe.parameters.get("rules"):
        out.print(f"None of the {len(holder.cells):,} cells is sensitive: the table is published unchanged.")
    for table, hidden in zip(printed.tables, printed.hidden, strict=True):
        across = table.dimensions[-1]
        if table.size > _SHOWN_ROWS * len(across) or len(across) > _SHOWN_COLUMNS:
            out.print(f"The table has {table.size:,} cells: see {folder / 'report.html'}.")
            continue
        texts = [shown(table, hidden, cell) for cell in range(table.size)]
        start = 0
        while start < len(across):
            listing, start = _block(out, table, texts, start)
            out.print(listing)
    for name, value in holder.facts:
        out.print(f"{name}: {value}.", soft_wrap=True)
    out.print(*release.statement.lines, sep="\n")
    out.print(f"Sensitive cells and reasons (confidential): {place}; open it with discreet show.")


def _block(out: Console, table: CrossTable, texts: Sequence[str], start: int) -> tuple[Table, int]:
    """The columns from ``start`` that fit the terminal's width, at least one, and where the next block starts."""
    *down, across = table.dimensions
    labels = [table.codes(cell)[:-1] for cell in range(0, table.size, len(across))]
    end, unbounded = len(across), out.options.update(width=10_000)  # what is measured is cut to the options' width
    while True:
        listing = grid(*(side.name for side in down), *(f"#{code}" for code in across.codes[start:end]))
        for row, names in enumerate(labels):
            listing.add_row(*names, *texts[row * len(across) + start : row * len(across) + end])
        if end == start + 1 or out.measure(listing, options=unbounded).maximum <= out.width:
            return listing, end
        end -= 1


@app.command("audit")
def audit(
    folder: Annotated[Path, Argument(help="A release of `discreet tabulate`.", metavar="FOLDER")],
    holder: Annotated[Path | None, Option(help="Its holder's copy; default: the one next to the folder.")] = None,
    as_json: Json = False,
) -> None:
    """Suppression audit: what an intruder can compute for every hidden cell.

    The exit status is 1 if a cell can be computed too closely.

    \b
    Examples:
      discreet tabulate audit table
    """
    from discreet.core.holder_copy import belongs, holder_file, read_holder_copy
    from discreet.core.release import Release
    from discreet.verbs.tabulate.intruder.release_audit import audit as compute

    release = Release.load(folder)
    if release.recipe.method != "suppress":
        raise BadInput(
            f"{folder} has no suppressed cells: its figures were changed ({release.recipe.method}).",
            hint="Its statement says what protects them: discreet show FOLDER",
        )
    beside = holder_file(folder)
    place = holder or (beside if beside.is_file() else None)
    copy = None if place is None else read_holder_copy(place)
    if copy is not None and not belongs(copy, folder):
        raise BadInput(f"{place} is not the holder's copy of {folder}.", hint="Give the file that was written with it.")
    with tracking("Auditing") as at:
        found = compute(release, None if copy is None else copy.rows, progress=at)
    closely = len(found.recovered if found.short is None else found.short) > 0
    if as_json:
        print_json({"cells": len(found.cells), "hidden": found.rows().to_pylist(), "holds": not closely})
    else:
        out = console()
        out.print(str(found))
        if found.short is None:
            out.print(f"No holder's copy at {beside}: the required protection intervals were not checked.")
        listing = grid("cell", "#at least", "#at most", *([] if found.short is None else ["too close"]))
        rows = found.rows().to_pylist()
        for row in rows[:_SHOWN_CELLS]:
            ends = (f"{row[end]:,.6g}" for end in ("low", "high"))
            listing.add_row(row["cell"], *ends, *([] if found.short is None else ["yes" if row["short"] else "no"]))
        if rows:
            out.print(listing)
        if len(rows) > _SHOWN_CELLS:
            out.print(f"and {len(rows) - _SHOWN_CELLS:,} more; --json has all.")
    if closely:
        raise typer.Exit(1)
