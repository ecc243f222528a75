"""A whole session in one process, for teaching and tests: the code that runs between hosts, with all messages in sight.

    told = discreet.verbs.combine.simulate("ring", {"north": 100, "south": 200, "east": 300, "west": 400})
    told.result                      # 1000
    told.show("south")               # what south saw, as a picture
    told.coalition("south", "west")  # what these two together would learn

Nothing here is secret: whoever holds all values in one process may look at all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.core.document import dumps
from discreet.core.exact import Number
from discreet.core.statement import Statement
from discreet.core.text import number
from discreet.errors import BadInput, NotDeclared
from discreet.noise.entropy import SYSTEM
from discreet.noise.stream import Stream
from discreet.verbs.combine import bus, horizontal_or_vertical
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Effect, Send, Tell
from discreet.verbs.combine.picture import Slide, drawn
from discreet.verbs.combine.session import Result
from discreet.verbs.combine.summary import error
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.tools import Numeric
from discreet.verbs.combine.transcript import Said, said

if TYPE_CHECKING:
    from discreet.verbs.combine.symbolic.learnt import Learnt

BOUNDS: tuple[Number, Number] = (0, 1_000_000)
"""What values are taken to lie between where nobody says it: made up, for teaching."""


@dataclass(frozen=True)
class Simulation:
    """What happened, and what each party saw of it."""

    terms: Terms
    result: Result
    """What the parties learn."""
    statement: Statement
    messages: tuple[Said, ...]
    """All of them, in their order."""
    values: Mapping[str, str]
    """What each party brought, in a few words."""
    left: tuple[str, ...] = ()
    """Who did not stay to the end."""
    drops: Mapping[str, str] = field(default_factory=dict)
    """Before which message each of them died."""
    made_up: bool = False
    """Whether nobody gave bounds, so that some were made up."""

    def seen(self, party: str) -> tuple[Said, ...]:
        """What a party sent or got."""
        self._require(party)
        return tuple(one for one in self.messages if party == one.of or party in one.to)

    def show(self, party: str = "") -> Slide:
        """All messages as a picture and a list; of a party, only what that party saw."""
        if not party:
            return drawn(self._title, self.terms.parties, self.messages, values=self.values, caption=self._caption)
        lines, own = self.seen(party), {party: self.values[party]}
        return drawn(f"{self._title}: what {party} saw", self.terms.parties, lines, values=own, me=party)

    def coalition(self, *parties: str) -> Learnt:
        """What some parties together learn beyond their own values and the result."""
        from discreet.verbs.combine.symbolic.coalition import learns

        for party in parties:
            self._require(party)
        return learns(horizontal_or_vertical.require_sums(self.terms), self.terms.parties, parties, drops=self.drops)

    def __str__(self) -> str:
        return "\n".join((self._title, str(self.result), *self._notes, str(self.statement)))

    def __repr__(self) -> str:
        return f"<Simulation: {self._title}, {number(len(self.messages), 'message')}>"

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    @property
    def _title(self) -> str:
        among = number(len(self.terms.parties), "party", "parties")
        return f"{self.terms.function} by {self.terms.protocol} among {among}"

    @property
    def _caption(self) -> str:
        return " ".join((f"The result is {told}." if "\n" not in (told := str(self.result)) else told, *self._notes))

    @property
    def _notes(self) -> list[str]:
        said = [f"{' and '.join(self.left)} left on the way."] if self.left else []
        if off := error(self.terms, len(self.terms.parties) - len(self.left)):
            said.append(off)
        if self.made_up:
            low, high = BOUNDS
            said.append(
                f"No bounds were given, so {low:,} to {high:,} were made up; between hosts all must declare them."
            )
        return said

    def _require(self, party: str) -> None:
        if party not in self.terms.parties:
            raise BadInput(f"{party} is not one of {', '.join(self.terms.parties)}.")


def simulate(
    protocol: str,
    values: Mapping[str, Any],
    *,
    function: str = "sum",
    bounds: tuple[Number, Number] | None = None,
    decimals: int = 0,
    threshold: int = 0,
    adder: str = "",
    epsilon: Number | None = None,
    delta: Number = 0,
    honest: int = 0,
    drops: Mapping[str, str] | None = None,
    seed: int | None = None,
) -> Simulation:
    """Let parties compute ``function`` of their ``values``: a number, a list of numbers, columns or a frame, for each.

    ``bounds`` are what no value is below or above; without them some are made up, and the result says so. ``drops``
    says who dies before its first message of a kind: with ``masks`` and a threshold these are keys, shares, masked,
    survivors and unmask, so ``{"east": "masked"}`` takes east out of the sum. A ``seed`` makes everything random come
    out the same again, for pictures in a lecture.
    """
    if not isinstance(values, Mapping):
        raise BadInput("Say whose each value is.", hint='Write {"north": 100, "south": 200}')
    terms = horizontal_or_vertical.agreed(
        tuple(map(str, values)),
        protocol,
        function,
        bounds=BOUNDS if bounds is None else _pair(bounds),
        decimals=decimals,
        threshold=threshold,
        adder=adder,
        epsilon=epsilon,
        delta=delta,
        honest=honest,
    )
    return replace(run(terms, values, drops=drops, seed=seed), made_up=bounds is None and _uses_bounds(terms))


def run(
    terms: Terms, values: Mapping[str, Any], *, drops: Mapping[str, str] | None = None, seed: int | None = None
) -> Simulation:
    """The same for terms that are already there."""
    digest = hashlib.sha256(dumps(terms.to_dict()).encode()).digest()
    held = {name: Data.of(values[name]) for name in terms.parties}
    plays = {
        name: horizontal_or_vertical.play(terms, name, Numeric(_secret(name, seed), digest), held[name])
        for name in terms.parties
    }
    played = bus.play(plays, leaves=_leaver(drops or {}))
    if never := [name for name in drops or {} if name in played.results]:
        kinds = dict.fromkeys(one.kind.rpartition("/")[2] for one in played.messages if one.of == never[0])
        raise BadInput(
            f"{never[0]} sends nothing called {(drops or {})[never[0]]!r}, before which it could die.",
            hint=f"It sends {', '.join(kinds)}.",
        )
    if not played.results:
        raise next(iter(played.aborted.values()))
    result = next(iter(played.results.values()))
    return Simulation(
        terms,
        result,
        horizontal_or_vertical.statement(terms),
        said(played.messages),
        {name: _brought(values[name]) for name in terms.parties},
        tuple(name for name in terms.parties if name not in played.results),
        dict(drops or {}),
    )


def _secret(name: str, seed: int | None) -> bytes:
    if seed is None:
        return SYSTEM.bytes(32)
    return Stream(hashlib.sha256(str(seed).encode()).digest(), (b"simulation", name.encode())).bytes(32)


def _leaver(drops: Mapping[str, str]) -> Callable[[str, Effect], bool]:
    def leaves(party: str, effect: Effect) -> bool:
        return party in drops and isinstance(effect, Send | Tell) and effect.kind.rpartition("/")[2] == drops[party]

    return leaves


def _uses_bounds(terms: Terms) -> bool:
    """Whether the terms' own bounds matter: the function would not do without them."""
    try:
        horizontal_or_vertical.statement(replace(terms, low=None, high=None))
    except NotDeclared:
        return True
    return False


def _pair(bounds: Any) -> tuple[Number, Number]:
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise BadInput(f"{bounds!r:.60} are no bounds.", hint="Write bounds=(0, 100_000)")
    return bounds[0], bounds[1]


def _brought(value: Any) -> str:
    if hasattr(value, "item") and not getattr(value, "shape", None):
        value = value.item()  # NumPy's
    if isinstance(value, int | float | Fraction | str):
        return f"{value:,}" if isinstance(value, int | float) else str(value)
    return number(len(value), "value") if isinstance(value, list | tuple) else "rows"
