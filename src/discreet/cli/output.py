"""What commands print: tables and pictures for people, JSON for machines, a spinner while something takes long."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
CardFile = Annotated[str, typer.Option("--card", "-c", help="The data card (TOML).", metavar="CARD")]
CardTable = Annotated[
    str | None,
    typer.Option("--table", "-t", help="Which table of the card, if it has several.", metavar="NAME"),
]
Source = Annotated[
    str,
    typer.Argument(
        help="A CSV, Parquet or JSON file, a folder of Parquet files, or a database table: "
        "postgresql://user@host/db#schema.table, sc://host:port#table, spark://host:port#table.",
        metavar="DATA",
    ),
]


def console(*, stderr: bool = False) -> Console:
    """Where people read."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def print_json(data: Any) -> None:
    """``data`` for machines, on standard output."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2, default=str))


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on standard error while the block runs; nothing at all if nobody watches."""
    with console(stderr=True).status(what):
        yield


def grid(*headers: str, title: str | None = None) -> Table:
    """A plain table: left-aligned names, right-aligned figures (headers that begin with ``#``)."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for header in headers:
        table.add_column(header.lstrip("#"), justify="right" if header.startswith("#") else "left")
    return table


def percent(part: float, whole: float) -> str:
    """A share as people write it."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


@contextmanager
def tracking(what: str) -> Iterator[Callable[[str, float], None]]:
    """A progress bar on standard error; the block says what it is at, and the share of it that is done."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1)
        yield lambda at, share: progress.update(task, description=f"{what}: {at}", completed=share)
