"""`discreet workspace`: the curator's folder of tables, budgets and answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli import upkeep
from discreet.cli.options import Folder, Json, TableName, names_in
from discreet.cli.output import console, grid, print_json, working
from discreet.core.text import number
from discreet.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.budget.filter import Budget
    from discreet.curator.curator import Curator
    from discreet.verbs.synthesize.private import Synthesize

BudgetText = Annotated[
    str, Option("--budget", help='Privacy budget: "epsilon=3", "epsilon=3, delta=1e-6" or "rho=0.1".')
]
app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Workspaces: tables that analysts can query under a privacy budget.

    \b
    Example:
      discreet workspace init clinic --table visits=visits.parquet --card visits.toml --budget "epsilon=3, delta=1e-6"
    """,
)
app.add_typer(upkeep.app)


@app.command("init")
def init(
    folder: Annotated[Path, Argument(help="A new folder.", metavar="WORKSPACE")],
    *,
    table: Annotated[
        list[str], Option("--table", "-t", help="A table: NAME=DATA; may be repeated.", metavar="NAME=DATA")
    ],
    card: Annotated[
        list[str],
        Option("--card", "-c", help="Data card: one for all tables, or one per table.", metavar="CARD"),
    ],
    budget: BudgetText,
    public: Annotated[
        list[str] | None,
        Option(help="A public table (not about people) to join with; it needs no card.", metavar="NAME=DATA"),
    ] = None,
    analyst: Annotated[str, Option(help="First analyst; '' for none.")] = "analyst",
    ledger: Annotated[
        str | None, Option(help="Keep the ledger in this PostgreSQL database, for several curators.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a workspace: register tables for queries under a budget.

    \b
    Example:
      discreet workspace init clinic --table visits=visits.parquet --card visits.toml --budget "epsilon=3, delta=1e-6"

    Each table gets the budget. The rows are copied once, into a bounded table that answers all questions: it has at
    most as many rows of each person as the card allows, and values outside their bounds are clamped. Earlier releases
    that are registered beside a card count in the workspace.
    """
    from discreet.budget.filter import Budget
    from discreet.curator.curator import Curator

    pairs = _pairs(table)
    if len(card) not in (1, len(pairs)):
        raise BadInput(
            f"There are {len(pairs)} tables and {len(card)} cards.",
            hint="Give one card for all tables, or one per table.",
        )
    cards = card * len(pairs) if len(card) == 1 else card
    tables = {name: (source, one) for (name, source), one in zip(pairs, cards, strict=True)}
    about_nobody = _pairs(public or [])
    if len({*tables, *dict(about_nobody)}) < len(pairs) + len(about_nobody):
        raise BadInput("Two tables have the same name.")
    options = {"ledger": ledger, "analyst": analyst or None}
    with (
        working("Registering"),
        Curator.create(folder, tables, Budget.parse(budget), public=dict(about_nobody), **options) as curator,
    ):
        _show(curator, as_json)
        if not as_json:
            _tell_open(curator)
            _tell_adopted(curator)


@app.command("show")
def show(folder: Folder, as_json: Json = False) -> None:
    """Show the tables of a workspace and their analysts.

    \b
    Example:
      discreet workspace show clinic
    """
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        _show(curator, as_json)


@app.command("add-table")
def add_table(
    folder: Folder,
    table: Annotated[str, Argument(help="The table: NAME=DATA.", metavar="NAME=DATA")],
    card: Annotated[Path, Option("--card", "-c", help="The data card.", metavar="CARD")],
    budget: BudgetText,
    as_json: Json = False,
) -> None:
    """Register a further table, with a budget of its own.

    \b
    Example:
      discreet workspace add-table clinic tests=tests.csv --card tests.toml --budget "epsilon=2"

    No one may query it until you add an analyst (`add-analyst`).
    """
    from discreet.budget.filter import Budget
    from discreet.curator.curator import Curator

    [(name, source)] = _pairs([table])
    with working("Registering"), Curator(folder) as curator:
        curator.add_table(name, source, card, Budget.parse(budget))
        _show(curator, as_json)
        if not as_json:
            _tell_adopted(curator, name)


@app.command("revise")
def revise(
    folder: Folder,
    table: TableName,
    card: Annotated[Path, Option("--card", "-c", help="The revised data card.", metavar="CARD")],
    data: Annotated[
        str | None, Option("--data", "-d", help="New location of the rows, if they have moved.", metavar="DATA")
    ] = None,
    as_json: Json = False,
) -> None:
    """Register a table again under a revised card.

    \b
    Example:
      discreet workspace revise clinic visits --card visits.toml

    Budget, analysts and what was released stay; old answers stay as they were. The unit cannot change.
    """
    from discreet.curator.curator import Curator

    with working("Registering"), Curator(folder) as curator:
        changes = curator.revise_card(table, card, data)
        version = curator.workspace.tables[table].version
    if as_json:
        print_json({"table": table, "version": version, "changes": changes})
        return
    out = console()
    out.print(f"{table} has version {version} of its card:" if changes else f"{table} was read again.")
    for change in changes:
        out.print(f"  {change}", soft_wrap=True)


@app.command("add-analyst")
def add_analyst(
    folder: Folder,
    name: Annotated[str, Argument(help="Analyst.", metavar="NAME")],
    budget: BudgetText,
    table: Annotated[
        list[str] | None,
        Option("--table", "-t", help="Table they may query, may be repeated; default: every table.", metavar="NAME"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Add an analyst, with a budget of their own within the table's.

    \b
    Example:
      discreet workspace add-analyst clinic ann --table visits --budget "epsilon=1, delta=1e-7"
    """
    from discreet.budget.filter import Budget
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        curator.add_analyst(name, Budget.parse(budget), table or None)
        _show(curator, as_json)
        if not as_json:
            tell_if_above({one.name: one.budget for one in curator.ledger.accounts()}, name)


@app.command("stand-in")
def stand_in(
    folder: Folder,
    table: TableName,
    *,
    method: Annotated[
        str | None, Option(help="As for `discreet synthesize`: 'epsilon=1 delta=1e-9 by=mst on city, income'.")
    ] = None,
    remove: Annotated[
        bool, Option("--remove", help="Stop answering with the stand-in; its rows stay released.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Make and charge nothing: show the guarantee, the price and the noise.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a table's synthetic stand-in, which answers questions when a budget is spent.

    \b
    Examples:
      discreet workspace stand-in clinic visits --method "epsilon=1 delta=1e-9"
      discreet workspace stand-in clinic visits --method "epsilon=1 delta=1e-9 on city, income"
      discreet workspace stand-in clinic visits --method "epsilon=1 delta=1e-9 person=city bins=income:16"
      discreet workspace stand-in clinic visits --remove

    The stand-in is charged to the table's own budget, and to no analyst's. From then on a question that the budget does
    not cover is answered on it, free of charge and marked as synthetic. A newer stand-in replaces an older one. All
    parameters: discreet methods private-synthesis
    """
    from discreet.cli.synthesize import warn_of_distances
    from discreet.core.release import Rows
    from discreet.curator.curator import Curator
    from discreet.verbs.synthesize.private import parse_private

    if remove and method is not None:
        raise BadInput(
            "--remove takes no other options.",
            hint="To replace a stand-in, make a new one: it takes the place of the old.",
        )
    with Curator(folder) as curator:
        if remove:
            curator.set_synthetic(table, None)
            said = f"No synthetic stand-in answers for {table}: what a budget does not cover is refused."
            print_json({"table": table, "release": None}) if as_json else console().print(said)
            return
        if method is None:
            raise BadInput("No privacy loss given: add --method.", hint='Such as --method "epsilon=1 delta=1e-9".')
        curator.audited(table)  # which says so if there is no such table
        card = curator.workspace.card(table)
        synthesizer = parse_private(method, card)
        if dry_run:
            _print_forecast(curator, synthesizer, table, as_json)
            return
        with working("Making the stand-in"):
            given = curator.make_synthetic(synthesizer, table)
        found = curator.synthetic(table)
        left = curator.ledger.account(table).left
        rows = Rows(curator.workspace.releases / given.identity / "payload.parquet")
    assert found is not None  # noqa: S101  # just made
    if as_json:
        about = {"table": table, "release": given.identity, "rows": found.nearness.rows, "free": given.free}
        print_json({**about, "left": left.to_dict(), "statement": given.release.statement.to_dict()})
        return
    out = console()
    paid = "Made before, so it is free." if given.free else f"It cost {given.release.statement.loss}."
    out.print(f"The synthetic stand-in of {table} has {number(found.nearness.rows, 'row')}. {paid} Left: {left}.")
    out.print(*given.release.statement.lines, sep="\n")
    warn_of_distances(rows, card)


def _print_forecast(curator: Curator, method: Synthesize, table: str, as_json: bool) -> None:
    """Print the statement, cost and noise of a stand-in before it is made."""
    card = curator.workspace.card(table)
    promise, left, noise = method.promise(card), curator.ledger.account(table).left, method.noise(card)
    if as_json:
        print_json({"table": table, "statement": promise.to_dict(), "left": left.to_dict(), "noise": noise})
        return
    out = console()
    out.print(f"A synthetic stand-in of {table} would cost {promise.loss}. Left: {left}. Nothing was made or charged.")
    out.print(
        f"Each count of a column would get noise of about ±{number(round(noise), 'row')}, and those of pairs more."
    )
    out.print(*promise.lines, sep="\n")


@app.command("audit")
def audit(
    folder: Folder,
    table: TableName,
    *,
    columns: Annotated[
        str,
        Option(
            help="Audited column, with sum (SUM, AVG; the default), extremes (MAX, MIN) or "
            "bounded=WIDTH:look (SUM, AVG of numbers with known bounds; denials depend on the answers).",
            metavar="COLUMN[:HOW],…",
        ),
    ],
    by: Annotated[
        str, Option(help="Columns allowed in conditions and groups: publicly known ones.", metavar="COLUMN,…")
    ] = "",
    as_json: Json = False,
) -> None:
    """Answer questions about a table exactly, or deny them, instead of adding noise.

    \b
    Examples:
      discreet workspace audit office staff --columns salary --by city,age
      discreet workspace audit office staff --columns salary,bonus:extremes,ill:bounded=1:look --by city

    A question is denied if, together with all earlier answers, it could reveal someone's value. Auditing is set up
    once, before any budget is spent on the table, and cannot be undone. It is not differential privacy.
    """
    from discreet.curator.curator import Curator
    from discreet.releases.register import Register, notice

    pairs = [one.partition(":") for one in names_in(columns)]
    watched = {name.strip(): how.strip() or "sum" for name, _, how in pairs}
    if len(watched) < len(pairs):
        raise BadInput("A column has one kind of auditing.")
    with Curator(folder) as curator:
        policy = curator.audit(table, watched, by=names_in(by))
        with Register(curator.workspace.register) as register:
            others = [one for one in register.entries() if one.table == table]  # which auditing does not weigh
    if others:
        console(stderr=as_json).print(notice(others))
    if as_json:
        print_json({"table": table, **policy.to_dict()})
        return
    out = console()
    out.print(f"{table} now has query auditing: {policy}. Conditions may use {', '.join(policy.by) or 'nothing'}.")
    out.print(f"Ask it with discreet ask {folder} … --audited.")


def tell_if_above(budgets: Mapping[str, Budget], name: str) -> None:
    """Report where an analyst's budget exceeds the table's, which applies too."""
    from discreet.budget.entries import is_above

    for account, own in budgets.items():
        table, _, analyst = account.partition("/")
        if analyst == name and is_above(own, budgets[table]):
            typer.echo(f"All of {table} has a budget of {budgets[table]}, which {name} shares: less than {own}.")


def _tell_open(curator: Curator) -> None:
    """Report what cannot be asked because the card does not declare it."""
    from discreet.core.card import Role
    from discreet.core.kind import NUMBERS

    out = console()
    for name in curator.workspace.private:
        columns = [one for one in curator.workspace.card(name).columns if one.role is not Role.IDENTIFIER]
        unbounded = [one.name for one in columns if one.kind in NUMBERS and not (one.bounds or one.categories)]
        if unbounded:
            out.print(
                f"Sums and averages of {', '.join(unbounded)} will be refused: the card of {name} has no bounds for "
                "them. Declare them on the card, then: discreet workspace revise"
            )


def _tell_adopted(curator: Curator, table: str | None = None) -> None:
    """Say how many releases were registered beside the cards, and count in the workspace."""
    from discreet.releases.adoption import ADOPTED
    from discreet.releases.register import Register

    with Register(curator.workspace.register) as register:
        lines = [one for one in register.entries() if ADOPTED in one.told and table in (None, one.table)]
    if lines:
        earlier = number(len(lines), "earlier release")
        console().print(f"What is released from here is checked together with {earlier}, registered beside the card.")


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    """Parse NAME=DATA options: table names and sources."""
    parts = [one.partition("=") for one in given]
    if any(not (name and source) for name, _, source in parts):
        raise BadInput("A table is given as NAME=DATA.", hint="Such as --table visits=visits.parquet")
    return [(name, source) for name, _, source in parts]


def _show(curator: Curator, as_json: bool) -> None:
    accounts = curator.ledger.accounts()
    tables = curator.workspace.tables
    may = {name: [a.name.partition("/")[2] for a in accounts if a.name.startswith(f"{name}/")] for name in tables}
    left = {a.name: str(a.left) for a in accounts}
    cards = {name: curator.workspace.card(name) for name in tables}
    synthetic = {name: curator.synthetic(name) for name, one in tables.items() if not one.public}
    if as_json:
        print_json(
            {
                name: {
                    "source": one.source,
                    "public": one.public,
                    "unit": cards[name].unit,
                    "rows_per_unit": cards[name].rows_per_unit or 1,
                    "columns": [column.name for column in cards[name].columns],
                    "analysts": may[name],
                    "left": left.get(name),
                    "audited": None if one.public or not (policy := curator.audited(name)) else policy.to_dict(),
                    "synthetic": found.identity if (found := synthetic.get(name)) else None,
                }
                for name, one in tables.items()
            }
        )
        return
    out = console()
    for name, one in tables.items():
        card = cards[name]
        rows = (
            f"at most {number(card.rows_per_unit or 0, 'row')} of each {card.unit}"
            if card.unit
            else "one row per person"
        )
        out.print(f"{name}, from {one.source}: {'public' if one.public else rows}", style="bold")
        if not one.public:
            out.print(f"May ask: {', '.join(may[name]) or 'no one yet'}. Left: {left[name]}.")
            if policy := curator.audited(name):
                out.print(f"Audited: {policy}. Its questions are answered exactly or denied, never with noise.")
            if found := synthetic[name]:
                rows = number(found.nearness.rows, "row")
                out.print(f"Its synthetic stand-in of {rows} answers when a budget is spent: {found.statement.loss}.")
        columns = grid("column", "kind", "declared")
        for column in card.columns:
            columns.add_row(column.name, column.kind.value, column.declared)
        out.print(columns)
