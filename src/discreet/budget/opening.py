"""A ledger by where it is: a path for SQLite, an address for PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from discreet.budget.ledger import SqlLedger

_POSTGRES = ("postgresql://", "postgres://")


def create_ledger(where: str | Path, *, witness: Path | None = None) -> SqlLedger:
    """A new ledger, where there must be none yet; ``witness`` is as for ``open_ledger``."""
    if str(where).startswith(_POSTGRES):
        from discreet.budget.postgres import create_postgres

        return create_postgres(str(where), witness=witness)
    from discreet.budget.sqlite import create_sqlite

    return create_sqlite(where)


def open_ledger(where: str | Path, *, witness: Path | None = None) -> SqlLedger:
    """The ledger that is there, if it is sound. A missing one is an error: an empty one would forget everything.

    How far a ledger had come is kept in files beside the path ``witness``; those of an SQLite file lie beside it.
    """
    if str(where).startswith(_POSTGRES):
        from discreet.budget.postgres import open_postgres

        return open_postgres(str(where), witness=witness)
    from discreet.budget.sqlite import open_sqlite

    return open_sqlite(where)
