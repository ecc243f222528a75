"""`discreet prove`: is this program really private?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Json
from discreet.cli.output import bold, console, print_json, working
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.verbs.prove.programs import LoadedProgram
    from discreet.verbs.prove.verdicts import ProofVerdict

_REFUTED, _UNKNOWN = 1, 4
"""Exit statuses."""


def prove(
    file: Annotated[Path, Argument(help="A program (.dp), or Python with marked functions (.py).", metavar="PROGRAM")],
    *,
    program: Annotated[
        str | None, Option("--program", "-p", help="Program in the file; default: the last one.", metavar="NAME")
    ] = None,
    seconds: Annotated[float, Option(help="Time limit of the search, CPU seconds.")] = 20,
    infer: Annotated[bool, Option("--infer", help="Find the smallest epsilon that can be proved.")] = False,
    save: Annotated[bool, Option("--save", help="Save the certificate next to the program: NAME.proof.json.")] = False,
    check: Annotated[Path | None, Option(help="Check this saved certificate.", metavar="PROOF")] = None,
    html: Annotated[
        Path | None, Option(help="Draw both runs and the proof (or the counterexample) to this HTML file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove that a program is differentially private, or find two neighbours that break its claim.

    \b
    Examples:
      discreet prove svt.dp
      discreet prove svt.dp --save --html svt.html
      discreet prove svt.dp --check svt.proof.json
      discreet prove mechanisms.py --program noisy_max --infer

    The exit status is 0 if the claim is proved, 1 if it is refuted and 4 if neither could be shown.
    """
    from discreet.verbs.prove.programs import load_program

    if check is not None and (infer or save):
        raise BadInput("--check takes neither --infer nor --save: leave them out.")
    loaded = load_program(file, program)
    if infer:
        _infer(loaded, seconds, as_json=as_json)
        return
    verdict = _checked(loaded, check, seconds)
    if html is not None:
        from discreet.verbs.prove.picture import draw_verdict

        html.write_text(draw_verdict(verdict).page, encoding="utf-8")
    if save:
        _save(verdict, file)
    if as_json:
        print_json(verdict.to_dict())
    else:
        _print(verdict, save=save, file=file, html=html)
    if not verdict.proved:
        raise typer.Exit(_UNKNOWN if verdict.word == "UNKNOWN" else _REFUTED)


def _checked(loaded: LoadedProgram, proof: Path | None, seconds: float) -> ProofVerdict:
    from discreet.verbs.prove.certificate import read_certificate
    from discreet.verbs.prove.prove import prove, recheck

    if proof is None:
        with working(f"Looking at {loaded.program.name}"):
            return prove(loaded, seconds=seconds)
    with working(f"Checking {proof}"):
        return recheck(loaded, read_certificate(proof))


def _infer(loaded: LoadedProgram, seconds: float, *, as_json: bool) -> None:
    from discreet.verbs.prove.prove import infer_epsilon

    with working(f"Looking for the smallest epsilon of {loaded.program.name}"):
        found = infer_epsilon(loaded, seconds=seconds)
    if as_json:
        print_json({"program": loaded.program.name, "epsilon": found})
    elif found is None:
        console().print(f"No epsilon was found for which {loaded.program.name} can be proved.")
    else:
        console().print(bold(f"{loaded.program.name} is proved for {found}, and no smaller epsilon that was tried."))
    if found is None:
        raise typer.Exit(_UNKNOWN)


def _save(verdict: ProofVerdict, file: Path) -> None:
    from discreet.verbs.prove.certificate import write_certificate
    from discreet.verbs.prove.verdicts import Proved

    if isinstance(verdict, Proved):
        write_certificate(verdict.certificate, _proof(file))


def _proof(file: Path) -> Path:
    return file.with_suffix(".proof.json")


def _print(verdict: ProofVerdict, *, save: bool, file: Path, html: Path | None) -> None:
    out = console()
    first, *rest = str(verdict).splitlines()
    out.print(bold(first), soft_wrap=True)
    for line in rest:
        out.print(line, soft_wrap=True)
    if save and verdict.proved:
        out.print(f"The proof is in {_proof(file)}: discreet prove {file} --check {_proof(file)}", soft_wrap=True)
    if html is not None:
        out.print(f"Drawn in {html}.", soft_wrap=True)
