"""`discreet mcp`: questions of a language-model agent, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from discreet.core.optional import extra
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.budget.filter import Budget


def mcp(
    folder: Annotated[
        Path | None, Argument(help="The workspace's folder.", metavar="WORKSPACE", show_default=False)
    ] = None,
    *,
    cap: Annotated[
        str,
        Option(help='Privacy loss of this conversation: "epsilon=0.5", "epsilon=0.5, delta=1e-7" or "rho=0.01".'),
    ],
    analyst: Annotated[str | None, Option(help="The agent's account, as for `discreet ask`.", metavar="NAME")] = None,
    service: Annotated[
        str | None,
        Option(help="Instead of a workspace: a running service; the token is read from DISCREET_TOKEN.", metavar="URL"),
    ] = None,
    ca: Annotated[Path | None, Option(help="With --service: the certificate that signed the service's (PEM).")] = None,
) -> None:
    """Serve one conversation of an agent over standard input and output (MCP).

    \b
    Examples:
      discreet mcp clinic --analyst agent --cap epsilon=0.5
      discreet mcp --service https://data.example.org:8640 --cap epsilon=0.5

    An MCP client starts this command. The agent sees cards, prices, budgets, answers with noise, and its own releases,
    but never rows. It pays from its account's budget, and this process spends no more than the cap, whatever is asked.
    To serve agents over HTTP: discreet serve WORKSPACE --mcp epsilon=0.5
    """
    from discreet.budget.filter import Budget
    from discreet.core.loss import parse_loss

    limit = Budget(parse_loss(cap))
    if (folder is None) == (service is None):
        raise BadInput("Name the folder of a workspace, or a --service.", hint="One of them is needed, not both.")
    if service is not None:
        if analyst is not None:
            raise BadInput("--analyst does not apply to --service.", hint="The token says who asks.")
        _serve_remote(service, ca, limit)
    elif folder is not None:
        if analyst is None:
            raise BadInput("Say whose budget the agent spends: add --analyst NAME.")
        _serve_workspace(folder, analyst, limit)


def _serve_remote(url: str, ca: Path | None, limit: Budget) -> None:
    with extra("mcp"):
        from discreet.service import agents
        from discreet.service.client import connect

    with connect(url, ca=ca) as remote:
        agents.run_stdio(agents.by_client(remote), limit)


def _serve_workspace(folder: Path, analyst: str, limit: Budget) -> None:
    with extra("mcp"):
        from discreet.service import agents
        from discreet.service.app import make_app
        from discreet.service.in_process import in_process
        from discreet.service.operations.operations import Operations
        from discreet.service.settings import Settings

    with Operations(folder) as desk:
        desk.start(jobs=False)
        app = make_app(desk, Settings(), console=False, person=desk.access.local_analyst(analyst))
        agents.run_stdio(in_process(app.state.api), limit)
