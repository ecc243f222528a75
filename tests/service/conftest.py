"""A small clinic with people who may sign in, made once in a run and copied for every module of tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.curator.people.people import People
from discreet.curator.people.person import Person, Role, Scope
from discreet.curator.people.state import State
from discreet.samples import hospital
from discreet.service.operations.operations import Operations
from discreet.service.turns import Turns

ROLES = {"steward": Role.STEWARD, "auditor": Role.AUDITOR, "ann": Role.ANALYST, "bob": Role.ANALYST}
"""Who may sign in. Of the analysts ann may ask patients and visits, and bob nothing."""
PATIENTS = 2_000
BUDGET = Approximate(3, "1e-6")
ANNS = Approximate(1, "1e-6")


@dataclass(frozen=True)
class Clinic:
    """A desk on a workspace of its own, and how to come in."""

    folder: Path
    """The workspace; the files it was registered from lie beside it."""
    desk: Operations
    tokens: dict[str, str]
    """A token for programs, by whose it is."""

    def person(self, name: str) -> Person:
        """Somebody, as the desk takes them."""
        return self.desk.people.find(name)

    def password(self, name: str) -> str:
        """Somebody's password."""
        return password_of(name)

    @property
    def steward(self) -> Person:
        return self.person("steward")

    @property
    def auditor(self) -> Person:
        return self.person("auditor")

    @property
    def ann(self) -> Person:
        return self.person("ann")

    @property
    def bob(self) -> Person:
        return self.person("bob")


def password_of(name: str) -> str:
    return f"{name} keeps nine green lanterns"


def new_desk(folder: Path) -> Operations:
    """A desk on a workspace, as the service opens it."""
    return Operations(folder)


def new_workspace(folder: Path, ledger: str | None = None) -> dict[str, str]:
    """Make a clinic in ``folder``, its rows in ``data`` beside it; a token for everybody who may sign in."""
    data = folder.parent / "data"
    hospital(PATIENTS, seed=1).write(data)
    tables = {name: (data / f"{name}.parquet", data / "hospital.toml") for name in ("patients", "visits")}
    with Curator.create(folder, tables, BUDGET, ledger=ledger, analyst=None) as curator:
        curator.add_analyst("ann", ANNS)
        state = State.open(curator.workspace)
    people = People(state)
    for name, role in ROLES.items():
        people.change_password(name, people.add(name, role), password_of(name))
    tokens = {name: people.new_token(name, "tests", 30, Scope).text for name in ROLES}
    state.close()
    return tokens


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Who was answered at a step, and what came of it, by a recorder in place of ``Turns.answer``."""
    seen: list[tuple[str, str]] = []

    async def answer(self: Turns, name: str, work: Any, release: Any) -> Any:
        try:
            made = await to_thread.run_sync(work)
        except Exception as error:
            seen.append((name, type(error).__name__))
            raise
        seen.append((name, "answered"))
        await to_thread.run_sync(release, made)
        return made

    monkeypatch.setattr(Turns, "answer", answer)
    return seen


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A clinic that nobody uses, to be copied."""
    folder = tmp_path_factory.mktemp("template")
    return folder, new_workspace(folder / "clinic")


@pytest.fixture(scope="module")
def clinic(template: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    """A clinic for the tests of a module. Its jobs are not worked on until ``clinic.desk.start()``."""
    folder, tokens = template
    place = tmp_path_factory.mktemp("service") / "home"
    shutil.copytree(folder, place)
    with new_desk(place / "clinic") as desk:
        yield Clinic(place / "clinic", desk, tokens)
