"""A workspace to try everything on: a made-up hospital, a steward, an analyst, and something to look at.

    demo/patients.parquet, visits.parquet, voters.parquet, hospital.toml   the hospital, and its cards
    demo/clinic/                                                           the workspace

It is made once, and kept: what was spent in it stays spent. No one in it exists.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.core.document import settle
from discreet.core.loss import Approximate
from discreet.curator.curator import ANALYST, Curator
from discreet.curator.people.person import Role
from discreet.errors import BadInput
from discreet.samples import hospital
from discreet.service.jobs.specs import Publish
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import HOST
from discreet.service.run import first_steward

ROWS = 20_000
_SEED = 1
_CLINIC = "clinic"
_MARK = "MADE-BY-SERVE.txt"
_REPLACEABLE = "MADE-BY-DEMO.txt"
"""What `discreet demo` leaves, which says that it may be replaced."""
_BUDGET = Approximate(3, "1e-6")
_ANALYSTS_BUDGET = Approximate(1, "1e-7")
_ASKED = (
    "SELECT sex, COUNT(*) AS patients FROM patients GROUP BY sex",
    "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward",
)


def demo_workspace(folder: Path, *, rows: int = ROWS, progress: Callable[[str, float], None] | None = None) -> Path:
    """The workspace of the demo in ``folder``, which is made if it is not there yet."""
    folder = folder.absolute()
    if (folder / _MARK).is_file():
        return folder / _CLINIC
    if folder.exists() and not (folder / _REPLACEABLE).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} is not empty.", hint="Name a new folder: discreet serve --demo FOLDER")
    try:
        with TemporaryDirectory(prefix=".discreet-", dir=folder.parent) as scratch:
            made = Path(scratch) / folder.name
            made.mkdir()
            _make(made, rows, progress)
            if folder.is_dir():
                shutil.rmtree(folder)
            settle(made, folder)
    except OSError as error:
        raise BadInput(f"No demo can be made in {folder}: {error.strerror}.", hint="Name another folder.") from error
    return folder / _CLINIC


def one_time_passwords(desk: Operations) -> dict[str, str]:
    """A new one-time password for everyone who did not choose one of their own yet."""
    return {
        one.name: desk.access.reset_password(HOST, one.name) for one in desk.access.persons(HOST) if one.must_change
    }


def _make(folder: Path, rows: int, progress: Callable[[str, float], None] | None) -> None:
    files = hospital(rows, _SEED).write(folder, progress=progress)
    cards = folder / "hospital.toml"
    tables = {name: (files[name], cards) for name in ("patients", "visits")}
    with Curator.create(folder / _CLINIC, tables, _BUDGET, analyst=None) as curator:
        curator.add_analyst(ANALYST, _ANALYSTS_BUDGET)
        for question in _ASKED:
            curator.ask(question, epsilon="0.1", analyst=ANALYST)
    with Operations(folder / _CLINIC) as desk:
        first_steward(desk)
        desk.access.add_person(HOST, ANALYST, Role.ANALYST)
        desk.submit(HOST, Publish("patients", ("k=5",), title="Patients, for research"))
    (folder / _MARK).write_text("This folder was made by `discreet serve --demo`, which keeps what was done in it.\n")
