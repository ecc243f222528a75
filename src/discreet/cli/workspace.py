"""`discreet workspace`: the folder in which a curator keeps tables, budgets and answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import Json, bold, console, grid, print_json, working
from discreet.core.text import number
from discreet.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.budget.filter import Budget
    from discreet.core.loss import Loss
    from discreet.curator.curator import Curator
    from discreet.verbs.synthesize.private import Synthesize

Folder = Annotated[Path, typer.Argument(help="The workspace's folder.", metavar="WORKSPACE")]
BudgetText = Annotated[
    str, typer.Option("--budget", help='What may be lost: "epsilon=3", "epsilon=3, delta=1e-6" or "rho=0.1".')
]
app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Workspaces: tables that can be asked, under a budget.

    \b
    Example:
      discreet workspace init clinic --table visits=visits.parquet --card visits.toml --budget "epsilon=3, delta=1e-6"
    """,
)


@app.command("init")
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder.", metavar="WORKSPACE")],
    *,
    table: Annotated[
        list[str], typer.Option("--table", "-t", help="A table: its name, = and where it is.", metavar="NAME=DATA")
    ],
    card: Annotated[
        list[str],
        typer.Option("--card", "-c", help="The data card: one for all tables, or one for each.", metavar="CARD"),
    ],
    budget: BudgetText,
    public: Annotated[
        list[str] | None,
        typer.Option("--public", help="A table about nobody, to join with; it needs no card.", metavar="NAME=DATA"),
    ] = None,
    analyst: Annotated[str, typer.Option("--analyst", help="Who may ask at first; '' for nobody.")] = "analyst",
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", help="Keep the ledger in this PostgreSQL database, for several curators."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Register tables, so that they can be asked.

    \b
    Example:
      discreet workspace init clinic --table visits=visits.parquet --card visits.toml --budget "epsilon=3, delta=1e-6"

    Each table gets the budget. Of every person at most as many rows count as the card allows, and values outside
    their bounds are moved to them: a copy that keeps to the card is made once, here, and asked from then on.
    """
    from discreet.curator.curator import Curator

    pairs = _pairs(table)
    if len(card) not in (1, len(pairs)):
        raise BadInput(
            f"There are {len(pairs)} tables and {len(card)} cards.", hint="Give one for all, or one for each."
        )
    cards = card * len(pairs) if len(card) == 1 else card
    tables = {name: (source, one) for (name, source), one in zip(pairs, cards, strict=True)}
    about_nobody = _pairs(public or [])
    if len({*tables, *dict(about_nobody)}) < len(pairs) + len(about_nobody):
        raise BadInput("Two tables have the same name.")
    options = {"ledger": ledger, "analyst": analyst or None}
    with (
        working("Registering"),
        Curator.create(folder, tables, loss_of(budget), public=dict(about_nobody), **options) as curator,
    ):
        _show(curator, as_json)
        if not as_json:
            _tell_open(curator)


@app.command("show")
def show(folder: Folder, as_json: Json = False) -> None:
    """Show the tables of a workspace, and who may ask them.

    \b
    Example:
      discreet workspace show clinic
    """
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        _show(curator, as_json)


@app.command("add-analyst")
def add_analyst(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Who may ask.", metavar="NAME")],
    budget: BudgetText,
    table: Annotated[
        list[str] | None, typer.Option("--table", "-t", help="What they may ask; default: every table.", metavar="NAME")
    ] = None,
    as_json: Json = False,
) -> None:
    """Let somebody ask, within a budget of their own below the table's.

    \b
    Example:
      discreet workspace add-analyst clinic ann --table visits --budget "epsilon=1, delta=1e-7"
    """
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        curator.add_analyst(name, loss_of(budget), table or None)
        _show(curator, as_json)
        if not as_json:
            tell_if_above({one.name: one.budget for one in curator.ledger.accounts()}, name)


@app.command("twin")
def twin(
    folder: Folder,
    table: Annotated[str, typer.Argument(help="The table.", metavar="TABLE")],
    *,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="What to spend of the table's budget.")] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="With --epsilon: such as 1e-9, for far less noise.")
    ] = None,
    rho: Annotated[str | None, typer.Option("--rho", help="Instead of --epsilon: what to spend.")] = None,
    by: Annotated[
        str, typer.Option("--by", help="How counts are chosen: aim, mst, mwem, bayes or independent.")
    ] = "aim",
    on: Annotated[
        str, typer.Option("--on", help="The columns it is to have; default: all.", metavar="COLUMN,COLUMN,…")
    ] = "",
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="How many rows it is to have; default: about as many.")
    ] = None,
    bins: Annotated[
        str, typer.Option("--bins", help="In how many bins numbers and dates are cut: 32, or age:10,income:32.")
    ] = "",
    quantiles: Annotated[
        str,
        typer.Option("--quantiles", help="Columns whose bins hold about as many rows each.", metavar="COLUMN,COLUMN,…"),
    ] = "",
    person: Annotated[
        str,
        typer.Option(
            "--person",
            help="Where people have several rows: columns that are the same in all of them. Rows are linked then.",
            metavar="COLUMN,COLUMN,…",
        ),
    ] = "",
    remove: Annotated[
        bool, typer.Option("--remove", help="Have the table answered by no twin any more; its rows stay released.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make and charge nothing: say what it would promise, and how noisy it is.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a table's synthetic twin, which is asked when a budget is gone.

    \b
    Examples:
      discreet workspace twin clinic visits --epsilon 1 --delta 1e-9
      discreet workspace twin clinic visits --epsilon 1 --delta 1e-9 --on city,income
      discreet workspace twin clinic visits --epsilon 1 --delta 1e-9 --person city --bins income:16
      discreet workspace twin clinic visits --remove

    The twin is charged to the table's own budget, and to no analyst's. From then on a question that the budget does not
    cover is answered on the twin, for nothing, and marked as synthetic. A newer twin takes the place of an older one.
    """
    from discreet.core.families import PRIVATE_SYNTHESIS
    from discreet.core.release import Rows
    from discreet.curator.curator import Curator
    from discreet.verbs.synthesize.distances import distances
    from discreet.verbs.synthesize.private import Synthesize
    from discreet.verbs.synthesize.synthesize import warning

    if remove:
        if any((epsilon, delta, rho, on, rows, bins, quantiles, person)):
            raise BadInput("--remove goes alone.", hint="A newer twin takes the place of an older one anyway.")
        _remove(folder, table, as_json)
        return
    with Curator(folder) as curator:
        curator.audited(table)  # which says so if there is no such table
        method = Synthesize(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            by=by,
            rows=rows,
            columns=_named(on),
            bins=PRIVATE_SYNTHESIS.value("bins", bins, curator.workspace.card(table)) if bins else None,
            quantiles=_named(quantiles),
            person=_named(person),
        )
        if dry_run:
            _foreseen(curator, method, table, as_json)
            return
        card = curator.workspace.card(table)
        with working("Making the twin"):
            given = curator.make_synthetic(method, table)
        found = curator.synthetic(table)
        left = curator.ledger.account(table).left
        near = distances(Rows(curator.workspace.releases / given.identity / "payload.parquet"))
    assert found is not None  # noqa: S101  # just made
    if as_json:
        print_json(
            {
                "table": table,
                "release": given.identity,
                "rows": found.nearness.rows,
                "free": given.free,
                "left": left.to_dict(),
                "statement": given.release.statement.to_dict(),
            }
        )
        return
    out = console()
    paid = "It was made before, so it is free." if given.free else f"It cost {given.release.statement.loss}."
    out.print(f"The synthetic twin of {table} has {number(found.nearness.rows, 'row')}. {paid} Left: {left}.")
    out.print(*given.release.statement.lines, sep="\n")
    if told := warning(near, card):
        console(stderr=True).print(bold("Warning."), told)


