"""`discreet people`: who may sign in to a workspace's service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Folder, Json
from discreet.cli.output import console, grid, print_json
from discreet.cli.workspace import tell_if_above
from discreet.curator.people.person import DAYS, SCOPES, Person, Role, Scope

if TYPE_CHECKING:
    from discreet.service.operations.operations import Operations

Name = Annotated[str, Argument(help="Who.", metavar="NAME")]
app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""People: who may sign in to a workspace's service.

    \b
    Example:
      discreet people add clinic ann --budget "epsilon=1, delta=1e-7"
    """,
)


@app.command("add")
def add(
    folder: Folder,
    name: Name,
    role: Annotated[Role, Option(help="Role.")] = Role.ANALYST,
    budget: Annotated[
        str | None,
        Option(help='Privacy budget: "epsilon=3", "epsilon=3, delta=1e-6", "rho=0.1" or "epsilon=1 per month".'),
    ] = None,
    table: Annotated[
        list[str] | None,
        Option("--table", "-t", help="Table they may query, may be repeated; default: every table.", metavar="NAME"),
    ] = None,
) -> None:
    """Add a person who may sign in; prints a one-time password.

    \b
    Examples:
      discreet people add clinic ann --budget "epsilon=1, delta=1e-7" --table visits
      discreet people add clinic eve --role auditor
    """
    from discreet.budget.filter import Budget

    limit = None if budget is None else Budget.parse(budget)
    with _desk(folder) as (desk, host):
        password = desk.access.add_person(host, name, role, budget=limit, tables=table or None)
        _tell(name, password)
        tell_if_above({one.account: one.budget for one in desk.budgets.accounts(host)}, name)
        if role is Role.ANALYST and not _tables(desk, host, name):
            typer.echo(f"{name} cannot query any table yet: give them a budget with discreet workspace add-analyst.")


@app.command("list")
def list_(folder: Folder, as_json: Json = False) -> None:
    """List people, the tables they may query, and their tokens.

    \b
    Example:
      discreet people list clinic
    """
    with _desk(folder) as (desk, host):
        people, tokens = desk.access.persons(host), desk.access.tokens(host)
        may = {one.name: _tables(desk, host, one.name) for one in people}
        waits = desk.access.locked_out(host)
        linked = desk.people.linked()
    if as_json:
        print_json(
            {
                one.name: {
                    "role": one.role.value,
                    "since": one.since.isoformat(),
                    "disabled": one.disabled,
                    "must_change": one.must_change,
                    "by_provider": one.name in linked,
                    "locked_out_until": waits[one.name].isoformat() if one.name in waits else None,
                    "left": may[one.name],
                    "tokens": [
                        {
                            "id": token.id,
                            "label": token.label,
                            "until": token.until.isoformat(),
                            "scopes": [scope.value for scope in token.scopes],
                        }
                        for token in tokens
                        if token.person == one.name
                    ],
                }
                for one in people
            }
        )
        return
    out = console()
    listing = grid("name", "role", "since", "signs in", "left")
    for one in people:
        signs_in = "no: disabled" if one.disabled else "with a one-time password" if one.must_change else "yes"
        signs_in += ", by the provider" if one.name in linked and not one.disabled else ""
        if one.name in waits and not one.disabled:
            signs_in = f"not before {waits[one.name]:%H:%M} UTC: too many wrong passwords"
        left = "; ".join(f"{table}: {loss}" for table, loss in may[one.name].items())
        listing.add_row(one.name, one.role.value, str(one.since.date()), signs_in, left or "no tables")
    out.print(listing)
    if tokens:
        listing = grid("token", "whose", "what for", "may", "until", title="Tokens")
        for token in tokens:
            may_do = ", ".join(scope.value for scope in token.scopes)
            listing.add_row(token.id, token.person, token.label, may_do, str(token.until.date()))
        out.print(listing)


@app.command("reset")
def reset(folder: Folder, name: Name) -> None:
    """Reset a password: prints a new one-time password and ends sessions and tokens.

    \b
    Example:
      discreet people reset clinic ann
    """
    with _desk(folder) as (desk, host):
        _tell(name, desk.access.reset_password(host, name))


