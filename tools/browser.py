"""A real Chromium before a real service: what the browser tests and the screenshots share."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
PATIENCE_SECONDS = 600
"""Seconds: how long the service may take to start on a busy machine."""
PASSWORD = "a walk on the beach"  # noqa: S105  of everybody in a made-up hospital who has signed in before


def chromium() -> str | None:
    """Where the browser is; Playwright's own is not used."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def launched(playwright: Playwright) -> Browser:
    """A headless Chromium."""
    return playwright.chromium.launch(executable_path=chromium(), headless=True, args=list(FLAGS))


@dataclass(frozen=True)
class Clinic:
    """The workspace of a made-up hospital, and its people: the sessions of some, the one-time passwords of others."""

    folder: Path
    sessions: dict[str, str]
    passwords: dict[str, str]


def clinic(folder: Path, rows: int, analysts: Sequence[str], *, new: Sequence[str] = ()) -> Clinic:
    """A new one with a steward, an auditor and analysts who may ask both tables; those in ``new`` never signed in."""
    from discreet.core.loss import Approximate
    from discreet.curator.curator import Curator
    from discreet.curator.people.person import Role
    from discreet.samples import hospital
    from discreet.service.operations.operations import Operations

    paths = hospital(rows, seed=1).write(folder / "data")
    tables = {name: (paths[name], folder / "data" / "hospital.toml") for name in ("patients", "visits")}
    with Curator.create(folder / "clinic", tables, Approximate(3, "1e-6"), analyst=None) as curator:
        for name in analysts:
            curator.add_analyst(name, Approximate(1, "1e-7"))
    roles = {"steward": Role.STEWARD, "auditor": Role.AUDITOR} | dict.fromkeys(analysts, Role.ANALYST)
    with Operations(folder / "clinic") as desk:
        passwords = {name: desk.people.add(name, role) for name, role in roles.items()}
        sessions = {}
        for name in set(roles) - set(new):
            desk.people.change_password(name, passwords[name], PASSWORD)
            passwords[name] = PASSWORD
            sessions[name] = desk.people.sign_in(name, PASSWORD).token
    return Clinic(folder / "clinic", sessions, passwords)


def seated(context: BrowserContext, address: str, token: str) -> None:
    """Give a browser somebody's session, as if they had signed in with it."""
    cookie = {"name": "discreet_session", "value": token, "url": address, "httpOnly": True, "sameSite": "Strict"}
    context.add_cookies([cookie])


@contextmanager
def serving(folder: Path, log: Path) -> Iterator[str]:
    """``discreet serve`` on a free port, in a process of its own; the address it answers at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [Path(sys.executable).with_name("discreet"), "serve", folder, "--port", str(port), "--no-open"]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _await(address, process, log)
            yield address
        finally:
            process.terminate()


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"The service ended at once:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{address}/v1/health", timeout=5):  # noqa: S310
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"The service does not answer:\n{log.read_text()}")
