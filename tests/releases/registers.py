"""What a register lists, for tests that look into it."""

from __future__ import annotations

from pathlib import Path

from discreet.releases.register import Entry, Register


def listed(place: str | Path) -> list[Entry]:
    """All entries of the register at a place."""
    with Register(str(place)) as register:
        return register.entries()