@app.command("disable")
def disable(folder: Folder, name: Name) -> None:
    """Disable an account: its sessions and tokens end at once. What was spent stays spent.

    \b
    Example:
      discreet people disable clinic ann
    """
    with _desk(folder) as (desk, host):
        desk.access.disable(host, name, True)
    typer.echo(f"{name} can no longer sign in, and has no tokens any more.")
    typer.echo("Anyone who has the folder can still ask in that name: discreet budget limit lowers what it may spend.")


@app.command("enable")
def enable(folder: Folder, name: Name) -> None:
    """Enable an account again.

    \b
    Example:
      discreet people enable clinic ann
    """
    with _desk(folder) as (desk, host):
        desk.access.disable(host, name, False)
    typer.echo(f"{name} can sign in again.")


@app.command("link")
def link(
    folder: Folder,
    name: Name,
    subject: Annotated[str, Argument(help="The subject of their account at the provider.", metavar="SUBJECT")],
    issuer: Annotated[str, Option(help="The provider's address, as in oidc_issuer.", metavar="URL")],
) -> None:
    """Let a person sign in by an OpenID Connect provider; an identity that was linked with someone else moves to them.

    Anyone whose sign-in is refused because they have no account is shown the subject of theirs.

    \b
    Example:
      discreet people link clinic ann 8f14e45f --issuer https://login.example.org/realms/clinic
    """
    from discreet.curator.people.identities import Identity

    with _desk(folder) as (desk, host):
        desk.access.link(host, name, Identity(issuer, subject))
    typer.echo(f"{name} can sign in by {issuer}.")


@app.command("token")
def token(
    folder: Folder,
    name: Name,
    label: Annotated[str, Option(help="Purpose of the token.")] = "made on the command line",
    days: Annotated[int, Option(help="Lifetime, days.")] = DAYS,
    scope: Annotated[
        list[Scope] | None, Option(help="Scope of the token; may be repeated. Default: ask and read.")
    ] = None,
) -> None:
    """Make an API token for a person, limited to scopes; it is printed once.

    A token may ask, read, or manage (change budgets, people, jobs, sharing). No token may make tokens or set passwords.

    \b
    Examples:
      discreet people token clinic ann --label "weekly report" --days 30
      discreet people token clinic steward --scope read --scope manage
    """
    with _desk(folder) as (desk, host):
        made = desk.access.new_token(host, label, days, scope or SCOPES, name=name)
        waits = desk.people.find(name).must_change
    may = ", ".join(one.value for one in made.scopes)
    typer.echo(f"Token {made.id} of {name} ({may}), until {made.until.date()}. It is shown only once:")
    typer.echo(made.text)
    if waits:
        typer.echo(f"It works after {name} has signed in and changed the one-time password.")


@app.command("revoke")
def revoke(
    folder: Folder, id_: Annotated[str, Argument(help="The token, as `people list` shows it.", metavar="TOKEN")]
) -> None:
    """End a token.

    \b
    Example:
      discreet people revoke clinic 1f0c9a33b2e4
    """
    with _desk(folder) as (desk, host):
        desk.access.revoke(host, id_)
    typer.echo(f"Token {id_} is no longer valid.")


@contextmanager
def _desk(folder: Path) -> Iterator[tuple[Operations, Person]]:
    """The operations of a workspace, done by the holder of its folder."""
    from discreet.service.operations.operations import Operations
    from discreet.service.operations.permissions import HOST

    with Operations(folder) as desk:
        yield desk, HOST


def _tables(desk: Operations, host: Person, name: str) -> dict[str, str]:
    """The tables that a person may query, and what is left."""
    return {one.table: str(one.left) for one in desk.budgets.accounts(host) if one.analyst == name}


def _tell(name: str, password: str) -> None:
    typer.echo(f"{name} signs in with the one-time password {password}")
    typer.echo("It is shown only once and must be changed at the first sign-in, within seven days.")
