"""Output of commands: tables and pictures for people, JSON for programs, progress bars."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table
    from rich.text import Text

    from discreet.core.release import Release
    from discreet.service.check import Check


class Stopped(Exception):
    """Interruption by Ctrl-C; ``left`` says which partial results remain, if known."""

    def __init__(self, left: str = "") -> None:
        super().__init__(f"Stopped. {left}".strip())


@contextmanager
def stoppable(left: Callable[[], str]) -> Iterator[None]:
    """Report what is ``left`` if Ctrl-C interrupts the block."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(left()) from None


def console(*, stderr: bool = False) -> Console:
    """Terminal output for people, as plain text, never markup: names and values come from data."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False)


def bold(text: str) -> Text:
    """``text`` in bold."""
    from rich.text import Text

    return Text(text, style="bold")


def plain_release(release: Release[Any], folder: Path | None) -> dict[str, Any]:
    """Statement and recipe of a release, as plain data."""
    said = {"statement": release.statement.to_dict(), "recipe": release.recipe.to_dict()}
    return {"release": None if folder is None else str(folder), **said}


def print_release(release: Release[Any], folder: Path, holder: Path | None) -> None:
    """Print the title and statement of a release, and where the report and the holder's copy are."""
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(*release.lines, sep="\n")
    print_making(release, folder, holder)


def print_making(release: Release[Any], folder: Path, holder: Path | None = None) -> None:
    """Print how a release was made, and where the report and the holder's copy are."""
    out = console()
    out.print(*release.recipe.steps, sep="\n")
    for one in release.notices:
        if one.startswith(("Attacked jointly", "Not attacked jointly")):
            out.print(one)
    out.print(f"The report: {folder / 'report.html'}")
    if holder is not None and holder.exists():
        out.print(f"The holder's copy: {holder}. Confidential, never release it; open it with discreet show.")


def print_json(data: Any) -> None:
    """Print ``data`` as JSON on standard output."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2, default=str))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Indeterminate progress bar on standard error while the block runs; none without a terminal."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    with _progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()) as progress:
        progress.add_task(what, total=None)
        yield


def grid(*headers: str, title: str | None = None, rows: Iterable[Iterable[str]] = ()) -> Table:
    """A plain table: left-aligned names, right-aligned figures (headers that begin with ``#``)."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for header in headers:
        table.add_column(header.lstrip("#"), justify="right" if header.startswith("#") else "left")
    for row in rows:
        table.add_row(*row)
    return table


def print_checks(found: Iterable[Check]) -> None:
    """Print what was looked at and what was found; the exit status is 1 if something is wrong."""
    rows = [("ok" if one.well else "not ok", one.what, one.said) for one in found]
    console().print(grid("", "looked at", "found", rows=rows))
    if any(word != "ok" for word, _, _ in rows):
        raise typer.Exit(1)


def figures(table: pa.Table, *, marked: str = "") -> Table:
    """Table of an answer's columns, with ``x_error`` as the error bar of ``x``; ``marked`` is added to every name."""
    names = table.column_names
    bars = {name for name in names if name.endswith("_error") and name.removesuffix("_error") in names}
    shown = [name for name in names if name not in bars]
    heads = (f"#{name}{marked}" if f"{name}_error" in bars else f"{name}{marked}" for name in shown)
    rows = ([_figure(row[name], row.get(f"{name}_error")) for name in shown] for row in table.to_pylist())
    return grid(*heads, rows=rows)


def percent(part: float, whole: float) -> str:
    """A share in per cent."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


@contextmanager
def tracking(what: str) -> Iterator[Callable[[float, str], None]]:
    """Progress bar on standard error; the block reports the share done and the current step."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn

    with _progress(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()) as progress:
        task = progress.add_task(what, total=1)
        yield lambda share, at: progress.update(task, description=f"{what}: {at}", completed=share)


def _figure(value: Any, error: float | None) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "" if value is None else str(value)
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return shown if error is None else f"{shown} ± {error:,.4g}"


def _progress(*columns: ProgressColumn) -> Progress:
    from rich.progress import Progress

    watched = console(stderr=True)
    return Progress(*columns, console=watched, transient=True, disable=not watched.is_terminal)
