"""`discreet combine`: several holders compute together, each on its own machine, and share only the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from discreet.cli.options import Json, names_in, require_new
from discreet.cli.output import bold, console, grid, print_json, stoppable
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.budget.ledger import SqlLedger
    from discreet.core.loss import Loss
    from discreet.core.release import Release
    from discreet.verbs.combine.participation import LedgerCharge, Participant
    from discreet.verbs.combine.terms import Terms
    from discreet.verbs.combine.transcript_check import TranscriptCheck

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Secure multi-party computation: several data holders compute together and share only the result.

    \b
    Example:
      discreet combine keys north
      discreet combine new pay.toml --parties north,south,east,west --bounds 0:100000
      discreet combine run pay.toml --input salary.txt
    """,
)
File = Annotated[Path, Argument(help="The session's manifest (TOML).", metavar="MANIFEST")]
Whole = Annotated[bool, Option("--statement", help="Print the whole statement, with its assumptions.")]
_EXIT_PROBLEMS = 1
_KEY_ACCOUNT = "combine"
"""Account of the ledger that is kept beside a party's key."""


@app.command("keys")
def keys(
    name: Annotated[str, Argument(help="The party's name, in lower case.", metavar="NAME")],
    *,
    folder: Annotated[Path, Option(help="Folder for the keys.")] = Path(),
) -> None:
    """Make a party's keys: NAME.key stays with the party, NAME.pub is for the others.

    \b
    Example:
      discreet combine keys north

    Compare the fingerprint by phone, so that no one can substitute a key on the way.
    """
    from discreet.verbs.combine.net.keys import Identity

    made = Identity.new(name)
    made.save(folder)
    typer.echo(f"{folder / f'{name}.key'} stays with {name}; give {folder / f'{name}.pub'} to the others.")
    typer.echo(f"Fingerprint, to compare by phone: {made.fingerprint}")


@app.command("new")
def new(
    file: File,
    *,
    parties: Annotated[str, Option(help="The parties, in order.", metavar="NAME,NAME,…")],
    protocol: Annotated[str, Option(help="Protocol; `discreet combine protocols` lists them.")] = "masks",
    function: Annotated[str, Option(help="Function to compute; `discreet combine functions` lists them.")] = "sum",
    bounds: Annotated[str | None, Option(help="Lower and upper bound of the values.", metavar="LOW:HIGH")] = None,
    decimals: Annotated[int, Option(min=0, help="Decimal places of the values.")] = 0,
    threshold: Annotated[int, Option(min=0, help="Number of parties that must not drop out; 0 for all.")] = 0,
    adder: Annotated[str, Option(help="The party that learns the sum; default: each.")] = "",
    epsilon: Annotated[
        str | None, Option(help="Privacy loss of the result; noise is added inside the computation.")
    ] = None,
    delta: Annotated[str, Option(help="Delta of the privacy loss; 0 for Laplace noise.")] = "0",
    honest: Annotated[
        int, Option(min=0, help="Number of honest parties; 0 for all but one of those that must not drop out.")
    ] = 0,
    unit: Annotated[str, Option(help="Privacy unit that the noise protects.")] = "person",
    at: Annotated[
        list[str] | None,
        Option(
            help="Address of a party, or of the relay where it waits; default: this computer.",
            metavar="NAME=[relay:]HOST:PORT",
        ),
    ] = None,
    deadline: Annotated[int, Option(min=1, help="Time limit of a step, seconds.")] = 60,
    start_within: Annotated[int, Option(min=1, help="Time to wait for all parties, seconds.")] = 600,
    keys: Annotated[Path | None, Option(help="Folder of the NAME.pub files; default: that of the manifest.")] = None,
    statement: Whole = False,
) -> None:
    """Write the manifest of a session: parties, keys, function and protocol. All parties get the same file.

    \b
    Examples:
      discreet combine new pay.toml --parties north,south,east,west --bounds 0:100000
      discreet combine new pay.toml --parties north,south,east --at north=10.0.0.1:8650 --at south=10.0.0.2:8650 \\
          --at east=10.0.0.3:8650 --function "mean" --bounds 0:100 --decimals 2 --epsilon 1
    """
    from discreet.core.document import write
    from discreet.verbs.combine import summary
    from discreet.verbs.combine.net.manifest import dump, new_manifest
    from discreet.verbs.combine.session import agree_terms

    require_new(file)
    terms = agree_terms(
        parties,
        protocol,
        function,
        bounds=bounds,
        decimals=decimals,
        threshold=threshold,
        adder=adder,
        epsilon=epsilon,
        delta=delta,
        honest=honest,
        unit=unit,
    )
    made = new_manifest(file.stem, terms, keys or file.parent, at or (), deadline=deadline, start_within=start_within)
    write(file, dump(made).encode())
    typer.echo(f"Written to {file}; give the same file to every party. Its digest: {made.digest.hex()}")
    for party in made.parties:
        typer.echo(f"  {party.name} at {party.address}, key {party.fingerprint}")
    placed = {one.partition("=")[0] for one in at or ()}
    if here := [party for party in terms.parties if party not in placed]:
        who = ", ".join(here) if placed else "All parties"
        typer.echo(f"{who} {'is' if len(here) == 1 else 'are'} on this computer; --at NAME=HOST:PORT says where else.")
    _promise(terms, whole=statement, where="--statement prints all of it")
    if warning := summary.two_party_warning(terms):
        typer.echo(warning)
    typer.echo(f"Next, on every host: discreet combine run {file} --input FILE")


