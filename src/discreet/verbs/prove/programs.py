"""Loading of programs from a text, a file or a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from discreet.core.text import meant
from discreet.errors import BadInput, BadProgram, NotFound
from discreet.verbs.prove.parser import parse_programs
from discreet.verbs.prove.python_programs import read_function, read_module
from discreet.verbs.prove.syntax import At, Program
from discreet.verbs.prove.typecheck import check_types


@dataclass(frozen=True)
class LoadedProgram:
    """A type-checked program, the programs it may call, and their source text."""

    program: Program
    others: Mapping[str, Program]
    text: str


Source: TypeAlias = str | Path | Callable[..., Any] | LoadedProgram
"""A program's text, the file it is in (``.dp``, or ``.py`` with marked functions), or a marked Python function."""


def load_program(source: Source, name: str | None = None) -> LoadedProgram:
    """Load the program called ``name`` (by default the last one) and check its types."""
    if isinstance(source, LoadedProgram):
        return source
    return _select(*_read_source(source), name)


def load_text(text: str, *, python: bool = False) -> LoadedProgram:
    """Load the last program of a text that someone else wrote, whatever it looks like.

    ``load_program`` takes a text of one line for the path of a file; this opens none. Nothing of the text is run:
    Python is parsed (``ast``), and translated if all of it is in the language.
    """
    try:
        return _select(read_module(text) if python else parse_programs(text), text, None)
    except (RecursionError, MemoryError):
        hint = "Assign parts of it to variables."
        raise BadProgram("The program is nested too deeply.", At(1, 1), hint=hint) from None


def _select(programs: tuple[Program, ...], text: str, name: str | None) -> LoadedProgram:
    others: dict[str, Program] = {}
    for program in programs:
        check_types(program, others, text)
        if program.name == name:
            return LoadedProgram(program, others, text)
        others[program.name] = program
    if name is not None:
        raise NotFound(
            f"There is no program {name!r} here{meant(name, others)}.", hint=f"There is {', '.join(others)}."
        )
    last = programs[-1]
    del others[last.name]
    return LoadedProgram(last, others, text)


def _read_source(source: str | Path | Callable[..., Any]) -> tuple[tuple[Program, ...], str]:
    if isinstance(source, str) and ("\n" in source or not source.strip()):
        return parse_programs(source), source
    if not isinstance(source, str | Path):
        return read_function(source)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as text: {error}.") from None
    return (read_module(text) if path.suffix == ".py" else parse_programs(text)), text
