"""`discreet stream`: running counts and sums of rows as they arrive, at one price for the whole horizon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from discreet.cli.options import Folder, Json, TableName, names_in
from discreet.cli.output import console, figures, grid, print_json, working

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.curator.streams import RunningStream

Called = Annotated[str, Argument(help="The stream's name.", metavar="NAME")]
Step = Annotated[int | None, Option(min=1, help="Number of the step.")]
app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Streams: running counts and sums of rows as they arrive, at one price for all steps.

    \b
    Example:
      discreet stream start clinic visits admissions --steps 365 --by ward --rho 0.1
    """,
)


@app.command("start")
def start(
    folder: Folder,
    table: TableName,
    called: Called,
    *,
    steps: Annotated[int, Option(min=1, help="Number of steps; all of them are paid for now.")],
    epsilon: Annotated[str | None, Option("--epsilon", "-e", help="Privacy loss ε to spend (Laplace noise).")] = None,
    rho: Annotated[str | None, Option(help="Instead of --epsilon: ρ to spend (zCDP, least noise).")] = None,
    by: Annotated[str, Option(help="Columns to group by, such as ward,sex.")] = "",
    bins: Annotated[int, Option(help="With --by: maximum number of bins of a number or date.")] = 16,
    sums: Annotated[str, Option("--sum", help="Columns to add up, such as cost.")] = "",
    no_count: Annotated[bool, Option("--no-count", help="With --sum: do not count rows.")] = False,
    time: Annotated[str | None, Option(help="Column with the time of a row, which must lie in the step's period.")] = (
        None
    ),
    begin: Annotated[str | None, Option(help="With --time: when the first period begins, such as 2026-01-01.")] = None,
    every: Annotated[str, Option(help='With --time: length of a period, such as "1 day" or "6 hours".')] = "1 day",
    late: Annotated[int, Option(min=0, help="With --time: periods by which a row may be late and still count.")] = 0,
    analyst: Annotated[str, Option(help="Who pays.")] = "analyst",
    dry_run: Annotated[bool, Option("--dry-run", help="Show the price and spend nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Start a stream: charged now, for all its steps.

    \b
    Example:
      discreet stream start clinic visits admissions --steps 365 --by ward --rho 0.1

    Rows come later, step by step (discreet stream advance). In the whole stream, at most as many rows of each person
    count as the card allows. Starting the same stream again changes nothing.
    """
    from discreet.curator.curator import Curator
    from discreet.verbs.ask.stream import Stream

    stream = Stream(
        called,
        steps,
        by=names_in(by),
        sums=names_in(sums),
        count=not no_count,
        bins=bins,
        time=time,
        begin=begin,
        every=every,
        late=late,
        epsilon=epsilon,
        rho=rho,
    )
    with working("Opening"):
        opened = Curator(folder)
    with opened as curator:
        quote = curator.quote(stream, table, analyst=analyst)
        if not dry_run:
            curator.stream(stream, table, analyst=analyst)
        if as_json:
            print_json({"stream": called, "loss": quote.loss.to_dict(), "errors": dict(quote.errors)})
            return
        out = console()
        out.print(str(quote) if dry_run else f"The stream {called} of {table} is ready. It cost {quote.loss}.")
        if not dry_run:
            out.print(f"Left: {curator.left(table, analyst)}.")


@app.command("advance")
def advance(
    folder: Folder,
    table: TableName,
    called: Called,
    rows: Annotated[
        str | None, Argument(help="The rows that have arrived, with the card's columns; leave it out if none have.")
    ] = None,
    *,
    step: Step = None,
    as_json: Json = False,
) -> None:
    """Take the next step with the rows that have arrived, and show its figures.

    \b
    Example:
      discreet stream advance clinic visits admissions monday.csv --step 1

    With --step, each step is taken once: repeating the command shows its figures and counts no row twice. So repeat it
    if you do not know whether it worked.
    """
    with _opened(folder, table, called) as running:
        with working("Counting"):
            release = running.advance(rows, step=step)
        _show(running, release.payload, release.recipe.parameters["step"], as_json)


@app.command("show")
def show(
    folder: Folder,
    table: TableName,
    called: Called,
    *,
    step: Step = None,
    window: Annotated[
        int | None, Option(min=1, help="Number of last steps that the figures cover; default: all.")
    ] = None,
    history: Annotated[bool, Option("--history", help="Show the figures after every step so far.")] = False,
    as_json: Json = False,
) -> None:
    """Show the figures of a stream, which costs nothing.

    \b
    Example:
      discreet stream show clinic visits admissions --window 7
    """
    with _opened(folder, table, called) as running:
        if history:
            _show(running, running.history(window=window), running.step, as_json)
            return
        release = running.release(step, window=window)
        _show(running, release.payload, release.recipe.parameters["step"], as_json)


@app.command("list")
def list_(folder: Folder, as_json: Json = False) -> None:
    """List the streams of a workspace.

    \b
    Example:
      discreet stream list clinic
    """
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        found = [(one.table, one.called, one.step, one.declared.horizon) for one in curator.streams()]
    if as_json:
        print_json([dict(zip(("table", "stream", "step", "steps"), one, strict=True)) for one in found])
        return
    console().print(grid("Table", "Stream", "Step", "Steps", rows=[[str(part) for part in one] for one in found]))


@contextmanager
def _opened(folder: Path, table: str, called: str) -> Iterator[RunningStream]:
    """A stream of a workspace."""
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        yield curator.find_stream(table, called)


def _show(running: RunningStream, table: pa.Table, step: int, as_json: bool) -> None:
    if as_json:
        said: dict[str, Any] = {"stream": running.called, "step": step, "rows": table.to_pylist()}
        print_json(said)
        return
    out = console()
    out.print(f"{running.called}, step {step:,} of {running.declared.horizon:,}")
    out.print(figures(table))
