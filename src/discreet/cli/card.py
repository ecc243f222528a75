"""`discreet card`: draft a data card, check one, and the schema that lets an editor help."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.output import CardTable, Json, Source, console, grid, print_json, working

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Data cards: what is known about a table without looking at it."
)


@app.command("draft")
def draft(
    source: Source,
    name: Annotated[str | None, typer.Option(help="What to call the table; default: the file's name.")] = None,
    bounds_from_data: Annotated[
        bool,
        typer.Option(
            "--bounds-from-data",
            help="Fill in bounds and categories from the data. Not private: the card says so.",
        ),
    ] = False,
) -> None:
    """Look at a table and draft its card.

    \b
    Example:
      discreet card draft patients.csv > patients.toml

    Kinds, counts and suggested roles come with their reasons, as comments. Bounds and categories are left
    for you to declare.
    """
    from discreet.engines.read import draft as make

    with working(f"Looking at {source.rpartition('@')[2]}"):
        drafted = make(source, name=name, bounds_from_data=bounds_from_data)
    typer.echo(drafted.to_toml(), nl=False)


@app.command("check")
def check(
    card: Annotated[str, typer.Argument(help="The data card (TOML).", metavar="CARD")],
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Also check the values of this table.", metavar="DATA")
    ] = None,
    table: CardTable = None,
    as_json: Json = False,
) -> None:
    """Check a card, and that the data keeps to it.

    \b
    Example:
      discreet card check patients.toml --data patients.csv
    """
    from discreet.core.cardfile import load_cards

    cards = load_cards(card)
    if data is not None:
        from discreet.core.validate import require_valid
        from discreet.engines.read import read

        with working(f"Checking {data.rpartition('@')[2]}"):
            require_valid(read(data, card, table=table))
    if as_json:
        print_json({name: {"columns": len(c.columns), "private": c.private} for name, c in cards.items()})
        return
    out = grid("table", "#columns", "#quasi", "#sensitive", "unit", "read off the data")
    for name, c in cards.items():
        roles = [column.role.value for column in c.columns]
        read_off = ", ".join(column.name for column in c.columns if column.from_data)
        counts = str(len(roles)), str(roles.count("quasi")), str(roles.count("sensitive"))
        out.add_row(name, *counts, c.unit or "a row is a person", read_off or "nothing")
    console().print(out)
    console().print("The card is sound." + (" The data keeps to it." if data is not None else ""))


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of cards, for editors that complete and check TOML.

    \b
    Example:
      discreet card schema > card.schema.json
    """
    from discreet.core.cardschema import card_schema

    print_json(card_schema())
