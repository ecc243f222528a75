"""What some tests need beyond Python packages."""

from __future__ import annotations

import os
import shutil

import pytest


def require_part(present: object, part: str, how: str) -> None:
    """Skip, in one line that says what to install; where nothing may be skipped (``CI=true``), fail."""
    if present:
        return
    message = f"{part} is missing: {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def java() -> str | None:
    """Where Java is, if anywhere."""
    return os.environ.get("JAVA_HOME") or shutil.which("java")
