"""Commands called as a person calls them, without a process for each: that would be most of the tests' time."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import typer.main

from discreet.cli.main import run

_get_command = cache(typer.main.get_command)
"""The commands as Typer makes them, once: to make them takes longer than most of them."""


class Called(NamedTuple):
    """What a command left: its exit status, and what it printed."""

    code: int
    stdout: str
    stderr: str


def called(words: Sequence[str], folder: Path, width: int = 140) -> Called:
    """``discreet`` with these words in a folder, on a terminal of so many columns that nobody watches."""
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        chdir(folder),
        patch("sys.argv", ["discreet", *words]),
        patch("typer.main.get_command", _get_command),
        patch.dict(os.environ, {"COLUMNS": str(width)}),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return Called(code, *(printed.buffer.getvalue().decode() for printed in (stdout, stderr)))
