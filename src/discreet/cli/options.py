"""Arguments and options that several commands take, and the checks of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option
from typer.core import TyperGroup

from discreet.core.optional import extra
from discreet.core.text import meant
from discreet.errors import BadInput

Json = Annotated[bool, Option("--json", help="Print JSON, for machines.")]
CardTable = Annotated[
    str | None, Option("--table", "-t", help="Which table of the card, if it has several.", metavar="NAME")
]
CardFile = Annotated[str | None, Option("--card", "-c", help="The data card (TOML).", metavar="CARD")]
_DATA = (
    "A file (CSV, fixed width, Excel, Parquet, Arrow, JSON, SPSS, Stata, SAS), a folder of CSV or Parquet files, or a "
    "database table: postgresql://user@host/db#schema.table, sc://host:port#table, spark://host:port#table."
)
Source = Annotated[str, Argument(help=_DATA, metavar="DATA")]
Sources = Annotated[list[str], Argument(help=f"{_DATA} Several are drafted together.", metavar="DATA…")]
Sheet = Annotated[
    str | None, Option(help="The sheet of a workbook to draft from; default: the one with the most rows.")
]
Holder = Annotated[
    Path | None,
    Option("--holder", help="Where to write the holder's copy, which must never leave; by default beside the folder."),
]
Output = Annotated[Path | None, Option("--output", "-o", help="Write the release to this new folder.")]
RegisterIn = Annotated[
    Path | None, Option("--workspace", help="Also look up, and write down, in this workspace what was released.")
]
Despite = Annotated[
    str | None,
    Option(
        "--despite",
        help="Release it although it exposes somebody together with earlier releases; the statement quotes the reason.",
        metavar="REASON",
    ),
]
Host = Annotated[str, Option("--host", help="The address to listen at.")]
Port = Annotated[int, Option("--port", help="The port to listen at; 0 for any that is free.")]
Cert = Annotated[Path | None, Option("--cert", help="The certificate for TLS (PEM), with those that signed it.")]
Key = Annotated[Path | None, Option("--key", help="Its key (PEM).")]
Name = Annotated[list[str] | None, Option("--name", help="A name by which people call this computer.", metavar="NAME")]
Insecure = Annotated[
    bool, Option("--insecure", help="Listen beyond this computer without TLS: something else encrypts.")
]


class DefaultCommand(TyperGroup):
    """A command with sub-commands beside what it does by itself: words that name none of them go to ``default``."""

    default = "default"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command first, unless a sub-command is named."""
        if not args or args[0] not in self.commands:
            others = (name for name in self.commands if name != self.default)
            if args and args[0].isalpha() and not Path(args[0]).exists() and (near := meant(args[0], others)):
                raise BadInput(f"There is neither a command nor a file {args[0]!r}{near}.")
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def require_output(output: Path | None, hint: str = "") -> Path:
    """The folder of the release; an error if none is named."""
    if output is None:
        raise BadInput("Say where to write the release: add --output FOLDER.", hint=hint)
    return output


def require_card(card: str | None) -> str:
    """The card of a table that is published; an error if none is named."""
    if card is None:
        raise BadInput("A table is published by its card: add --card CARD.", hint="Draft one: discreet card draft …")
    return card


def refuse_options(what: str, **values: object) -> None:
    """An error for options that mean nothing here."""
    for option, value in values.items():
        if value not in (None, False):
            raise BadInput(f"--{option.replace('_', '-')} means nothing to {what}.", hint="Leave it out.")


def require_new(path: Path | None) -> None:
    """An error if there is such a file already."""
    if path is not None and path.exists():
        raise BadInput(f"There is a file {path} already.", hint="Name another, or move it away.")


def require_parts(*parts: str) -> None:
    """An error if what it takes to serve is not installed."""
    with extra("serve"):
        for part in parts:
            if find_spec(part) is None:
                raise ModuleNotFoundError(name=part)
