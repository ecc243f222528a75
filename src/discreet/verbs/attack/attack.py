"""Attack a release with all that its recipe tells (Kerckhoffs), and report what was learned.

Each attack says which releases it is for; the report lists those that do not apply, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from discreet.core.families import ATTACKS
from discreet.core.holder_copy import belongs, holder_file, read_holder_copy
from discreet.core.release import Release, with_rows
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, MissingPart, NotFound
from discreet.utility.pair import require_links
from discreet.verbs.attack.composition import Composition
from discreet.verbs.attack.finding import Applicable, Array, Attack, Finding, failed_finding
from discreet.verbs.attack.guesses import ControlledAttack
from discreet.verbs.attack.matching import Candidates, Matching, find_candidates
from discreet.verbs.attack.report import Report
from discreet.verbs.attack.uniqueness import PopulationUniques

Progress: TypeAlias = Callable[[float, str], None]
"""Called with the share of the work that is done and the attack that comes next."""

_WITH_OPTIONS = ("population uniqueness", "composition")
"""Attacks that need an option: the size of the population, other releases."""
_Target: TypeAlias = tuple[Release[Any], Table, "Array | None"]
"""A release, what is known about people, and the links that tell who was right."""


def every_attack() -> tuple[Applicable, ...]:
    """All attacks on one release, in the order in which they are run."""
    return tuple(entry.build({}) for entry in ATTACKS.entries() if entry.name not in _WITH_OPTIONS)


def attack(
    release: Release[Any],
    known: Table,
    links: Array | None = None,
    attacks: Sequence[str | Attack] | None = None,
    others: Sequence[Release[Any]] = (),
    *,
    control: Table | None = None,
    population: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Attack ``release`` as intruders would who know people as they are in ``known``, the original.

    ``links``, which only the holder has, say for each released row the original's row number; a release that was just
    masked has them with it. ``attacks`` are names or attacks (default: all that are for such a release); ``others`` are
    releases about the same people that an intruder may have as well. ``control``, a table like the original, holds
    people of the same kind who are known not to be in it: what is learned about them too is no risk of the release.
    ``population``: how many people the original is a random sample of, if it is one.
    """
    target = _drawn_rows((with_rows(release), read(known.fetch(), known.card), links))
    with_options = (PopulationUniques(people=population), Composition(tuple(with_rows(other) for other in others)))
    outsiders = None if control is None else read(control.fetch(), control.card)
    named = {one.name: one for one in (*every_attack(), *with_options)}
    chosen = [
        one.with_control(outsiders) if isinstance(one, ControlledAttack) else one for one in _chosen(attacks, named)
    ]
    candidates = cache(partial(find_candidates, *target))
    report = progress or (lambda share, what: None)
    findings, not_applicable = [], []
    for place, one in enumerate(chosen):
        name = one.name if isinstance(one, Applicable) else type(one).__name__
        report(place / len(chosen), name)
        why = one.applies(target[0]) if isinstance(one, Applicable) else None
        if why is not None:
            not_applicable.append((name, why))
        else:
            findings.append(_run(one, name, target, candidates))
    report(1.0, "done")
    return Report(release.title, known.card.name, tuple(findings), tuple(not_applicable))


def _drawn_rows(target: _Target) -> _Target:
    """The same with the rows of the original that are released, if one row of each person was drawn: everyone has
    one then, as in the release. Which rows that are, only the holder knows."""
    release, known, links = target
    if release.recipe.parameters.get("people") != "one-row":
        return target
    links = release.links if links is None else links
    if links is None:
        raise DataError(
            "One row of each person was drawn for this release, and without its holder's copy it is unknown which.",
            hint="Give the holder's copy that publish wrote (--links).",
        )
    rows = known.fetch()
    require_links(links, rows.num_rows, release.payload.num_rows)
    drawn = np.sort(links[links >= 0])
    card = replace(known.card, rows_per_unit=1 if known.card.unit else None, groups_per_unit=None)
    places = np.where(links >= 0, np.searchsorted(drawn, links), -1)
    return release, read(rows.take(drawn), card), places


def _run(one: Attack, name: str, target: _Target, candidates: Callable[[tuple[str, ...]], Candidates]) -> Finding:
    """The finding of an attack; what stops it is reported and stops no other. Candidates are found once for all."""
    release, known, links = target
    try:
        if isinstance(one, Matching):
            return one.run_on(lambda: candidates(one.columns), release, known)
        return one.run(release, known, links)
    except (BadInput, MissingPart) as problem:
        return failed_finding(name, "", str(problem))


def _chosen(attacks: Sequence[str | Attack] | None, known: Mapping[str, Attack]) -> list[Attack]:
    if attacks is None:
        return list(known.values())
    if isinstance(attacks, str):
        raise BadInput(f"Attacks must be a list of names, not the text {attacks!r}.", hint=f"Write [{attacks!r}].")
    for one in attacks:
        if isinstance(one, str) and one not in known:
            raise NotFound(f"There is no attack {one!r}{meant(one, known)}.", hint=f"Choose from {', '.join(known)}.")
    return [known[one] if isinstance(one, str) else one for one in attacks]


def links_of(folder: Path, links: Path | None = None) -> Array | None:
    """Links of the release in ``folder``: for each of its rows the original's row number, from 0.

    Without ``links`` the holder's copy beside the folder is taken; ``None`` if there is none, or if it has no links. An
    error if it is of another release.
    """
    place = links or holder_file(folder)
    try:
        copy = read_holder_copy(place)
    except NotFound:
        if links is None:
            return None
        raise
    if copy.links is None:
        if links is None:
            return None
        raise DataError(f"{place} does not link rows to people.", hint="Give the holder's copy of a masked release.")
    if not belongs(copy, folder):
        raise DataError(
            f"{place} belongs to another release than {folder}, so rows cannot be linked to people.",
            hint="Give the holder's copy of this release (--links), or move this one away.",
        )
    return copy.links
