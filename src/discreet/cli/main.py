"""The `discreet` command: what exists, how errors look, and nothing else."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Option

from discreet._version import __version__
from discreet.cli import (
    ask,
    attack,
    budget,
    card,
    check,
    collect,
    combine,
    compare,
    demo,
    exposure,
    hide,
    init,
    learn,
    mcp,
    methods,
    people,
    prove,
    publish,
    serve,
    show,
    stream,
    synthesize,
    tabulate,
    upkeep,
    workspace,
)
from discreet.cli.output import Stopped, print_json
from discreet.errors import DiscreetError, Refused

_STOPPED = 130
"""The exit status of what was stopped by Ctrl-C."""

app = typer.Typer(
    name="discreet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich takes longer to load than to run a command
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init.init)
app.add_typer(card.app, name="card")
app.command("show")(show.show)
app.command("check", cls=methods.ListingCommand)(check.check)
app.command("publish", cls=methods.ListingCommand)(publish.publish)
app.command("compare", cls=methods.ListingCommand)(compare.compare)
app.command("synthesize", cls=methods.ListingCommand)(synthesize.synthesize)
app.command("learn", cls=methods.ListingCommand)(learn.learn)
app.add_typer(tabulate.app, name="tabulate")
app.add_typer(hide.app, name="hide")
app.command("attack", cls=methods.ListingCommand)(attack.attack)
app.add_typer(workspace.app, name="workspace")
workspace.app.command("backup")(upkeep.backup)
workspace.app.command("restore")(upkeep.restore)
workspace.app.command("move-ledger")(upkeep.move_ledger)
workspace.app.command("trim")(upkeep.trim)
workspace.app.command("upgrade")(upkeep.upgrade)
app.command("ask")(ask.ask)
app.add_typer(stream.app, name="stream")
app.add_typer(budget.app, name="budget")
app.command("exposure")(exposure.exposure)
app.add_typer(collect.app, name="collect", cls=methods.ListingGroup)
app.add_typer(combine.app, name="combine", cls=methods.ListingGroup)
app.command("prove")(prove.prove)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.add_typer(people.app, name="people")
app.command("methods")(methods.methods)
app.add_typer(demo.app, name="demo")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def discreet(
    debug: Annotated[bool, Option("--debug", help="Show the full traceback of an error.")] = False,
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Let sensitive data out safely.

    \b
    Begin with your own file:
      discreet init patients.csv
    """
    del version
    _asked.debug = debug


@dataclass
class _SharedOptions:
    """Options shared by all commands."""

    debug: bool = False


_asked = _SharedOptions()


def run() -> None:
    """Run the command line: a user's error is one clear paragraph, never a traceback."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")  # a terminal that cannot show a character shows a question mark
    try:
        app()
    except SystemExit as end:
        if end.code == _STOPPED:  # what typer makes of Ctrl-C
            typer.echo(str(Stopped()), err=True)
        raise
    except KeyboardInterrupt:
        raise SystemExit(_report(Stopped())) from None
    except Exception as error:
        if _asked.debug and not isinstance(error, Stopped):
            raise
        raise SystemExit(_report(error)) from None


def _report(error: Exception) -> int:
    """Print an error and return its exit status."""
    match error:
        case Stopped():
            typer.echo(str(error), err=True)
            return _STOPPED
        case BrokenPipeError():
            sys.stderr.close()
            return 0
        case DiscreetError():
            kind = "Refused" if isinstance(error, Refused) else "Error"
            if "--json" in sys.argv:
                print_json({"error": type(error).__name__, "message": error.message, "hint": error.hint.strip()})
            gap = "" if error.hint.startswith("\n") or not error.hint else " "
            typer.echo(f"{kind}: {error.message}{gap}{error.hint}", err=True)
            return 3 if isinstance(error, Refused) else 1
        case OSError():
            typer.echo(f"Error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}.", err=True)
            return 1
    typer.echo(
        f"Internal error (a bug in discreet): {type(error).__name__}. "
        "Run it again as `discreet --debug …` and report the output.",
        err=True,
    )
    return 70
