"""Each kind of service database in turn, empty for every test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.curator.people.places import Place, forget

from discreet.curator.people.state import State


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(tmp_path)
    address = request.getfixturevalue("postgres_address")
    with psycopg.connect(address, autocommit=True) as server:
        forget(server)
    return Place(tmp_path, address)


@pytest.fixture
def state(place: Place) -> Iterator[State]:
    opened = place.open()
    yield opened
    opened.close()
