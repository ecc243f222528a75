"""`discreet budget`: what is left, who spent what on what, whether the ledger is sound, and what an epsilon means."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from discreet.cli.options import Folder, Json
from discreet.cli.output import console, grid, print_json
from discreet.errors import BadInput, LedgerError

if TYPE_CHECKING:
    from discreet.budget.entries import Account


class _ShowByDefault(TyperGroup):
    """Command group that reads ``discreet budget clinic`` as ``discreet budget show clinic``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_ShowByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Show and set privacy budgets: what is left, and who spent how much on what.

    \b
    Examples:
      discreet budget clinic
      discreet budget advise --epsilon 1
    """,
)


@app.command("show")
def show(folder: Folder, as_json: Json = False) -> None:
    """Show what is left, and who spent what on what; also for a ledger that `discreet combine run --budget` made.

    \b
    Examples:
      discreet budget show clinic
      discreet budget show north.ledger
    """
    from discreet.budget.entries import Charged
    from discreet.budget.ledger import open_ledger
    from discreet.curator.curator import Curator
    from discreet.releases.store import SEAL

    with ExitStack() as stack:
        ledger = (
            stack.enter_context(open_ledger(folder))
            if folder.is_file()
            else stack.enter_context(Curator(folder)).ledger
        )
        accounts = ledger.accounts()
        lines = [
            (line.number, line.at, line.entry)
            for line in ledger.lines()
            if isinstance(line.entry, Charged) and not line.entry.key.startswith(SEAL)
        ]
    if as_json:
        print_json(
            {
                "accounts": {a.name: _account(a) for a in accounts},
                "charges": [
                    {
                        "line": number,
                        "at": at.isoformat(),
                        "account": entry.account,
                        "loss": entry.loss.to_dict(),
                        "questions": _questions(entry.purpose),
                    }
                    for number, at, entry in lines
                ],
            }
        )
        return
    out = console()
    rows = ((account.name, str(account.budget), str(account.spent), str(account.left)) for account in accounts)
    out.print(grid("account", "budget", "spent", "left", rows=rows))
    if renewing := [account for account in accounts if account.budget.renews]:
        out.print("Budgets that renew; above is what was spent in the present period, and what is left of it:")
        listed = grid("account", "period began (UTC)", "renews", "spent in all periods", "left of the total")
        for account in renewing:
            left = "no total" if account.left_ever is None else str(account.left_ever)
            renewal = str(account.renewal or "never")
            listed.add_row(account.name, str(account.began), renewal, str(account.spent_ever), left)
        out.print(listed)
        for account in renewing:
            out.print(f"{account.name}: {account.budget.promise}")
    if not lines:
        out.print("Nothing has been spent yet.")
        return
    spent = grid("#line", "when (UTC)", "account", "loss", "on")
    for number, at, entry in lines:
        when = at.strftime("%Y-%m-%d %H:%M")
        spent.add_row(str(number), when, entry.account, str(entry.loss), "\n".join(_questions(entry.purpose)))
    out.print(spent)


@app.command("limit")
def limit(
    folder: Folder,
    account: Annotated[str, Argument(help="A table, or TABLE/ANALYST, as `discreet budget` shows it.")],
    budget: Annotated[
        str,
        Option(
            help="The new limit, for example 'epsilon=5, delta=1e-6', or 'epsilon=1 per month; epsilon=10 in total'."
        ),
    ],
    why: Annotated[str, Option(help="The reason, for the ledger.")],
    yes: Annotated[
        bool,
        Option("--yes", help="Confirm a limit that removes delta, is below what was spent, or renews without a total."),
    ] = False,
) -> None:
    """Set a new limit for an account; what was spent stays spent.

    \b
    Example:
      discreet budget limit clinic visits/analyst --budget "epsilon=5, delta=1e-6" --why "agreed by the board"
    """
    from discreet.budget.entries import limit_warnings
    from discreet.budget.filter import Budget
    from discreet.curator.audited import require_noise
    from discreet.curator.curator import Curator

    limit = Budget.parse(budget)
    with Curator(folder) as curator:
        before = curator.ledger.account(account)
        require_noise(curator.ledger, [account.partition("/")[0]])
        if (lost := limit_warnings(before, limit)) and not yes:
            raise BadInput(
                f"{account} has a limit of {before.budget} now: {'; '.join(lost)}. Nothing was changed.",
                hint="To confirm, add --yes.",
            )
        changed = curator.ledger.set_limit(account, limit, why=why)
    console().print(f"{changed.name}: {before.budget} before, {changed.budget} now; {changed.left} is left.")


@app.command("verify")
def verify(folder: Folder, as_json: Json = False) -> None:
    """Check the ledger entry by entry, and against every answer.

    \b
    Example:
      discreet budget verify clinic
    """
    from discreet.curator.curator import Curator

    with Curator(folder) as curator:
        verdict = curator.verify()
    if not verdict.sound:
        raise LedgerError(
            f"The ledger failed its check: {verdict}", hint="Stop answering questions, and compare it with a backup."
        )
    if as_json:
        print_json({"lines": verdict.lines, "sound": True})
        return
    console().print(str(verdict))


@app.command("advise")
def advise(
    *,
    epsilon: Annotated[str | None, Option("--epsilon", "-e", help="The epsilon to explain.")] = None,
    among: Annotated[
        int | None, Option(min=2, help="Choose epsilon: an adversary singles out one of N people,")
    ] = None,
    risk: Annotated[str | None, Option(help="… with at most this probability of being right.")] = None,
    sensitivity: Annotated[
        str, Option(help="With --among: sensitivity, the most that one person changes the figure.")
    ] = "1",
    spread: Annotated[str, Option(help="With --among: difference of the figure between the candidates.")] = "1",
    picture: Annotated[Path | None, Option(help="Also draw it to this file.", metavar="FILE.svg")] = None,
    as_json: Json = False,
) -> None:
    """Explain an epsilon by what an adversary can learn, or choose one that way.

    \b
    Examples:
      discreet budget advise --epsilon 1 --picture epsilon.svg
      discreet budget advise --among 4 --risk 1/3 --sensitivity 17/6 --spread 3
    """
    from discreet.curator.advice import beliefs, count_error, drawn, lee_clifton

    if (among is None) != (risk is None):
        raise BadInput("--among and --risk must be used together.")
    if epsilon is None and among is None:
        raise BadInput("Give an --epsilon to explain, or --among and --risk to choose one.")
    chosen: Any = epsilon
    if among is not None and risk is not None:
        largest = lee_clifton(among, risk, sensitivity=sensitivity, spread=spread)
        chosen = chosen or f"{largest:.4f}"
    moved, off = beliefs(chosen), count_error(chosen)
    if picture is not None:
        picture.write_text(drawn(chosen).svg, encoding="utf-8", newline="\n")
    if as_json:
        said = {} if among is None else {"largest_epsilon": largest}
        print_json({"epsilon": chosen, **said, "beliefs": [vars(one) for one in moved], "count_error": off})
        return
    out = console()
    if among is not None:
        out.print(
            f"To pick one person out of {among} with a probability of at most {risk}, epsilon must not be above "
            f"{largest:.4f} (Lee and Clifton 2011)."
        )
    rows = ((f"{one.prior:.1%}", f"{one.least:.1%}", f"{one.most:.1%}") for one in moved)
    out.print(grid("#believed before", "#at least after", "#at most after", title=f"At epsilon = {chosen}", rows=rows))
    out.print(
        "However much an adversary knows about everyone else, all answers for this epsilon move what they "
        "believe of one person no further than that.\n"
        f"A count of people that gets all of it is off by {off:,.1f} at most, with 95 % confidence."
    )


def _account(account: Account) -> dict[str, Any]:
    said: dict[str, Any] = {
        "budget": str(account.budget),
        "spent": account.spent.to_dict(),
        "left": account.left.to_dict(),
    }
    if account.budget.renews:
        left = account.left_ever
        said |= {
            "period_began": str(account.began),
            "renews_on": str(account.renewal or "never"),
            "spent_ever": account.spent_ever.to_dict(),
            "left_ever": None if left is None else left.to_dict(),
            "promise": account.budget.promise,
        }
    return said


def _questions(purpose: str) -> list[str]:
    """Questions of a charge, without the fingerprint behind them; or another purpose, in one line."""
    return (purpose.rpartition("\n")[0] or purpose).split("\n")
