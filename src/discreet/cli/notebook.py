"""`%%ask` in notebooks: a cell of SQL, asked of a workspace or a service (`%load_ext discreet`)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

_ABOUT = """Ask the question of the cell, and pay for the answer from the budget. Several questions, separated by
semicolons, are answered for one price in all. The same question again is free."""
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "curator": {"help": "A variable that holds a curator, the folder of a workspace, or the URL of a service."},
    "-e --epsilon": {"help": "Privacy loss ε to spend."},
    "--delta": {"default": "0", "help": "δ to spend; needed for groups that the card does not declare."},
    "--rho": {"help": "Instead of --epsilon: ρ to spend (zCDP, Gaussian noise)."},
    "--analyst": {"help": "Who asks, in a workspace; default: analyst."},
    "--dry-run": {"action": "store_true", "help": "Show the price and spend nothing."},
    "--to": {"help": "Variable for the answer, which is displayed as well."},
}


def load_ipython_extension(shell: Any) -> None:
    """Define the cell magic ``%%ask`` in an IPython shell: ``%load_ext discreet`` calls this."""
    from IPython.core import magic_arguments
    from IPython.core.error import UsageError

    from discreet.errors import DiscreetError

    untyped: Any = magic_arguments
    parser = untyped.MagicArgumentParser("%%ask", description=_ABOUT, add_help=False)
    for names, options in _ARGUMENTS.items():
        parser.add_argument(*names.split(), **options)

    def ask(line: str, cell: str) -> Any:
        given = parser.parse_argstring(line)
        spent = {name: getattr(given, name) for name in ("epsilon", "delta", "rho")}
        if given.analyst:
            spent["analyst"] = given.analyst
        held = shell.user_ns.get(given.curator)
        curator = held if isinstance(held, str) or hasattr(held, "ask_all") else given.curator
        try:
            found = _answered(curator, cell, spent, given.dry_run)
        except DiscreetError as error:
            raise UsageError(str(error)) from None  # which is shown without a traceback
        if given.to:
            shell.user_ns[given.to] = found
        return found

    ask.__doc__ = parser.format_help()
    shell.register_magic_function(ask, "cell", "ask")


def _answered(curator: Any, cell: str, spent: dict[str, Any], dry_run: bool) -> Any:
    from discreet.curator.curator import Curator
    from discreet.service.client import connect
    from discreet.verbs.ask.question import questions_in

    questions = questions_in(cell)
    with ExitStack() as stack:
        if isinstance(curator, str):
            opened = connect(curator) if curator.startswith(("http://", "https://")) else Curator(curator)
            curator = stack.enter_context(opened)
        found = (curator.price_all if dry_run else curator.ask_all)(questions, **spent)
        return found[0] if len(found) == 1 else found
