"""`discreet methods`: what the catalogue has, and the list of methods in the help of commands that take them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Argument
from typer.core import TyperCommand, TyperGroup

from discreet.cli.options import Json
from discreet.cli.output import print_json
from discreet.core.families import FAMILIES, find
from discreet.core.text import meant
from discreet.errors import NotFound


def methods(
    name: Annotated[
        str | None, Argument(help="A family, such as masking, or the name of a method.", metavar="NAME")
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain methods, models, rules and attacks: parameters, ranges, defaults and papers.

    \b
    Examples:
      discreet methods
      discreet methods masking
      discreet methods microaggregate

    Without a name all families are listed. Words in brackets may be left out.
    """
    family = next((one for one in FAMILIES if one.name == (name or "").replace("-", "_")), None)
    entries = family.entries() if family else find(name) if name else ()
    if name and not entries:
        known = [*(one.name for one in FAMILIES), *(each for one in FAMILIES for each in one.names())]
        raise NotFound(f"There is no method or family {name!r}{meant(name, known)}.", hint="List all: discreet methods")
    if as_json:
        print_json(
            {one.name: [each.to_dict() for each in one.entries() if not name or each in entries] for one in FAMILIES}
        )
        return
    for one in () if name else FAMILIES:
        typer.echo(f"{one.title} ({one.name.replace('_', '-')}): {', '.join(each.name for each in one.entries())}\n")
    typer.echo("\n\n".join("\n".join(entry.help()) for entry in entries), nl=bool(entries))


class ListingCommand(TyperCommand):
    """A command whose help lists the methods it takes."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """End with the methods."""
        super().format_epilog(ctx, formatter)
        _list(ctx, formatter)


class ListingGroup(TyperGroup):
    """A group of commands whose help lists the methods they take."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """End with the methods."""
        super().format_epilog(ctx, formatter)
        _list(ctx, formatter)


def _list(ctx: Any, formatter: Any) -> None:
    """Write the families that a command takes, or the group whose default it is."""
    named = {ctx.info_name, ctx.parent and ctx.parent.info_name}
    for family in FAMILIES:
        if named & {*family.commands}:
            with formatter.section(family.title):
                formatter.write_dl([(entry.name, entry.summary) for entry in family.entries()])
    formatter.write_text("")
    formatter.write_text("Parameters of one: discreet methods NAME")
