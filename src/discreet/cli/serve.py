"""`discreet serve`: the curator as a service, with a console in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Cert, Host, Insecure, Key, Name, Port, require_parts
from discreet.cli.output import console, grid, tracking
from discreet.errors import BadInput, Damaged

if TYPE_CHECKING:
    from discreet.service.operations.operations import Operations
    from discreet.service.settings import Settings


def serve(
    folder: Annotated[
        Path | None, Argument(help="The workspace's folder.", metavar="WORKSPACE", show_default=False)
    ] = None,
    *,
    host: Host = "127.0.0.1",
    port: Port = 8640,
    cert: Cert = None,
    key: Key = None,
    name: Name = None,
    insecure: Insecure = False,
    behind_proxy: Annotated[
        bool, Option("--behind-proxy", help="A proxy on this computer terminates TLS and forwards client addresses.")
    ] = False,
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
      discreet serve --demo hospital

    It listens on this computer alone, unless it has a certificate. Ctrl-C stops it.
    """
    from discreet.service.settings import Settings

    names = tuple(name or ())
    settings = Settings(host, port, cert, key, names, insecure, behind_proxy, open_metrics=local_metrics)
    if (folder is None) == (demo is None):
        raise BadInput(
            "No workspace given: name its folder, or --demo and a new folder.",
            hint="Make a workspace first (discreet workspace init), or try: discreet serve --demo hospital",
        )
    if check:
        _check(folder or (demo or Path()) / "clinic", settings)
        return
    require_parts("argon2", "fastapi", "nicegui", "prometheus_client", "uvicorn")
    from discreet.service import run

    desk, passwords = _opened(folder, demo)
    for who, text in passwords.items():  # told at once, whatever becomes of the rest
        typer.echo(f"Sign in as {who} with the one-time password {text}")

    try:
        desk.workspace.require_files()
    except Damaged as error:  # who needs no such table can be served
        typer.echo(f"Warning: {error}")

    def ready(address: str) -> None:
        typer.echo(f"discreet serves {desk.workspace.folder.name} at {address}")
        typer.echo(f"Ctrl-C stops it; a job that is running gets {settings.grace:.0f} seconds.")
        if run.can_show_browser() if browser is None else browser:
            run.show_browser(address)

    run.serve(desk, settings, ready=ready)


def _opened(folder: Path | None, demo: Path | None) -> tuple[Operations, dict[str, str]]:
    """The service's operations, and one-time passwords to show."""
    from discreet.service.operations.operations import Operations
    from discreet.service.run import first_steward

    if folder is not None:
        desk = Operations(folder)
        return desk, first_steward(desk)
    from discreet.service.demo import demo_workspace, one_time_passwords

    with tracking("Making a hospital") as advance:
        desk = Operations(demo_workspace(demo or Path("demo"), progress=lambda what, share: advance(share, what)))
    return desk, one_time_passwords(desk)


def _check(folder: Path, settings: Settings) -> None:
    from discreet.service.check import checks

    found = list(checks(folder, settings))
    rows = (("ok" if one.well else "not ok", one.what, one.said) for one in found)
    console().print(grid("", "looked at", "found", rows=rows))
    if not all(one.well for one in found):
        raise typer.Exit(1)
