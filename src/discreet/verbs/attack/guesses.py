"""What attacks that guess share: how often they are right about people in the data, others, and by mere guessing.

A release also teaches about people who are not in it: that is what it is for. So success is compared with a control,
people of the same kind whose rows were not used (Giomi, Boenisch, Wehmeyer and Tasnádi 2023, "A unified framework for
quantifying privacy risk in synthetic data"). Without a control only mere guessing is there to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.card import Role
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError, NotFound
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Finding, Outcome, clopper_pearson, outcome, rank
from discreet.verbs.attack.linkage import every
from discreet.verbs.attack.linkage_matrix import Sight, side_by_side

Array = npt.NDArray[Any]

_PAIRS = 100_000_000

_NO_CONTROL = "There is no control to say how much of that is general."

GUESSES = 1_000
"""So many guesses an attack makes, unless told otherwise."""


@dataclass(frozen=True)
class Guesses:
    """Of each guess with what probability it is right."""

    right: Array
    victims: Array
    """Whom each guess is about: row numbers of the original."""
    control: Array | None
    """The same, about people who are not in the data; None if there are none to compare with."""
    naive: float
    """What guessing without the release gives."""
    blind: float = 0.0
    """What may be reached, without a control, although nothing is known of anybody: only more is learned."""
    scale: float = 1.0
    """The control's share, times this, bounds what as many people as in the data would give; 1 if they are as many."""


def judged(attack: str, knows: str, guesses: Guesses, meaning: str, details: Mapping[str, Any]) -> Finding:
    """The finding: something was learned if more guesses are right than by guessing and, surely, than of the control.

    Both ends of the risk's interval take the worse ends of two intervals of 97.5 %, so that it covers in 95 %.
    """
    right, count = float(guesses.right.sum()), len(guesses.right)
    main, interval = right / count, clopper_pearson(right, count)
    baseline, told = guesses.naive, {"guessing": guesses.naive}
    outcomes = [outcome(main, interval, guesses.naive)]
    if guesses.control is None:
        outcomes.append(outcome(main, interval, guesses.blind))
        meaning += f" {_NO_CONTROL}"
    else:
        others, trials = float(guesses.control.sum()), len(guesses.control)
        control = min(guesses.scale * others / trials, 1.0)
        ends = [clopper_pearson(*one, confidence=0.975) for one in ((right, count), (others, trials))]
        least, most = (min(guesses.scale * end, 1.0) for end in ends[1])
        low, high = risk(ends[0][0], most), risk(ends[0][1], least)
        told |= {"control": control, "risk": risk(main, control), "risk from": low, "risk to": high}
        baseline = max(baseline, control)
        outcomes.append(outcome(risk(main, control), (low, high), 0.0))
    came = max(outcomes, key=rank)
    sure = guesses.victims[guesses.right >= 1.0] if came is not Outcome.NOTHING else guesses.victims[:0]
    return Finding(
        attack,
        knows,
        came,
        main,
        interval,
        baseline,
        meaning,
        tuple(map(int, dict.fromkeys(sure.tolist())))[:SHOWN_VICTIMS],
        {"guesses": count, **told, **details},
    )


def risk(main: float, control: float) -> float:
    """What the release adds to the attack, as a share of what it could add; not below 0."""
    return max((main - control) / (1 - control), 0.0) if control < 1 else 0.0


@dataclass(frozen=True)
class Sides:
    """The release, the people in the data and those of the control, side by side as numbers."""

    sight: Sight
    members: int
    """So many of the people in sight are in the data; the rest are the control."""

    @property
    def people(self) -> Array:
        return self.sight.known[: self.members]

    @property
    def control(self) -> Array | None:
        return self.sight.known[self.members :] if len(self.sight.known) > self.members else None


def sides(release: Release[Any], known: Table, control: Table | None, columns: tuple[str, ...] = ()) -> Sides:
    """What can be compared: ``columns``, or all but identifiers."""
    card = known.card
    names = columns or tuple(c.name for c in card.columns if c.role is not Role.IDENTIFIER and c.name != card.unit)
    payload = release.payload
    if not isinstance(payload, pa.Table):
        raise DataError("The release is not a table of rows.")
    rows = known.fetch()
    if absent := set(names) - set(rows.column_names):
        raise NotFound(f"The attacker's table has no column {', '.join(sorted(absent))}.")
    mine = rows.select(list(names))
    members = mine.num_rows
    if control is not None:
        others = control.fetch()
        if missing := set(names) - set(others.column_names):
            raise DataError(f"The control has no column {', '.join(sorted(missing))}.")
        if not others.num_rows:
            raise DataError("There is nobody in the control.")
        mine = pa.concat_tables([mine, _like(others.select(list(names)), mine.schema)])
    nobody = np.full(payload.num_rows, -1)
    return Sides(side_by_side(payload, mine, nobody, names), members)


def attacked(people: Array, rows: Array, guesses: int) -> Array:
    """Whom to attack: evenly spaced people, as many as guesses, or fewer where there are very many rows to look at."""
    return every(len(people), max(min(guesses, _PAIRS // len(rows)), 1))


def _like(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """``rows`` as columns of the same kinds; an error if they hold something else."""
    try:
        return rows.cast(schema)
    except pa.ArrowException as problem:
        raise DataError(f"The control holds other kinds of values than the original: {problem}.") from problem