@app.command("run")
def run(
    file: File,
    *,
    data: Annotated[
        str | None, Option("--input", help="This party's data: numbers, one per line (.txt), or rows (.csv, .parquet).")
    ] = None,
    name: Annotated[str | None, Option("--as", help="Name of this party; default: the one whose key is here.")] = None,
    keys: Annotated[Path | None, Option(help="Folder of NAME.key; default: that of the manifest.")] = None,
    ledger: Annotated[Path | None, Option(help="With noise: workspace whose ledger is charged.")] = None,
    account: Annotated[
        str | None, Option(help="Account of that ledger: a table, or TABLE/ANALYST such as visits/ann.")
    ] = None,
    budget: Annotated[str | None, Option(help='Without a workspace: total budget, such as "epsilon=3".')] = None,
    unit_column: Annotated[
        str | None,
        Option(
            help="With noise: the column that identifies the person of each row, or - for one row per person; "
            "default: what the card of the account's table says.",
            metavar="NAME",
        ),
    ] = None,
    attempt: Annotated[
        int | None,
        Option(help="Try a session again that ended before any data was sent; all parties give the same number."),
    ] = None,
    statement: Whole = False,
    as_json: Json = False,
) -> None:
    """Take part in a session. Run it again after a crash to resume.

    \b
    Examples:
      discreet combine run pay.toml --input salary.txt
      discreet combine run pay.toml --input visits.parquet --as north --ledger clinic --account visits

    The transcript and the result with its statement are kept in a folder beside the manifest: pay.north/
    """
    from discreet.verbs.combine import participation

    participant = participation.find_participant(file, name, keys, attempt)
    with (
        _charging(participant, ledger, account, budget, keys or file.parent) as charge,
        stoppable(lambda: "Run the command again to resume."),
    ):
        if unit_column is None and ledger is not None and account is not None:
            unit_column = _unit_column(ledger, account)
        release = participation.take_part(
            participant, data, unit_column=unit_column, charge=charge, progress=lambda step: typer.echo(step, err=True)
        )
    if as_json:
        print_json({"result": release.payload, "statement": release.statement.to_dict()})
        return
    _show(release, participant, whole=statement)
    view = f"discreet combine show {file.with_suffix('')} --as {participant.name}"
    typer.echo(f"Kept in {participant.folder}; what was seen: {view}")


@app.command("relay")
def relay(
    file: File,
    *,
    listen: Annotated[
        str | None,
        Option(help="Where to listen; default: the relay's address in the manifest.", metavar="HOST:PORT"),
    ] = None,
) -> None:
    """Relay messages between parties of a session that cannot connect to each other, on a host that both can reach.

    The manifest gives such a party the address relay:HOST:PORT. The relay sees who speaks with whom, when and how
    much; it can read and change nothing.

    \b
    Example:
      discreet combine new pay.toml --parties north,south,east --bounds 0:100000 --at north=relay:10.0.0.9:8650
      discreet combine relay pay.toml --listen 0.0.0.0:8650
    """
    from discreet.verbs.combine.net.manifest import load
    from discreet.verbs.combine.net.relay import run_relay

    with stoppable(lambda: "The relay has ended."):
        run_relay(load(file), listen, progress=lambda line: typer.echo(line, err=True))


