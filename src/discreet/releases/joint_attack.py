"""The joint attack: rows whose facts are not figures, attacked together with the rows of earlier releases.

Masked and synthetic rows tell something of everyone, and no one can say what as linear equations: they are not
checked. What an intruder gets who lays them beside the rows of earlier releases can be measured, though: the
composition attack (``verbs/attack/composition.py``) finds how many people are singled out by all together. Nothing that
it does not find is safe by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from discreet.core.release import Release, Rows
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import DiscreetError
from discreet.releases.register import Entry
from discreet.verbs.attack.attack import attack
from discreet.verbs.attack.finding import Finding, Outcome, reason_not_composable

_MOST_ROWS = 1_000_000
"""Rows of a table, at most: with as many an attack on two releases takes 2.5 CPU seconds and 1.2 GB."""
_MOST_OTHERS = 10
"""Earlier releases, the last ones, that a release is attacked together with."""

_NO_ROWS = ("tabulated", "learnt")
"""Kinds of releases that have no rows of people."""


def attack_together(release: Release[Any], table: Table, earlier: Sequence[Entry]) -> str:
    """What comes of attacking a release of a table together with the earlier ones that have rows and lie where they
    were put, in a sentence for the data steward; or why that was not done."""
    large = table.count() > _MOST_ROWS
    if isinstance(release.payload, Rows) and not large:  # not in its folder yet
        release = replace(release, payload=pq.read_table(release.payload.path))
    why = f"there are more than {_MOST_ROWS:,} rows." if large else reason_not_composable(release)
    if why is not None:
        return f"Not attacked jointly with others: {why[0].lower()}{why[1:]}"
    rows: dict[Path, Release[Any]] = {}
    for entry in reversed(earlier):
        if len(rows) == _MOST_OTHERS or not entry.release or entry.kind in _NO_ROWS:
            continue
        with suppress(DiscreetError, OSError):  # gone, or no release any more
            found = Release.load(Path(entry.release))
            if reason_not_composable(found) is None:
                rows[Path(entry.release)] = found
    if not rows:
        return "Not attacked jointly with others: none of them has rows and is still in its folder."
    others = list(rows)[::-1]
    (finding,) = attack(release, table, None, ["composition"], [rows[one] for one in others]).findings
    return f"Attacked jointly with {' and '.join(one.name for one in others)}: {_told(finding)}"


def _told(finding: Finding) -> str:
    if finding.outcome is Outcome.FAILED:
        return f"{finding.outcome.value}. {finding.meaning}"
    alone = finding.details["of these by no single release"]
    return (
        f"{finding.outcome.value}. All releases together find {finding.figure:.2%} of the people, the most revealing "
        f"one alone {finding.baseline:.2%}; {number(alone, 'person is', 'people are') if alone else 'no one is'} "
        "singled out by all together but by no single one."
    )
