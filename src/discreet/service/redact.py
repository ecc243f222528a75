"""Texts as people who are signed in may see them: without where things are on the server's disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

from discreet.errors import DiscreetError

_ERROR = TypeVar("_ERROR", bound=DiscreetError)
_NAME = r"[^/\s'\"“”(),;:]+"
_FOLDER = r"[^/\s'\"“”:](?:[^/\n'\"“”:]*[^/\s'\"“”:])?"
"""A folder's name may have blanks, commas and brackets in it: what is between two slashes, and not beside a blank."""
_PATH = re.compile(rf"(?<![\w./~-])(?:file:(?://[\w.-]*)?)?(/{_FOLDER})/(?:{_FOLDER}/)*({_NAME})?")


def without_paths(text: str, workspace: Path) -> str:
    """``text`` with the names of files and folders instead of their whole paths; those of a workspace begin with it.

    A path begins with a folder that there is: ``/v1/tables`` is an address of the service. Rather too much is taken for
    one than too little: words between a path and a later slash go with it.
    """
    if workspace.parent != workspace.parent.parent:
        text = text.replace(f"{workspace.parent}/", "")
    return _PATH.sub(lambda found: found[2] or "…" if Path(found[1]).exists() else found[0], text)


def redacted(error: _ERROR, workspace: Path) -> _ERROR:
    """An error, from now on without paths in its words."""
    error.message, error.hint = (without_paths(text, workspace) for text in (error.message, error.hint))
    return error
