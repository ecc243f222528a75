"""A service that SQL clients connect to, and who may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import psycopg
import pytest
from tests.service.conftest import Clinic
from tests.service.serving import MANY, Service, serving


@dataclass(frozen=True)
class Endpoint:
    """Where the service is, and the tokens of those who connect."""

    service: Service
    port: int
    tokens: dict[str, str]

    def connect(self, name: str = "ann", *, epsilon: str = "0.001", **more: object) -> psycopg.Connection[object]:
        """A connection of somebody."""
        options = f"-c discreet.epsilon={epsilon}" if epsilon else ""
        given = {
            "user": name,
            "password": self.tokens[name],
            "dbname": "clinic",
            "options": options,
            "autocommit": True,
        }
        return psycopg.connect(host="127.0.0.1", port=self.port, connect_timeout=60, **(given | more))


@pytest.fixture(scope="module")
def endpoint(clinic: Clinic) -> Iterator[Endpoint]:
    """An endpoint for the tests of a module."""
    with serving(clinic.desk, replace(MANY, postgres_port=0)) as service:
        yield Endpoint(service, service.app.state.postgres.port, clinic.tokens)
