"""A real Chromium before a real service; whatever its pages do that they should not fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.browser.steps import ROWS
from tests.engines.parts import require_part
from tools.browser import DESKTOP, Clinic, chromium, clinic, launched, seated, serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Page


PATIENCE = 60_000
"""Milliseconds: how long a busy machine may take for a step before the test gives up."""


@pytest.fixture(scope="package")
def chrome() -> Iterator[Browser]:
    """One browser for all tests here; it is gone before others run, since it holds the thread's event loop."""
    require_part(chromium(), "Chromium", "install chromium or google-chrome for the tests of the console")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@dataclass(frozen=True)
class Console:
    """Where a console is, and whose it is."""

    address: str
    clinic: Clinic


@pytest.fixture(scope="package")
def console(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A small clinic's. The analyst ann never signed in."""
    folder = tmp_path_factory.mktemp("browser")
    made = clinic(folder, 1_000, ["ann", "ben", "cara"], new=["ann"])
    with serving(made.folder, folder / "log") as address:
        yield Console(address, made)


@pytest.fixture
def browse(chrome: Browser, console: Console) -> Iterator[Callable[..., Page]]:
    """Opens a page in a browser of its own, as somebody or as nobody yet.

    All requests must have gone to the service, and nothing must have stumbled.
    """
    ours = urlsplit(console.address).netloc
    outside: list[str] = []
    stumbled: list[str] = []

    def seen(url: str) -> None:
        where = urlsplit(url)
        if where.scheme not in ("data", "blob") and where.netloc != ours:
            outside.append(url)

    def heard(line: ConsoleMessage) -> None:
        if line.type == "error":
            stumbled.append(f"{line.text} {line.location}")

    with ExitStack() as stack:

        def opened(who: str | None = None, **options: Any) -> Page:
            options = {"base_url": console.address, "viewport": DESKTOP} | options
            context = stack.enter_context(chrome.new_context(**options))
            context.set_default_timeout(PATIENCE)
            context.on("request", lambda one: seen(one.url))
            context.on("console", heard)
            context.on("weberror", lambda error: stumbled.append(str(error.error)))
            if who is not None:
                seated(context, console.address, console.clinic.sessions[who])
            page = context.new_page()
            page.on("websocket", lambda socket: seen(socket.url))
            return page

        yield opened
    assert outside == []
    assert stumbled == []


@pytest.fixture
def steward(browse: Callable[..., Page]) -> Page:
    return browse("steward", reduced_motion="reduce")


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    file = tmp_path / "patients.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), file)
    return file
