"""Where a ledger can live, for the suites that run on every kind."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from discreet.budget.ledger import SqlLedger, create_ledger, create_postgres, open_ledger, open_postgres


@dataclass(frozen=True)
class Home:
    """A place for one ledger: a path, or an address and a schema; and the path beside which its witness is."""

    where: str
    schema: str | None
    witness: Path

    def create(self) -> SqlLedger:
        if self.schema is None:
            return create_ledger(self.where)
        return create_postgres(self.where, schema=self.schema, witness=self.witness)

    def open(self) -> SqlLedger:
        if self.schema is None:
            return open_ledger(self.where)
        return open_postgres(self.where, schema=self.schema, witness=self.witness)

    @property
    def order(self) -> dict[str, Any]:
        """Where it is, for a worker."""
        return {"where": self.where, "schema": self.schema, "witness": str(self.witness)}

    @contextmanager
    def tampering(self) -> Iterator[Callable[..., object]]:
        """A way to run SQL as somebody with full access to the database could."""
        if self.schema is None:
            with closing(sqlite3.connect(self.where, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous = OFF")
                file.execute("DROP TRIGGER IF EXISTS no_update")
                file.execute("DROP TRIGGER IF EXISTS no_delete")
                yield file.execute
        else:
            with psycopg.connect(self.where, autocommit=True) as server:
                server.execute(f"SET search_path = {self.schema}; SET synchronous_commit = off")
                server.execute("DROP TRIGGER IF EXISTS append_only ON lines")
                yield lambda sql, values=(): server.execute(sql.replace("?", "%s"), values)


class Nursery:
    """Starts workers, and waits for them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, **order: Any) -> int:
        """The process id of a new worker."""
        return self._order(order)

    def wait(self, child: int) -> int:
        """How a worker ended."""
        return self._order({"do": "wait", "child": child})

    def _order(self, order: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def nursery() -> Iterator[Nursery]:
    """A process that has imported what workers need, and has nothing open."""
    command = [sys.executable, str(Path(__file__).with_name("ledger_worker.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Nursery(process)
