"""Attack a release with all that its recipe tells (Kerckhoffs), and say what came of it.

Which attacks are for which releases the attacks themselves say; none is left out without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy.typing as npt

from discreet.core.families import ATTACKS
from discreet.core.release import Release, with_rows
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.read import read
from discreet.errors import BadInput, MissingPart, NotFound
from discreet.verbs.attack.candidates import Cover, cover
from discreet.verbs.attack.composition import Composition
from discreet.verbs.attack.distance_to_closest_record import ClosestRecord
from discreet.verbs.attack.finding import Attack, Finding, failed
from discreet.verbs.attack.inference import Inference
from discreet.verbs.attack.linkability import Linkability
from discreet.verbs.attack.matching import Matching
from discreet.verbs.attack.report import Report
from discreet.verbs.attack.sample_uniques import MatchedUniques
from discreet.verbs.attack.scope import Applicable
from discreet.verbs.attack.singling_out import SinglingOut
from discreet.verbs.attack.uniqueness import PopulationUniques

Array = npt.NDArray[Any]
Progress: TypeAlias = Callable[[float, str], None]
"""Called with the share of the work that is done and the attack that comes next."""

ASKED = ("population uniqueness", "composition")
"""Attacks that are run only with what they are told: how many people there are, other releases."""


def every_attack() -> tuple[Applicable, ...]:
    """All attacks on one release, in the order in which they are run."""
    return tuple(entry.build({}) for entry in ATTACKS.entries() if entry.name not in ASKED)


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
    """What intruders learn from ``release`` who know about people what is in ``known``, the original.

    ``links``, which only the holder has, say for each released row the original's row number; a release that was just
    masked has them with it. ``attacks`` are names or attacks (default: all that are for such a release); ``others`` are
    releases about the same people that an intruder may have as well. ``control``, a table like the original, holds
    people of the same kind who are known not to be in it: what is learned about them too is no risk of the release.
    ``population``: how many people the original is a random sample of, if it is one.
    """
    scene = _Scene(with_rows(release), read(known.fetch(), known.card), links)
    asked = (PopulationUniques(people=population), Composition(tuple(with_rows(other) for other in others)))
    outsiders = None if control is None else read(control.fetch(), control.card)
    named = {one.name: one for one in (*every_attack(), *asked)}
    chosen = [_controlled(one, outsiders) for one in _chosen(attacks, named)]
    say = progress or (lambda share, what: None)
    findings, beside = [], []
    for place, one in enumerate(chosen):
        name = one.name if isinstance(one, Applicable) else type(one).__name__
        say(place / len(chosen), name)
        why = one.applies(scene.release) if isinstance(one, Applicable) else None
        if why is not None:
            beside.append((name, why))
        else:
            findings.append(_run(one, name, scene))
    say(1.0, "done")
    return Report(release.title, known.card.name, tuple(findings), tuple(beside))


@dataclass(frozen=True)
class _Scene:
    """A release and what is known, rows at hand; which rows may be whose is found out once for all attacks."""

    release: Release[Any]
    known: Table
    links: Array | None
    covers: dict[tuple[str, ...], Cover] = field(default_factory=dict)

    def cover(self, columns: tuple[str, ...]) -> Cover:
        if columns not in self.covers:
            self.covers[columns] = cover(self.release, self.known, self.links, columns)
        return self.covers[columns]


def _run(one: Attack, name: str, scene: _Scene) -> Finding:
    """What the attack found; what stopped it is told and stops no other."""
    try:
        if isinstance(one, Matching):
            return one.look(lambda: scene.cover(one.columns), scene.release, scene.known)
        return one.run(scene.release, scene.known, scene.links)
    except (BadInput, MissingPart) as problem:
        return failed(name, "", str(problem))


def _chosen(attacks: Sequence[str | Attack] | None, known: Mapping[str, Attack]) -> list[Attack]:
    if attacks is None:
        return list(known.values())
    if isinstance(attacks, str):
        raise BadInput(f"Attacks are a list of names, not the text {attacks!r}.", hint=f"Write [{attacks!r}].")
    for one in attacks:
        if isinstance(one, str) and one not in known:
            raise NotFound(f"There is no attack {one!r}{meant(one, known)}.", hint=f"Known are {', '.join(known)}.")
    return [known[one] if isinstance(one, str) else one for one in attacks]


def _controlled(one: Attack, control: Table | None) -> Attack:
    """The attack with the control, if it uses one and has none of its own."""
    if isinstance(one, SinglingOut | MatchedUniques | Linkability | Inference | ClosestRecord) and one.control is None:
        return replace(one, control=control)
    return one
