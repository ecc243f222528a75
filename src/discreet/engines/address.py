"""Addresses of database tables: taken apart, and shown without what is secret in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from discreet.errors import BadInput

_SCHEMES = ("postgresql", "postgres", "sc", "spark")


@dataclass(frozen=True)
class Address:
    """Where a database is, and which of its tables is meant (``""``: none is named)."""

    scheme: str
    database: str
    """All of the address before ``#``; it may hold a password, so it is never shown."""
    place: str


def parse_address(source: str) -> Address | None:
    """The address in ``source``; ``None`` if it is the name of a file."""
    scheme, found, _ = source.partition("://")
    if not found:
        if re.match(rf"({'|'.join(_SCHEMES)}):", source):
            raise BadInput("This address lacks its slashes.", hint="Write it as scheme://host/database#table.")
        return None
    if scheme not in _SCHEMES:
        raise BadInput(
            f"No engine is known for {scheme}:// addresses.", hint="Known are postgresql://, sc:// and spark://."
        )
    database, _, place = source.rpartition("#") if "#" in source else (source, "", "")
    if re.search(r"[@/:]", place):
        raise BadInput(
            "The table behind the # of this address is none.",
            hint="Write #table or #schema.table at the end; a # in a password is written %23.",
        )
    return Address(scheme, database, place)


def shown(source: str) -> str:
    """``source`` as it may be printed: a file's name as it is, an address without user, password and parameters."""
    try:
        address = parse_address(source)
        if address is None:
            return source
        parts = urlsplit(address.database)
        where = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except (BadInput, ValueError):
        return "the address given"
    name = parts.path.split(";")[0] if address.scheme.startswith("postgres") else ""
    return f"{address.scheme}://{where}{name}" + (f"#{address.place}" if address.place else "")
