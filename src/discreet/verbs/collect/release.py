"""Releases of collected figures: the statement to respondents, and the one place that makes the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.core.loss import Loss
from discreet.core.picture import Picture
from discreet.core.recipe import Recipe
from discreet.core.release import Release
from discreet.core.statement import Evidence, Statement


def respondent_statement(
    loss: Loss, assumes: Sequence[str], caveats: Sequence[str] = (), evidence: Evidence = Evidence.PROVED
) -> Statement:
    """Statement of local differential privacy: what each respondent is promised."""
    hidden = "That somebody took part is not hidden."
    return Statement(
        "respondent", loss, evidence=evidence, assumes=tuple(assumes), caveats=(hidden, *caveats), replaces=True
    )


def make_release(
    figures: pa.Table,
    statement: Statement,
    parameters: Mapping[str, Any],
    steps: Sequence[str],
    *,
    pictures: Sequence[Picture],
    title: str,
) -> Release[pa.Table]:
    """Make the release of estimated figures."""
    recipe = Recipe("collect", dict(parameters), tuple(steps))
    return Release(figures, statement, recipe, pictures=tuple(pictures), title=title)
