"""A ledger by where it is: a path for SQLite, an address for PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from discreet.budget.ledger import SqlLedger

_POSTGRES = ("postgresql://", "postgres://")


def create_ledger(where: str | Path) -> SqlLedger:
    """A new ledger, where there must be none yet."""
    if str(where).startswith(_POSTGRES):
        from discreet.budget.postgres import create_postgres

        return create_postgres(str(where))
    from discreet.budget.sqlite import create_sqlite

    return create_sqlite(where)


def open_ledger(where: str | Path) -> SqlLedger:
    """The ledger that is there. A missing one is an error: an empty one in its place would forget everything."""
    if str(where).startswith(_POSTGRES):
        from discreet.budget.postgres import open_postgres

        return open_postgres(str(where))
    from discreet.budget.sqlite import open_sqlite

    return open_sqlite(where)
