"""`discreet card`: draft a data card, check one, convert an ARX project, print the JSON schema for editors."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import CardTable, Json, Sheet, Sources, require_new
from discreet.cli.output import console, grid, print_json, working
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.table import Violation

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Data cards: what is publicly known about a table.

    \b
    Example:
      discreet card draft patients.csv -o patients.toml
    """,
)


@app.command("draft")
def draft(
    sources: Sources,
    *,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the card to this new file.")] = None,
    name: Annotated[str | None, Option(help="Name of the table; default: the file's name.")] = None,
    sheet: Sheet = None,
    bounds_from_data: Annotated[
        bool,
        Option(
            "--bounds-from-data",
            help="Fill in bounds and categories from the data. Not private; the card records this.",
        ),
    ] = False,
    picture: Annotated[Path | None, Option(help="Draw the tables and their keys to this new file (.svg).")] = None,
    as_json: Json = False,
) -> None:
    """Draft a card from a table, or from several linked tables.

    \b
    Examples:
      discreet card draft patients.csv
      discreet card draft patients.csv -o patients.toml
      discreet card draft patients.csv visits.csv -o clinic.toml --picture keys.svg

    Kinds, how values are written, counts and suggested roles come with their reasons, as comments. Bounds and
    categories are left for you to declare.
    """
    from discreet.core.cardfile import card_fields
    from discreet.core.draft import Draft
    from discreet.core.draft_tables import Drafts
    from discreet.engines.read import draft as make
    from discreet.engines.read import shown

    require_new(output)
    require_new(picture)
    several = len(sources) > 1
    if picture is not None and not several:
        raise BadInput("A picture shows how several tables are linked.", hint="Name more than one table.")
    with working(f"Looking at {', '.join(map(shown, sources))}"):
        drafted = make(sources if several else sources[0], name=name, bounds_from_data=bounds_from_data, sheet=sheet)
    if output is not None:
        output.write_text(drafted.to_toml(), encoding="utf-8")
    if isinstance(drafted, Drafts):
        if picture is not None:
            picture.write_text(drafted.picture().svg, encoding="utf-8")
        console(stderr=True).print(*drafted.links, sep="\n")
    if as_json and isinstance(drafted, Drafts):
        cards = card_fields([one.card for one in drafted.tables])
        reasons = {one.card.name: dict(one.reasons) for one in drafted.tables}
        print_json({**cards, "reasons": reasons, "links": [asdict(link) for link in drafted.links]})
    elif as_json and isinstance(drafted, Draft):
        print_json({**card_fields([drafted.card]), "rows": drafted.rows, "reasons": dict(drafted.reasons)})
    elif output is None:
        sys.stdout.buffer.write(drafted.to_toml().encode())  # TOML is UTF-8, whatever the terminal is


@app.command("check")
def check(
    card: Annotated[str, Argument(help="The data card (TOML).", metavar="CARD")],
    data: Annotated[
        str | None, Option("--data", "-d", help="Also check the values of this table.", metavar="DATA")
    ] = None,
    table: CardTable = None,
    as_json: Json = False,
) -> None:
    """Check a card, and that the data fits it.

    \b
    Example:
      discreet card check patients.toml --data patients.csv
    """
    from discreet.core.cardfile import load_card, load_cards

    cards = load_cards(card)
    if table is not None:
        load_card(card, table)
    unseen: tuple[str, ...] = ()
    misfits: tuple[Violation, ...] = ()
    if data is not None:
        from discreet.core.table import require_valid
        from discreet.engines.read import read, shown

        with working(f"Checking {shown(data)}"):
            opened = read(data, card, table=table)
            unseen, misfits = opened.unseen, opened.misfits
            require_valid(opened)
    if as_json:
        about = {
            name: {
                "columns": {column.name: column.role.value for column in c.columns},
                "unit": c.unit,
                "read_off_the_data": c.from_data,
                "open": c.open_questions(),
            }
            for name, c in cards.items()
        }
        missing = {one.column: {"values": one.count, "examples": one.examples} for one in misfits}
        checked = {"data_checked": data is not None, "not_on_the_card": unseen, "taken_for_missing": missing}
        print_json({"tables": about, **checked})
        return
    out = console()
    listing = grid("table", "#columns", "#quasi", "#sensitive", "unit", "taken from the data")
    for name, c in cards.items():
        roles = [column.role.value for column in c.columns]
        counts = str(len(roles)), str(roles.count("quasi")), str(roles.count("sensitive"))
        listing.add_row(name, *counts, c.unit or "one row per person", ", ".join(c.from_data) or "nothing")
    out.print(listing)
    out.print("The card is valid." + (" The data fits it." if data is not None else ""))
    if unseen:
        out.print(f"In the data but not on the card, so never used: {', '.join(unseen)}.")
    if misfits:
        out.print("Treated as missing, as the card declares:", *map(str, misfits), sep="\n  ", markup=False)
    for name, c in cards.items():
        if questions := c.open_questions():
            out.print(f"Undeclared in {name}; some methods will need it:", *questions, sep="\n  ")


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of cards, for editors.

    \b
    Example:
      discreet card schema > card.schema.json
    """
    from discreet.core.cardfile import card_schema

    print_json(card_schema())


@app.command("from-arx")
def from_arx(
    project: Annotated[Path, Argument(help="An ARX project.", metavar="PROJECT.deid")],
    output: Annotated[Path | None, Option("--output", "-o", help="Write the card to this new file.")] = None,
    as_json: Json = False,
) -> None:
    """Convert an ARX project to a card: attributes, their types and hierarchies.

    \b
    Example:
      discreet card from-arx clinic.deid -o clinic.toml

    The models and limits of the project are printed as the command that publishes with them. The data in the
    project is not read.
    """
    from discreet.core.cardfile import card_fields, dump_cards
    from discreet.verbs.publish.arx import from_arx as read

    require_new(output)
    found = read(project)
    if output is not None:
        output.write_text(dump_cards([found.card]), encoding="utf-8")
    if as_json:
        said = {"models": found.models, "suppress": found.suppress, "levels": dict(found.levels)}
        print_json({**card_fields([found.card]), **said, "left_out": found.left_out})
        return
    if output is None:
        sys.stdout.buffer.write(dump_cards([found.card]).encode())  # TOML is UTF-8, whatever the terminal is
    words = ["discreet", "publish", "DATA", "--card", str(output or "CARD")]
    words += [word for model in found.models for word in ("--model", model)]
    words += ["--suppress", found.suppress] if found.suppress else []
    words += [word for name, levels in found.levels.items() for word in ("--level", f"{name}={levels}")]
    out = console(stderr=True)
    out.print("To publish as the ARX project would:", shlex.join(words))
    if found.left_out:
        out.print("Not converted:", ", ".join(found.left_out))
