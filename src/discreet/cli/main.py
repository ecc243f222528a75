"""The `discreet` command: what exists, how errors look, and nothing else."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet._version import __version__
from discreet.cli import card, demo, show
from discreet.errors import DiscreetError, Refused

app = typer.Typer(
    name="discreet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich takes longer to load than to run a command
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(card.app, name="card")
app.command("show")(show.show)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def discreet(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Let sensitive data out safely.

    \b
    Begin with a data card:
      discreet card draft patients.csv > patients.toml
    """


def run() -> None:
    """Run the command line: one clear paragraph for an error that is somebody's to mend, never a traceback."""
    debug = "--debug" in sys.argv
    try:
        app()
    except DiscreetError as error:
        if debug:
            raise
        _say(f"{_kind(error)}: {error.message}", error.hint)
        raise SystemExit(3 if isinstance(error, Refused) else 1) from None
    except KeyboardInterrupt:
        _say("Interrupted. Nothing half-written is left behind.")
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except Exception as error:
        if debug:
            raise
        _say(
            f"discreet stumbled over something it should have caught: {type(error).__name__}.",
            "Run it again as `discreet --debug …` and report what it prints.",
        )
        raise SystemExit(70) from None


def _kind(error: DiscreetError) -> str:
    return "Refused" if isinstance(error, Refused) else "Error"


def _say(message: str, hint: str = "") -> None:
    typer.echo(
        f"{message} {hint.lstrip()}".strip() if "\n" not in hint + message else f"{message}\n{hint.strip()}".strip(),
        err=True,
    )
