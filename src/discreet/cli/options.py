"""Arguments and options that several commands take, and the checks of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option
from typer.core import TyperGroup

from discreet.core.optional import extra
from discreet.core.text import meant
from discreet.errors import BadInput

Folder = Annotated[Path, Argument(help="The workspace's folder.", metavar="WORKSPACE")]
TableName = Annotated[str, Argument(help="The table.", metavar="TABLE")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
CardTable = Annotated[
    str | None, Option("--table", "-t", help="Which table of the card, if it has several.", metavar="NAME")
]
CardFile = Annotated[str | None, Option("--card", "-c", help="The data card (TOML).", metavar="CARD")]
_DATA = (
    "A file (CSV, fixed width, Excel, Parquet, Arrow, JSON, SPSS, Stata, SAS), a folder of CSV or Parquet "
    "files, or a "
    "database table: postgresql://user@host/db#schema.table, sc://host:port#table, spark://host:port#table."
)
Source = Annotated[str, Argument(help=_DATA, metavar="DATA")]
Sources = Annotated[list[str], Argument(help=f"{_DATA} Several are drafted together.", metavar="DATA…")]
Sheet = Annotated[
    str | None, Option(help="The sheet of a workbook to draft from; default: the one with the most rows.")
]
Holder = Annotated[
    Path | None,
    Option("--holder", help="File for the confidential holder's copy; default: next to the release folder."),
]
Output = Annotated[Path | None, Option("--output", "-o", help="Write the release to this new folder.")]
RegisterIn = Annotated[Path | None, Option("--workspace", help="Workspace whose register is checked and extended.")]
Despite = Annotated[
    str | None,
    Option(
        "--despite",
        help="Release even if it exposes people together with earlier releases; the statement quotes this reason.",
        metavar="REASON",
    ),
]
Host = Annotated[str, Option("--host", help="Address to listen on.")]
Port = Annotated[int, Option("--port", help="Port to listen on; 0 for any free one.")]
Cert = Annotated[Path | None, Option("--cert", help="TLS certificate chain (PEM).")]
Key = Annotated[Path | None, Option("--key", help="TLS key (PEM).")]
Name = Annotated[
    list[str] | None, Option("--name", help="Host name that people use for this computer.", metavar="NAME")
]
Insecure = Annotated[
    bool, Option("--insecure", help="Listen on the network without TLS, where something else encrypts.")
]


class DefaultCommand(TyperGroup):
    """A command with sub-commands beside what it does by itself: words that name none of them go to ``default``."""

    default = "default"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command first, unless a sub-command is named."""
        if not args or args[0] not in self.commands:
            others = (name for name in self.commands if name != self.default)
            if args and args[0].isalpha() and not Path(args[0]).exists() and (near := meant(args[0], others)):
                raise BadInput(f"There is no command or file {args[0]!r}{near}.")
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def require_output(output: Path | None, hint: str = "") -> Path:
    """The folder of the release; an error if none is named."""
    if output is None:
        raise BadInput("No output folder given: add --output FOLDER.", hint=hint)
    return output


def require_card(card: str | None) -> str:
    """The card of a table that is published; an error if none is named."""
    if card is None:
        raise BadInput("Publishing needs the table's card: add --card CARD.", hint="Draft one: discreet card draft …")
    return card


def refuse_options(what: str, **values: object) -> None:
    """An error for options that do not apply here."""
    for option, value in values.items():
        if value not in (None, False):
            raise BadInput(f"--{option.replace('_', '-')} does not apply to {what}.", hint="Leave it out.")


def named_or_only(table: str | None, tables: Sequence[str]) -> str:
    """The table that was named, or the only one of the workspace; an error if none was named of several."""
    name = table or (tables[0] if len(tables) == 1 else None)
    if name is None:
        raise BadInput("No table given: add --table.", hint=f"There are {', '.join(tables)}.")
    return name


def names_in(text: str) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def require_new(path: Path | None) -> None:
    """An error if there is such a file already."""
    if path is not None and path.exists():
        raise BadInput(f"There is a file {path} already.", hint="Name another, or move it away.")


def require_parts(*parts: str) -> None:
    """An error if the packages that the service needs are not installed."""
    with extra("serve"):
        for part in parts:
            if find_spec(part) is None:
                raise ModuleNotFoundError(name=part)
