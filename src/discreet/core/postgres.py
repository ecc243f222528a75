"""The address of a PostgreSQL database, which tables and ledgers share."""

from __future__ import annotations

from typing import Any

from discreet.core.optional import extra
from discreet.errors import BadInput


def connection_settings(address: str) -> dict[str, Any]:
    """The parts of an address. A problem is described without quoting it: any part may be half a password."""
    with extra("postgres"):
        from psycopg import ProgrammingError, conninfo
    try:
        settings: dict[str, Any] = {"connect_timeout": 10, **conninfo.conninfo_to_dict(address)}
    except ProgrammingError:
        settings = {"port": "?"}
    ports = str(settings.get("port") or "5432").split(",")
    right = all(port.isdecimal() and 0 < int(port) < 65_536 for port in ports)
    if not right or "@" in str(settings.get("host") or ""):
        raise BadInput(
            "This is not the address of a PostgreSQL database (it is not shown, as it may hold a password).",
            hint="Expected postgresql://user:password@host:port/database, and in the password : / ? # @ % as "
            "%3A %2F %3F %23 %40 %25.",
        )
    return settings
