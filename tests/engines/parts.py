"""What some tests need beyond Python packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest


def require_part(present: object, part: str, how: str) -> None:
    """Skip, in one line that says what to install; where nothing may be skipped (``CI=true``), fail."""
    if present:
        return
    message = f"{part} is missing: {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def java() -> bool:
    """Whether there is a Java that Spark can use: 17 or later."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java") if home else shutil.which("java")
    if not found:
        return False
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    return version is not None and int(version[1]) >= 17
