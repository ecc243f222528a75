"""Programs from wherever they are written: a text, a file, a Python function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from discreet.core.text import meant
from discreet.errors import BadInput, NotFound
from discreet.verbs.prove.kinds import types
from discreet.verbs.prove.python import read_function, read_module
from discreet.verbs.prove.reading import read_programs
from discreet.verbs.prove.syntax import Program

Source: TypeAlias = str | Path | Callable[..., Any]
"""A program's text, the file it is in (``.dp``, or ``.py`` with marked functions), or a marked Python function."""


@dataclass(frozen=True)
class Loaded:
    """A program, those above it that it may call, and the text they were read from."""

    program: Program
    others: Mapping[str, Program]
    text: str


def load(source: Source, name: str | None = None) -> Loaded:
    """The program called ``name`` (the last one if nobody says), checked for everything that can be seen by reading."""
    found, text = _read(source)
    others: dict[str, Program] = {}
    for program in found:
        types(program, others, text)
        if program.name == name:
            return Loaded(program, others, text)
        others[program.name] = program
    if name is not None:
        raise NotFound(
            f"There is no program {name!r} here{meant(name, others)}.", hint=f"There is {', '.join(others)}."
        )
    last = found[-1]
    del others[last.name]
    return Loaded(last, others, text)


def _read(source: Source) -> tuple[tuple[Program, ...], str]:
    if isinstance(source, str) and ("\n" in source or not source.strip()):
        return read_programs(source), source
    if not isinstance(source, str | Path):
        return read_function(source)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as text: {error}.") from None
    return (read_module(text) if path.suffix == ".py" else read_programs(text)), text
