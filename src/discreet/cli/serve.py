"""`discreet serve`: the curator as a service, with a console in the browser."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Cert, Insecure, Key, Name, require_parts
from discreet.cli.output import print_checks, tracking
from discreet.errors import BadInput, Damaged

if TYPE_CHECKING:
    from discreet.service.settings import Settings


def serve(
    folder: Annotated[
        Path | None, Argument(help="The workspace's folder.", metavar="WORKSPACE", show_default=False)
    ] = None,
    *,
    config: Annotated[Path | None, Option(help="Settings, as a TOML file.", metavar="FILE")] = None,
    host: Annotated[str | None, Option(help="Address to listen on; default: 127.0.0.1.")] = None,
    port: Annotated[int | None, Option(help="Port to listen on, 0 for any free one; default: 8640.")] = None,
    cert: Cert = None,
    key: Key = None,
    name: Name = None,
    insecure: Insecure = False,
    behind_proxy: Annotated[
        bool, Option("--behind-proxy", help="A proxy on this computer terminates TLS and forwards client addresses.")
    ] = False,
    agents: Annotated[
        str | None,
        Option(
            "--mcp",
            help="Serve language-model agents at /mcp; each token may spend this much until the service ends: "
            '"epsilon=0.5".',
            metavar="CAP",
        ),
    ] = None,
    postgres_port: Annotated[
        int | None,
        Option(
            "--postgres-port",
            help="Also serve SQL clients and BI tools, by PostgreSQL's protocol, on this port; usually 5433.",
            metavar="PORT",
        ),
    ] = None,
    postgres_cap: Annotated[
        str | None,
        Option(
            "--postgres-cap",
            help='What a connection of such a client may spend at most: "epsilon=0.5".',
            metavar="CAP",
        ),
    ] = None,
    local_metrics: Annotated[
        bool, Option("--local-metrics", help="Let programs on this computer read the metrics without a token.")
    ] = False,
    browser: Annotated[
        bool | None, Option("--open/--no-open", help="Open a browser; default: if there is a screen.")
    ] = None,
    check: Annotated[bool, Option("--check", help="Check the installation and the workspace, then exit.")] = False,
    demo: Annotated[
        Path | None, Option(help="Serve a made-up hospital, created in this folder.", metavar="FOLDER")
    ] = None,
) -> None:
    """Serve a workspace: sign in, ask, publish and administer in the browser.

    \b
    Examples:
      discreet serve clinic
      discreet serve clinic --host 0.0.0.0 --name data.example.org --cert cert.pem --key key.pem
      discreet serve clinic --config serve.toml
      discreet serve --demo hospital

    Without a certificate it listens on this computer only. Ctrl-C stops it. What has no option here is set in the
    --config file or by environment variables: docs/serve.md lists all settings.
    """
    from discreet.budget.filter import Budget
    from discreet.core.loss import parse_loss
    from discreet.service.configuration import configured

    options: dict[str, object] = {
        "host": host,
        "port": port,
        "cert": cert,
        "key": key,
        "names": tuple(name) if name else None,
    }
    options |= {"insecure": insecure or None, "behind_proxy": behind_proxy or None}
    options |= {"mcp": None if agents is None else Budget(parse_loss(agents)), "local_metrics": local_metrics or None}
    options |= {"postgres_port": postgres_port, "postgres_cap": _epsilon(postgres_cap)}
    settings = configured(config, os.environ, options)
    if (folder is None) == (demo is None):
        raise BadInput(
            "No workspace given: name its folder, or --demo and a new folder.",
            hint="Make a workspace first (discreet workspace init), or try: discreet serve --demo hospital",
        )
    if check:
        _check(folder or (demo or Path()) / "clinic", settings)
        return
    require_parts("argon2", "fastapi", "nicegui", "prometheus_client", "uvicorn")
    from discreet.curator.workspace import open_workspace
    from discreet.service.scratch import own_scratch

    place = folder or _made(demo or Path("demo"))
    with own_scratch(open_workspace(place).folder):
        _serve(place, settings, demo=demo is not None, browser=browser)


def _epsilon(cap: str | None) -> Fraction | None:
    """The ε of a cap on connections."""
    from discreet.core.loss import Pure, parse_loss

    if cap is None:
        return None
    loss = parse_loss(cap)
    if not isinstance(loss, Pure) or not loss.epsilon:
        raise BadInput(
            "--postgres-cap must be an epsilon above 0.",
            hint='Like --postgres-port 5433 --postgres-cap "epsilon=0.5".',
        )
    return loss.epsilon


def _serve(folder: Path, settings: Settings, *, demo: bool, browser: bool | None) -> None:
    from discreet.service import run
    from discreet.service.demo import one_time_passwords
    from discreet.service.jobs.order import JobLimits
    from discreet.service.operations.operations import Operations

    jobs = JobLimits(settings.jobs, settings.jobs_per_person, settings.jobs_waiting)
    desk = Operations(folder, jobs=jobs)
    passwords = one_time_passwords(desk) if demo else run.first_steward(desk)
    for who, text in passwords.items():  # told at once, whatever becomes of the rest
        typer.echo(f"Sign in as {who} with the one-time password {text}")

    try:
        desk.workspace.require_files()
    except Damaged as error:  # who needs no such table can be served
        typer.echo(f"Warning: {error}")

    def ready(address: str) -> None:
        typer.echo(f"discreet serves {desk.workspace.folder.name} at {address}")
        if settings.postgres_port is not None:
            typer.echo(f"SQL clients connect to port {settings.postgres_port}.")
        typer.echo(f"Ctrl-C stops it; a job that is running gets {settings.grace:.0f} seconds.")
        if run.can_show_browser() if browser is None else browser:
            run.show_browser(address)

    run.serve(desk, settings, ready=ready)


def _made(demo: Path) -> Path:
    """The workspace of the demo, which is made if it is not there yet."""
    from discreet.service.demo import demo_workspace

    with tracking("Making a hospital") as advance:
        return demo_workspace(demo, progress=lambda what, share: advance(share, what))


def _check(folder: Path, settings: Settings) -> None:
    from discreet.service.check import checks

    print_checks(checks(folder, settings))