@app.command("show")
def show(
    session: Annotated[str, Argument(help="The session: its manifest, without .toml.", metavar="SESSION")],
    *,
    name: Annotated[str | None, Option("--as", help="Name of the party; default: the one that ran here.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write the picture to this new file (.html or .svg).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a party's view of a session: a list of messages, and with -o a picture.

    \b
    Example:
      discreet combine show pay --as south -o south.html
    """
    from discreet.core.document import write
    from discreet.verbs.combine.participation import draw_view

    diagram = draw_view(Path(session), name)
    if output is not None:
        if output.suffix not in (".html", ".svg"):
            raise BadInput(f"{output} is neither .html nor .svg.", hint="The picture is written as one of these.")
        require_new(output)
        write(output, (diagram.svg if output.suffix == ".svg" else diagram.page).encode())
    if as_json:
        print_json([asdict(entry) for entry in diagram.lines])
        return
    rows = ((str(entry.number), entry.of, ", ".join(entry.to), entry.kind, entry.what) for entry in diagram.lines)
    console().print(grid("#", "from", "to", "kind", "contents", title=diagram.title, rows=rows))
    typer.echo(diagram.caption)
    if output is not None:
        typer.echo(f"The picture is in {output}.")


@app.command("coalition")
def coalition(
    file: File,
    *,
    of: Annotated[
        str | None, Option(help="Members of the coalition; default: every coalition.", metavar="NAME,NAME,…")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a coalition learns beyond its own values and the result, computed exactly from the protocol.

    Where parties may drop out, also what it would learn at worst, or learnt in the session that was run.

    \b
    Example:
      discreet combine coalition pay.toml --of south,west
    """
    from discreet.verbs.combine import session, summary
    from discreet.verbs.combine.net.manifest import load
    from discreet.verbs.combine.participation import included_parties
    from discreet.verbs.combine.symbolic.leakage import leakage, leakages

    terms = session.require_sums(load(file).terms)
    if_dropout = ""
    if of is not None:
        members = names_in(of)
        found = {members: leakage(terms, terms.parties, members)}
        stayed = included_parties(file)
        dropped = [party for party in terms.parties if stayed and party not in stayed]
        if_dropout = summary.describe_dropout_leakage(terms, members, dropped)
    else:
        found = leakages(terms, terms.parties)
        if 0 < terms.threshold < len(terms.parties):
            if_dropout = (
                "This holds without dropouts. Name a coalition (--of) to see what it learns if others drop out."
            )
    revealed = session.reveals(terms)
    if as_json:
        print_json(
            [
                {
                    "coalition": list(members),
                    "learns": summary.describe_leakage(terms, leak),
                    "beyond": [str(form) for form in leak.beyond],
                    "if others drop out": if_dropout if of is not None else None,
                    "all parties see": list(revealed),
                }
                for members, leak in found.items()
            ]
        )
        return
    described = [summary.describe_leakage(terms, leak) for leak in found.values()]
    for line in (*described, *([if_dropout] if if_dropout else []), *revealed):
        typer.echo(line)


@app.command("verify")
def verify(
    folders: Annotated[list[Path], Argument(help="The parties' folders, such as pay.*/", metavar="FOLDER...")],
    *,
    as_json: Json = False,
) -> None:
    """Cross-check parties' transcripts: unbroken, signed, and the same on both sides.

    Evidence that a party kept against another is checked as well. The exit status is 1 if there is a problem. Compare
    the manifest's digest with your own: anyone who gives you the folders could have made up all of it.

    \b
    Example:
      discreet combine verify pay.*/
    """
    from discreet.verbs.combine.transcript_check import verify as check_transcripts

    check: TranscriptCheck = check_transcripts(folders)
    if as_json:
        print_json(check.to_dict())
    else:
        typer.echo(str(check))
    if not check.sound:
        raise typer.Exit(_EXIT_PROBLEMS)


@app.command("protocols")
def protocols(*, as_json: Json = False) -> None:
    """List the protocols: how each works, and whether parties may drop out.

    \b
    Example:
      discreet combine protocols
    """
    from discreet.verbs.combine.session import known_protocols

    if as_json:
        print_json([{"name": name, "title": title, "drops": drops} for name, title, drops in known_protocols()])
        return
    rows = ((name, title, "yes" if drops else "no") for name, title, drops in known_protocols())
    console().print(grid("protocol", "how it works", "dropouts", rows=rows))


@app.command("functions")
def functions(*, as_json: Json = False) -> None:
    """List the functions, and how each is written.

    \b
    Example:
      discreet combine functions
    """
    from discreet.verbs.combine.session import known_functions

    if as_json:
        print_json([dict(zip(("name", "written", "title"), one, strict=True)) for one in known_functions()])
        return
    console().print(grid("function", "written", "result", rows=known_functions()))


def _show(release: Release[Any], participant: Participant, *, whole: bool) -> None:
    from discreet.verbs.combine.terms import Result

    included = release.recipe.parameters["included"]
    console().print(bold(str(Result(release.payload, tuple(included)))))
    typer.echo(f"Of {', '.join(included)} together.")
    where = f"all of it: discreet show {participant.folder / 'release'}, or --statement"
    _promise(participant.manifest.terms, whole=whole, where=where, included=included)
    if release.receipt is not None:
        typer.echo(str(release.receipt))


def _promise(terms: Terms, *, whole: bool, where: str, included: Sequence[str] = ()) -> None:
    """Print what is promised: two lines and where the rest is, or the whole statement."""
    from discreet.verbs.combine import session, summary

    if whole:
        typer.echo(str(session.statement(terms)))
        return
    learns, noise = summary.brief(terms, included)
    typer.echo(f"{learns}\n{noise} ({where})")


@contextmanager
def _charging(
    participant: Participant, workspace: Path | None, account: str | None, budget: str | None, beside: Path
) -> Iterator[LedgerCharge | None]:
    """Open the ledger to charge while the block runs; None if no ledger is named, or there is no noise."""
    from discreet.verbs.combine.participation import LedgerCharge
    from discreet.verbs.combine.session import statement

    if (workspace is None) != (account is None) or (workspace is not None and budget is not None):
        raise BadInput(
            "--ledger and --account must be used together.",
            hint='Write --ledger clinic --account visits, or --budget "epsilon=3" alone.',
        )
    what = f"combine {participant.manifest.name} ({participant.manifest.terms.function})"
    if (workspace is None and budget is None) or statement(participant.manifest.terms).loss is None:
        yield None
        return
    from discreet.budget.ledger import create_ledger, open_ledger

    if workspace is not None:
        from discreet.curator.workspace import open_books, open_workspace

        with open_books(open_workspace(workspace)) as ledger:
            ledger.account(str(account))
            yield LedgerCharge(ledger, str(account), what)
    else:
        from discreet.core.loss import parse_loss

        file, limit = beside / f"{participant.name}.ledger", parse_loss(str(budget))
        with open_ledger(file) if file.exists() else create_ledger(file) as ledger:
            _set_limit(ledger, limit, file)
            yield LedgerCharge(ledger, _KEY_ACCOUNT, what)


def _unit_column(workspace: Path, account: str) -> str:
    """Unit column of the account's table, by its card."""
    from discreet.curator.workspace import open_workspace
    from discreet.verbs.combine.participation import EACH_ROW

    return open_workspace(workspace).full_card(account.partition("/")[0]).unit or EACH_ROW


def _set_limit(ledger: SqlLedger, limit: Loss, file: Path) -> None:
    """Open the account, or set its limit."""
    from discreet.budget.filter import Budget

    account = ledger.find_accounts(_KEY_ACCOUNT).get(_KEY_ACCOUNT)
    if account is None:
        ledger.open_account(_KEY_ACCOUNT, limit)
    elif account.budget != Budget(limit):
        ledger.set_limit(_KEY_ACCOUNT, limit, why="said with --budget")
        typer.echo(f"The limit in {file} was {account.budget}; from now on it is {limit}.", err=True)
