"""`discreet exposure`: all releases about the same people, and what they reveal together."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from discreet.cli.options import CardFile, Json, refuse_options, require_new
from discreet.cli.output import bold, console, grid, print_json, working
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from discreet.core.table import Table
    from discreet.releases.overview import Overview, Population, WhatIf


def exposure(
    folder: Annotated[Path | None, Argument(help="The workspace.", metavar="[WORKSPACE]")] = None,
    card: CardFile = None,
    *,
    table: Annotated[
        str | None,
        Option("--table", "-t", help="Draft: its rows, a file or a table of the workspace.", metavar="DATA"),
    ] = None,
    by: Annotated[list[str] | None, Option(help='Draft: dimensions of a table, "town × ill".')] = None,
    where: Annotated[str | None, Option(help='Draft: filter of rows, "age < 79".')] = None,
    value: Annotated[str | None, Option(help="Draft: column to sum; without it rows are counted.")] = None,
    rule: Annotated[list[str] | None, Option("--rule", "-r", help="Draft: sensitivity rule, as for tabulate.")] = None,
    model: Annotated[
        list[str] | None, Option("--model", "-m", help='Draft without --by: privacy model of the rows, "k=5".')
    ] = None,
    method: Annotated[
        str | None, Option(help='Draft: method, as for tabulate or publish, or "synthesize cart".')
    ] = None,
    recipient: Annotated[
        str | None, Option(help="Only what this person holds: answers, and releases shared with them.", metavar="NAME")
    ] = None,
    holds: Annotated[
        Path | None,
        Option(
            help="Declare that the recipient holds this table with values of the people of --table.", metavar="FILE"
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write a self-contained HTML report.", metavar="FILE.html")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show all releases about the same people and what they reveal together; or test a draft.

    \b
    Examples:
      discreet exposure clinic
      discreet exposure clinic --recipient ann -o ann.html
      discreet exposure clinic --recipient ann --table patients --holds ann.csv
      discreet exposure --card patients.toml
      discreet exposure --card patients.toml --table patients.parquet --by "town × ill" --where "age < 79" --rule min=3
      discreet exposure --card patients.toml --table patients.parquet --model k=5

    A draft is checked together with all earlier releases, as it would be before it left; nothing is released or
    registered. The exit status is 1 if it would be refused. Group sizes and counts are confidential.
    """
    if (folder is None) == (card is None):
        raise BadInput("Name a workspace, or a card: add --card CARD.", hint="See discreet exposure --help.")
    if holds is not None:
        refuse_options("a table that a recipient holds", by=by, model=model, method=method, where=where, output=output)
        if table is None or recipient is None:
            raise BadInput("Name the holder and the people's table: add --recipient NAME and --table DATA.")
        _declare(_rows(folder, card, table), recipient, holds, as_json)
        return
    if by or table:
        refuse_options("a draft", recipient=recipient, output=output)
        if table is None or not (by or model or method):
            raise BadInput(
                "A draft needs rows and dimensions, or models: add --table DATA and --by DIMENSIONS or --model MODEL."
            )
        rows = _rows(folder, card, table)
        rows = rows if where is None else rows.where(where)
        if by:
            refuse_options("a draft of a table", model=model)
            _try(rows, as_json, by=by, value=value, rules="; ".join(rule or ()), method=method or "suppress")
        else:
            refuse_options("a draft of rows", value=value, rule=rule)
            _try(rows, as_json, method=method or "generalize", require=model or ())
        return
    refuse_options("an overview", where=where, value=value, rule=rule, model=model, method=method)
    require_new(output)
    with working("Computing"):
        found = _overview(folder, card, recipient)
    if output is not None:
        from discreet.core.report import write_page
        from discreet.releases.overview_report import report

        title = f"Exposure: {recipient or (folder or Path(str(card))).stem}"
        write_page(output, title, report(found, title))
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
        if output is not None:
            console().print(f"The report: {output}")


