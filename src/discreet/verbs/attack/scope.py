"""What an attack says of the releases it is for."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt
import pyarrow as pa

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.verbs.attack.finding import Finding

Array = npt.NDArray[Any]

_GENERALISED = ("publish", "safepub")
_SYNTHETIC = "synthesize"
"""What the methods of synthetic releases begin with; the columns that were not made up are ``kept``."""


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


def not_linked(release: Release[Any]) -> str | None:
    """Why an attack does not apply that finds people's own rows by their values; ``None`` if it does."""
    if _synthetic(release):
        return not_rows(release) or "Rows are synthetic: as a whole none is anybody's, so that there is none to find."
    return not_values(release)


def not_matched(release: Release[Any]) -> str | None:
    """Why an attack does not apply that rules rows out by what is true in them; ``None`` if it does."""
    if _synthetic(release) and not release.recipe.parameters.get("kept"):
        return not_rows(release) or "Rows are synthetic: nothing in them is true of anybody, so that it rules none out."
    return not_rows(release)


def _synthetic(release: Release[Any]) -> bool:
    return release.recipe.method.split(" ")[0] == _SYNTHETIC
