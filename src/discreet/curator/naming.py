"""What tables of a workspace may be called, and what is written down of where their rows came from: no password."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from discreet.engines.read import parse_address, shown
from discreet.errors import BadInput

IN_MEMORY = " in memory"
"""How the place of rows ends that came from no file and no database."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_SECRET = re.compile(r"://[^/?@]*:[^@]+@|[?&;/](password|sslpassword|token)=", re.IGNORECASE)


def where_from(source: Any, beside: Path) -> str:
    """Where rows came from: an address without its password, or a path as seen from the folder of the workspace."""
    if not isinstance(source, str | Path):
        return f"{type(source).__name__}{IN_MEMORY}"
    return shown(str(source)) if parse_address(str(source)) else os.path.relpath(Path(source).absolute(), beside)


def require_names(tables: Collection[str]) -> None:
    """An error unless SQL can tell these names apart, and there is one."""
    if not tables:
        raise BadInput("A workspace needs a table to ask about.")
    for name in tables:
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"{name!r} cannot be a table's name.",
                hint="Use up to 40 letters, digits and underscores, no digit first.",
            )
    if len({name.lower() for name in tables}) < len(tables):
        raise BadInput("Two tables have the same name; SQL does not tell case apart.")


def require_no_secret(address: str) -> None:
    """An error if an address says more than where something is."""
    if parse_address(address) is not None and _SECRET.search(address):
        raise BadInput(
            f"The address {shown(address)} holds a password or a token, which would be written to workspace.toml.",
            hint="Leave it out; for PostgreSQL set PGPASSWORD, or put it into a .pgpass file.",
        )
