"""Where a database that is kept with the ledger's care has its place: an SQLite file, or a schema in PostgreSQL.

A ledger is made once, on purpose. Other databases (that of a service, a register of releases) are made when something
is first written to them: by one of several processes that may all come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.budget.store import POSTGRES, Contents, Store, Witness, gone
from discreet.errors import LedgerError, NotFound


@dataclass(frozen=True)
class Home:
    """A place for a database. As text it is a path, or ``postgresql://…#schema=path``."""

    path: Path
    """The SQLite file; of a schema in PostgreSQL, the path that its witness lies beside."""
    address: str = ""
    """Of the PostgreSQL database; empty for a file."""
    schema: str = ""

    @classmethod
    def parse(cls, text: str) -> Home:
        """The place that a text names."""
        if not text.startswith(POSTGRES):
            return cls(Path(text))
        address, _, rest = text.partition("#")
        schema, _, path = rest.partition("=")
        return cls(Path(path), address, schema)

    def __str__(self) -> str:
        return f"{self.address}#{self.schema}={self.path}" if self.address else str(self.path)

    def find(self, contents: Contents) -> Store | None:
        """The database, if it was ever made; ``Unsound`` if it was, and is gone."""
        if not self.address:
            from discreet.budget.sqlite import open_store, require_not_gone

            require_not_gone(self.path, contents)
            return open_store(self.path, contents) if self.path.exists() else None
        head = Witness(self.path).head()  # first: others may be making it
        try:
            return self._schema(contents, create=False)
        except NotFound:
            if head:
                raise gone(contents, f"{self.schema} in PostgreSQL", head[0]) from None
            return None

    def find_or_create(self, contents: Contents) -> Store:
        """The database, which is made if it was not there before."""
        if (found := self.find(contents)) is not None:
            return found
        if self.address:
            return self._schema(contents, create=True)
        from discreet.budget.sqlite import create_store, open_store

        try:
            create_store(self.path, contents)
        except LedgerError:
            if not self.path.is_file():  # else another process was faster
                raise
        return open_store(self.path, contents)

    def _schema(self, contents: Contents, *, create: bool) -> Store:
        from discreet.budget.postgres import PostgresStore

        store = PostgresStore(self.address, self.schema, contents, self.path)
        try:
            try:
                if create:
                    store.create()
            except LedgerError as problem:
                try:
                    store.open()  # another process was faster
                except NotFound:
                    raise problem from None
            else:
                store.open()
        except BaseException:
            store.close()
            raise
        return store
