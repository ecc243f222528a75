"""What every command that listens can be told: where, by which names, and with which certificate."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, TypeAlias

from typer import Option

from discreet.core.optional import extra

Host: TypeAlias = Annotated[str, Option("--host", help="The address to listen at.")]
Port: TypeAlias = Annotated[int, Option("--port", help="The port to listen at; 0 for any that is free.")]
Cert: TypeAlias = Annotated[
    Path | None, Option("--cert", help="The certificate for TLS (PEM), with those that signed it.")
]
Key: TypeAlias = Annotated[Path | None, Option("--key", help="Its key (PEM).")]
Name: TypeAlias = Annotated[
    list[str] | None, Option("--name", help="A name by which people call this computer.", metavar="NAME")
]
Insecure: TypeAlias = Annotated[
    bool, Option("--insecure", help="Listen beyond this computer without TLS: something else encrypts.")
]


def require_parts(*parts: str) -> None:
    """An error if what it takes to serve is not installed."""
    with extra("serve"):
        for part in parts:
            if find_spec(part) is None:
                raise ModuleNotFoundError(name=part)
