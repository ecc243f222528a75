"""Format versions: the number that everything kept on disk carries, and the migrations from one number to the next.

A ``Format`` belongs to one kind of file, folder or database. What is older is brought up to date step by step; what is
newer is refused, since reading it half would be a guess. No step can be left half done:

* a document (release, workspace, survey, reports, journal) is migrated in memory each time it is read and is never
  written over, so what was hashed or sealed stays as it was;
* a database (ledger, service database) is migrated when it is opened: all steps and the new number in one transaction
  (``budget/store.py``).

docs/formats.md lists all formats and says how to add a migration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from discreet._version import __version__
from discreet.errors import BadInput, Damaged, DiscreetError

T = TypeVar("T")


@dataclass(frozen=True)
class Migration(Generic[T]):
    """The step from one version to the next."""

    discreet: str
    """The first release of discreet that writes the version it leads to."""
    step: Callable[[T], None]
    """Changes a document, or the database of a session, in place."""


@dataclass(frozen=True)
class Format(Generic[T]):
    """A format with its history."""

    name: str
    """What it is the format of, in messages."""
    migrations: Mapping[int, Migration[T]] = field(default_factory=dict)
    """By the version that each leads to: 2, 3, …"""
    unmarked: bool = False
    """Whether a document without a number has version 1: so it was written before there were numbers."""
    error: type[DiscreetError] = BadInput
    """What is raised if a version is too new."""

    def __post_init__(self) -> None:
        if list(self.migrations) != list(range(2, self.version + 1)):
            raise ValueError(f"The migrations of the format {self.name!r} are not numbered 2, 3, … without a gap.")

    @property
    def version(self) -> int:
        """The version that is written now."""
        return 1 + len(self.migrations)

    @property
    def needs(self) -> str:
        """The first release of discreet that reads this version; empty for the first version, which all read."""
        return self.migrations[self.version].discreet if self.migrations else ""

    def mark(self) -> dict[str, Any]:
        """The fields by which a document says its version and, after the first, which discreet it needs."""
        return {"format": self.version} | ({"discreet": self.needs} if self.needs else {})

    def read(self, document: Mapping[str, Any], place: object) -> dict[str, Any]:
        """A document that carries its own mark: without it, and up to date."""
        said: Any = dict(document)
        stored = said.pop("format", 1 if self.unmarked else None)
        needs = said.pop("discreet", "") if stored != 1 else ""
        self.migrate(said, stored, place, needs)
        return dict(said)

    def migrate(self, value: T, stored: object, place: object, needs: object = "") -> None:
        """Bring a value from its stored version to the current one, each step once and in order.

        ``needs`` is the discreet that is known to read it, in case this one does not.
        """
        if type(stored) is not int or stored < 1:
            raise Damaged(f"The {self.name} {place} does not say its format.", hint="Restore it from a copy.")
        if stored > self.version:
            known = isinstance(needs, str) and re.fullmatch(
                r"[0-9]+(\.[0-9a-z]+)*", needs
            )  # others may have written it
            raise self.error(
                f"The {self.name} {place} has format {stored}; discreet {__version__} reads formats up to "
                f"{self.version}.",
                hint=f"Install discreet {needs} or later." if known else "Install a later version of discreet.",
            )
        for number in range(stored + 1, self.version + 1):
            self.migrations[number].step(value)
