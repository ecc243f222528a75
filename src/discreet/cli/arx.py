"""`discreet card from-arx`: what was set up in ARX, as a card and the command that goes on from there."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import Json, console, print_json
from discreet.errors import BadInput


def from_arx(
    project: Annotated[Path, typer.Argument(help="An ARX project.", metavar="PROJECT.deid")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the card here, if there is no such file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a card of an ARX project: attributes, their types and hierarchies.

    \b
    Example:
      discreet card from-arx clinic.deid -o clinic.toml

    The models and limits of the project are printed as the command that publishes with them. The data in the
    project is not read.
    """
    from discreet.core.cardfile import card_fields, dump_cards
    from discreet.verbs.publish.arx import from_arx as read

    if output is not None and output.exists():
        raise BadInput(f"There is a file {output} already.", hint="Name another, or move it away.")
    found = read(project)
    if output is not None:
        output.write_text(dump_cards([found.card]), encoding="utf-8")
    if as_json:
        said = {"models": found.models, "suppress": found.suppress, "levels": dict(found.levels)}
        print_json({**card_fields([found.card]), **said, "left_out": found.left_out})
        return
    if output is None:
        sys.stdout.buffer.write(dump_cards([found.card]).encode())  # TOML is UTF-8, whatever the terminal is
    words = ["discreet", "publish", "DATA", "--card", str(output or "CARD")]
    words += [word for model in found.models for word in ("--model", model)]
    words += ["--suppress", found.suppress] if found.suppress else []
    words += [word for name, levels in found.levels.items() for word in ("--level", f"{name}={levels}")]
    out = console(stderr=True)
    out.print("To publish as the project would:", shlex.join(words))
    if found.left_out:
        out.print("No counterpart was found for:", ", ".join(found.left_out))