def _foreseen(curator: Curator, method: Synthesize, table: str, as_json: bool) -> None:
    """What a twin would promise and cost, and how noisy it would be; nothing is made."""
    card = curator.workspace.card(table)
    promise, left, noise = method.promise(card), curator.ledger.account(table).left, method.noise(card)
    if as_json:
        print_json({"table": table, "statement": promise.to_dict(), "left": left.to_dict(), "noise": noise})
        return
    out = console()
    out.print(f"The synthetic twin of {table} would cost {promise.loss}. Left: {left}. Nothing was made or charged.")
    out.print(
        f"Each count of a column would get noise of about ±{number(round(noise), 'row')}, and those of pairs more."
    )
    out.print(*promise.lines, sep="\n")


def _remove(folder: Path, table: str, as_json: bool) -> None:
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        curator.set_synthetic(table, None)
    if as_json:
        print_json({"table": table, "release": None})
    else:
        console().print(f"No synthetic twin answers for {table}: what a budget does not cover is refused.")


def _named(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def loss_of(text: str) -> Loss:
    """A budget as people write it."""
    from discreet.core.loss import Approximate, Concentrated, Pure

    pairs = re.findall(r"(\w+)\s*=\s*([^,\s]+)", text)
    said = dict(pairs)
    rest = re.sub(r"\w+\s*=\s*[^,\s]+", "", text).strip(" ,") or len(pairs) > len(said)
    match sorted(said):
        case ["epsilon"] if not rest:
            return Pure(said["epsilon"])
        case ["delta", "epsilon"] if not rest:
            return Approximate(said["epsilon"], said["delta"])
        case ["rho"] if not rest:
            return Concentrated(said["rho"])
    raise BadInput(f"{text!r} is no budget.", hint='Write "epsilon=3", "epsilon=3, delta=1e-6" or "rho=0.1".')


def tell_if_above(budgets: Mapping[str, Budget], name: str) -> None:
    """Say where somebody's budget is above that of the table, which counts too."""
    from discreet.budget.entries import is_above

    for account, own in budgets.items():
        table, _, analyst = account.partition("/")
        if analyst == name and is_above(own, budgets[table]):
            typer.echo(f"All of {table} has a budget of {budgets[table]}, which {name} shares: less than {own}.")


def _tell_open(curator: Curator) -> None:
    """Say what cannot be asked because a card does not declare it."""
    from discreet.core.card import Role
    from discreet.core.kind import Kind

    numbers = (Kind.INTEGER, Kind.REAL, Kind.DECIMAL)
    out = console()
    for name in curator.workspace.private:
        columns = [one for one in curator.workspace.card(name).columns if one.role is not Role.IDENTIFIER]
        unbounded = [one.name for one in columns if one.kind in numbers and not (one.bounds or one.categories)]
        if unbounded:
            out.print(
                f"Sums and averages of {', '.join(unbounded)} will be refused: the card of {name} has no bounds for "
                "them. A card cannot be changed later, so declare them now and make the workspace anew."
            )


def _pairs(given: list[str]) -> list[tuple[str, str]]:
    """Names of tables and where they are."""
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
            else "a row is a person"
        )
        out.print(f"{name}, from {one.source}: {'public' if one.public else rows}", style="bold")
        if not one.public:
            out.print(f"May ask: {', '.join(may[name]) or 'nobody yet'}. Left: {left[name]}.")
            if policy := curator.audited(name):
                out.print(f"Audited: {policy}. Its questions are answered exactly or denied, never with noise.")
            if found := synthetic[name]:
                rows = number(found.nearness.rows, "row")
                out.print(f"Its synthetic twin of {rows} answers when a budget is gone: {found.statement.loss}.")
        columns = grid("column", "kind", "declared")
        for column in card.columns:
            columns.add_row(column.name, column.kind.value, column.declared)
        out.print(columns)