def _overview(folder: Path | None, card: str | None, recipient: str | None) -> Overview:
    from discreet.releases.overview import Overview, populations_in

    if folder is None:
        from discreet.core.cardfile import load_cards, load_policy
        from discreet.engines.read import registers_of

        refuse_options("a card", recipient=recipient)
        file = Path(str(card))
        places = dict.fromkeys(place for one in load_cards(file).values() for place in registers_of(file, one))
        return Overview(tuple(one for place in places for one in populations_in(place, load_policy(file))))
    from discreet.curator.curator import Curator
    from discreet.curator.exposure import recipient_overview, workspace_overview

    with Curator(folder) as curator:
        if recipient is None:
            return workspace_overview(curator)
        from discreet.curator.people.state import State
        from discreet.curator.release_index import Shelf

        state = State.open(curator.workspace)
        try:
            return recipient_overview(curator, Shelf(state, curator.workspace), recipient)
        finally:
            state.close()


def _declare(table: Table, recipient: str, file: Path, as_json: bool) -> None:
    from discreet.releases.holdings import declare_holding

    found = declare_holding(table, file, recipient)
    if as_json:
        print_json(asdict(found))
    else:
        console().print(str(found))


def _try(rows: Table, as_json: bool, **draft: Any) -> None:
    from discreet.releases.overview import what_if
    from discreet.verbs.publish.publish import publish
    from discreet.verbs.synthesize.synthesize import synthesize
    from discreet.verbs.tabulate.tabulate import tabulate

    verb, _, how = draft["method"].partition(" ")
    make: Any = tabulate if "by" in draft else publish
    if "by" not in draft and verb == "synthesize":
        refuse_options("synthetic rows", model=draft.pop("require") or None)
        make, draft["method"] = synthesize, how
    with working("Checking"):
        found = what_if(lambda: make(rows, **draft))
    if as_json:
        print_json(found.to_dict())
    else:
        _print_draft(found)
    if not found.passes:
        raise typer.Exit(1)


def _rows(folder: Path | None, card: str | None, name: str) -> Table:
    if folder is None:
        from discreet.engines.read import read

        return read(name, str(card))
    from discreet.curator.audited import register_answers
    from discreet.curator.workspace import open_workspace

    workspace = open_workspace(folder)
    if name not in workspace.private:
        raise NotFound(f"There is no table {name} about people in {folder}; it has {', '.join(workspace.private)}.")
    register_answers(workspace)
    return workspace.original(name)


def _print_draft(found: WhatIf) -> None:
    out = console()
    out.print(bold("This would pass." if found.passes else "This would be refused."))
    out.print(f"{found.message} {found.hint}".strip())
    for one in found.unchecked:
        out.print(f"Not checked with {one.number}. {one.title} ({one.state}).")
    if found.attack:
        out.print(found.attack)
    out.print("Nothing was released or registered.")


def _print(found: Overview) -> None:
    out = console()
    if found.recipient:
        out.print(bold(f"What {found.recipient} has"))
    if not found.populations:
        out.print("Nothing has been released yet.")
    for population in found.populations:
        _print_population(population)
    if found.spent:
        listing = grid("table", "whose", "spent", "limit", title="Privacy loss")
        for one in found.spent:
            listing.add_row(one.table, one.analyst or "table budget", one.spent, one.limit)
        out.print(listing)


def _print_population(population: Population) -> None:
    from discreet.releases.overview_report import advice, departure_rows, group_rows, state_name, summary

    out = console()
    listing = grid("#no.", "when (UTC)", "title", "method", "check", title=f"Releases about {population.name}")
    for row in departure_rows(population.departures):
        listing.add_row(*row)
    out.print(listing)
    if said := advice(population):
        out.print(said)
    if population.total:
        out.print(f"The privacy losses of registered releases add up to {population.total}.")
    for standing in population.standings:
        out.print(bold(f"What they reveal together{state_name(standing)}"))
        for name, said in summary(population, standing):
            out.print(f"{name}: {said}")
        groups = grid("#people", "told by", "counts known of", title="Smallest groups")
        for group in group_rows(standing):
            groups.add_row(*group)
        out.print(groups)
