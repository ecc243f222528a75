"""What an attack says of the releases it is for."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa

from discreet.attack.finding import Finding
from discreet.core.release import Release
from discreet.core.table import Table

Array = npt.NDArray[Any]

_GENERALISED = ("publish", "safepub")


@runtime_checkable
class Applicable(Protocol):
    """An attack that knows which releases it is for."""

    @property
    def name(self) -> str:
        """What it is called in a report; no two attacks share a name."""

    def applies(self, release: Release[Any]) -> str | None:
        """``None`` if this attack is for such a release, else why not, as a sentence."""

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Attack ``release``; ``links`` tell who was right."""


def not_rows(release: Release[Any]) -> str | None:
    """Why an attack on rows does not apply; ``None`` if it does."""
    return None if isinstance(release.payload, pa.Table) else "The release is not a table of rows."


def not_values(release: Release[Any]) -> str | None:
    """Why an attack that compares values does not apply, such as to ranges and groups of them; ``None`` if it does."""
    if release.recipe.method in _GENERALISED:
        return not_rows(release) or (
            "Values were made coarser and not changed; matching by quasi-identifiers is the attack on that."
        )
    return not_rows(release)
