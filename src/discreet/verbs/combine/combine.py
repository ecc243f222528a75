"""Combine: several holders compute together and share only the result (secure multiparty computation).

``simulate`` runs a whole session in one process, by the code that runs between hosts; for teaching and tests.

    simulation = discreet.verbs.combine.simulate("ring", {"north": 100, "south": 200, "east": 300, "west": 400})
    simulation.result                    # 1000
    simulation.show("south")             # what south saw, as a picture
    simulation.leakage("south", "west")  # what these two together would learn

Nothing here is secret: anyone who holds all values in one process may look at all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from discreet.core.document import dumps
from discreet.core.exact import Number
from discreet.core.statement import Statement
from discreet.core.text import number
from discreet.errors import BadInput, NotDeclared
from discreet.noise.entropy import SYSTEM
from discreet.noise.stream import Stream
from discreet.verbs.combine import bus, session
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Broadcast, Effect, Send
from discreet.verbs.combine.picture import MessageDiagram, draw_messages
from discreet.verbs.combine.summary import expected_error
from discreet.verbs.combine.terms import Result, TermOptions, Terms
from discreet.verbs.combine.transcript import TranscriptEntry, transcript_entries

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.verbs.combine.session import Charge
    from discreet.verbs.combine.symbolic.leakage import Leakage

SIMULATED = (
    "This was a simulation: one process held every party's data and saw every message, so nothing was kept secret "
    "between parties."
)
NOISE_NOT_CHARGED = "The result has noise, but no privacy loss is promised: no ledger was charged."
DEFAULT_BOUNDS: tuple[Number, Number] = (0, 1_000_000)
"""Bounds of values where none are given: made up, for teaching."""


def combine(
    source: Mapping[str, Any] | str | Path,
    data: Any = None,
    *,
    protocol: str = "masks",
    function: str = "sum",
    bounds: tuple[Number, Number] | str | None = None,
    decimals: int = 0,
    threshold: int = 0,
    adder: str = "",
    epsilon: Number | None = None,
    delta: Number = 0,
    honest: int = 0,
    unit: str = "person",
    drops: Mapping[str, str] | None = None,
    seed: int | None = None,
    name: str | None = None,
    keys: str | Path | None = None,
    unit_column: str | None = None,
    charge: Charge | None = None,
    attempt: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Release[Any]:
    """Compute a function of several holders' data: take part in a session, or simulate all parties in this process.

    With a manifest, ``combine("pay.toml", 31_000, name="north")``, this process is one party, and ``data`` is what it
    brings: a number, a list of numbers, columns by name, a data frame, a table of ``dc.read``, or the path of a file.
    The manifest says what is computed. ``name`` is the party, by default the one whose key lies in ``keys`` (by
    default beside the manifest). If there is noise inside, ``unit_column`` says whose each row of a file is (``-`` if
    each row is another person's), and ``charge``, a ``LedgerCharge``, charges the loss before the first message.
    Called again after a crash, it resumes; ``Aborted`` says who was missing or broke the rules, and what was charged.
    If no one had sent anything of its data by then, all may call it again with the next ``attempt``, 2 at first.

    With all parties' data, ``combine({"north": 3, "south": 4})``, every party runs in this process, for teaching and
    tests: the statement says so, and promises nothing. ``protocol``, ``function`` and the others are the session's
    terms, ``drops`` and ``seed`` those of ``simulate``.

    ``release.payload`` is the result, ``release.holder`` the transcript of what this process saw: of one party, or of
    all (``release.holder.details`` is then the ``Simulation``).
    """
    terms: dict[str, Any] = {"function": function, "bounds": bounds, "decimals": decimals, "threshold": threshold}
    terms |= {"adder": adder, "epsilon": epsilon, "delta": delta, "honest": honest, "unit": unit}
    terms |= {"drops": drops, "seed": seed}
    of_a_party: dict[str, Any] = {"name": name, "keys": keys, "unit_column": unit_column, "charge": charge}
    of_a_party |= {"attempt": attempt}
    if isinstance(source, str | Path):
        defaults = signature(combine).parameters
        options = {"protocol": protocol, **terms}
        if wrong := [option for option, value in options.items() if value != defaults[option].default]:
            raise BadInput(
                f"{', '.join(wrong)}: the manifest already determines what is computed.",
                hint="Leave it out, or make a new manifest.",
            )
        from discreet.verbs.combine.participation import take_part

        return take_part(source, data, progress=progress, **of_a_party)
    if wrong := [option for option, value in {"data": data, **of_a_party}.items() if value is not None]:
        raise BadInput(
            f"{', '.join(wrong)}: only for one party of a session between hosts, and here all parties are given.",
            hint='Give the manifest, such as dc.combine("pay.toml", 31_000), or leave it out.',
        )
    from discreet.verbs.combine.release import release_session, transcript_copy

    simulation = simulate(protocol, source, **terms)
    noise = (NOISE_NOT_CHARGED,) if epsilon is not None else ()
    caveats = (SIMULATED, *noise, *simulation.notes, *simulation.result.revealed)
    return release_session(
        simulation.terms,
        simulation.result,
        Statement(unit, caveats=caveats),
        transcript_copy(simulation.messages, simulation.show, simulation),
        title=simulation.title,
        seed=seed,
    )


@dataclass(frozen=True)
class Simulation:
    """Outcome of a simulated session, with every party's view."""

    terms: Terms
    result: Result
    """Result that all parties learn."""
    statement: Statement
    messages: tuple[TranscriptEntry, ...]
    """All messages, in their order."""
    values: Mapping[str, str]
    """Data of each party, in a few words."""
    left: tuple[str, ...] = ()
    """Parties that dropped out."""
    drops: Mapping[str, str] = field(default_factory=dict)
    """Kind of message before which each of them dropped out."""
    made_up: bool = False
    """Whether the bounds were made up, because none were given."""

    def view(self, party: str) -> tuple[TranscriptEntry, ...]:
        """Messages that a party sent or received."""
        self._require(party)
        return tuple(one for one in self.messages if party == one.of or party in one.to)

    def show(self, party: str = "") -> MessageDiagram:
        """All messages as a picture and a list; of a party, only what that party saw."""
        if not party:
            caption = " ".join((self.result.caption, *self.notes))
            return draw_messages(self.title, self.terms.parties, self.messages, values=self.values, caption=caption)
        lines, own = self.view(party), {party: self.values[party]}
        return draw_messages(f"{self.title}: what {party} saw", self.terms.parties, lines, values=own, me=party)

    def leakage(self, *parties: str) -> Leakage:
        """What some parties together learn beyond their own values and the result."""
        from discreet.verbs.combine.symbolic.leakage import leakage

        for party in parties:
            self._require(party)
        return leakage(session.require_sums(self.terms), self.terms.parties, parties, drops=self.drops)

    def __str__(self) -> str:
        return "\n".join((self.title, str(self.result), *self.notes, str(self.statement)))

    def __repr__(self) -> str:
        return f"<Simulation: {self.title}, {number(len(self.messages), 'message')}>"

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    @property
    def title(self) -> str:
        """Function, protocol and number of parties."""
        among = number(len(self.terms.parties), "party", "parties")
        return f"{self.terms.function} by {self.terms.protocol} among {among}"

    @property
    def notes(self) -> list[str]:
        """Dropouts, expected error and made-up bounds, as full sentences."""
        notes = [f"{' and '.join(self.left)} dropped out."] if self.left else []
        if off := expected_error(self.terms, len(self.terms.parties) - len(self.left)):
            notes.append(off)
        if self.made_up:
            low, high = DEFAULT_BOUNDS
            notes.append(
                f"No bounds were given, so {low:,} to {high:,} were assumed; between hosts all must declare them."
            )
        return notes

    def _require(self, party: str) -> None:
        if party not in self.terms.parties:
            raise BadInput(f"{party} is not one of {', '.join(self.terms.parties)}.")


def simulate(
    protocol: str,
    values: Mapping[str, Any],
    *,
    function: str = "sum",
    drops: Mapping[str, str] | None = None,
    seed: int | None = None,
    **options: Unpack[TermOptions],
) -> Simulation:
    """Run a whole session in this process: each party's value is a number, a list of numbers, columns or a data frame.

    The options are those of ``Terms`` and ``bounds``, which no value is below or above; without them some are made up,
    and the result says so. ``drops`` says who drops out before its first message of a kind: with ``masks`` and a
    threshold these are keys, shares, masked, survivors and unmask, so ``{"east": "masked"}`` takes east out of the sum.
    A ``seed`` makes everything random repeatable, for pictures in a lecture.
    """
    if not isinstance(values, Mapping):
        raise BadInput("Name the party of each value.", hint='Write {"north": 100, "south": 200}')
    declared = options.get("bounds") is not None
    if not declared:
        options["bounds"] = DEFAULT_BOUNDS
    terms = session.agree_terms(tuple(map(str, values)), protocol, function, **options)
    return replace(simulate_terms(terms, values, drops=drops, seed=seed), made_up=not declared and _uses_bounds(terms))


def simulate_terms(
    terms: Terms, values: Mapping[str, Any], *, drops: Mapping[str, str] | None = None, seed: int | None = None
) -> Simulation:
    """Run a session with these terms in this process."""
    digest = hashlib.sha256(dumps(terms.to_dict()).encode()).digest()
    data = {name: Data.from_value(values[name]) for name in terms.parties}
    plays = {
        name: session.play(terms, name, NumericCrypto(_secret(name, seed), digest), data[name])
        for name in terms.parties
    }
    dropouts = dict(drops or {})

    def leaves(party: str, effect: Effect) -> bool:
        return isinstance(effect, Send | Broadcast) and effect.kind.rpartition("/")[2] == dropouts.get(party)

    played = bus.play(plays, leaves=leaves)
    if never := [name for name in dropouts if name in played.results]:
        kinds = dict.fromkeys(one.kind.rpartition("/")[2] for one in played.messages if one.of == never[0])
        raise BadInput(
            f"{never[0]} cannot drop out before {dropouts[never[0]]!r}: it sends no such message.",
            hint=f"It sends {', '.join(kinds)}.",
        )
    if not played.results:
        raise next(iter(played.aborted.values()))
    result = next(iter(played.results.values()))
    return Simulation(
        terms,
        result,
        session.statement(terms),
        transcript_entries(played.messages),
        {name: _describe_data(values[name]) for name in terms.parties},
        tuple(name for name in terms.parties if name not in played.results),
        dropouts,
    )


def _secret(name: str, seed: int | None) -> bytes:
    if seed is None:
        return SYSTEM.bytes(32)
    return Stream(hashlib.sha256(str(seed).encode()).digest(), (b"simulation", name.encode())).bytes(32)


def _uses_bounds(terms: Terms) -> bool:
    """Whether the function needs the bounds of the terms."""
    try:
        session.statement(replace(terms, low=None, high=None))
    except NotDeclared:
        return True
    return False


def _describe_data(value: Any) -> str:
    if hasattr(value, "item") and not getattr(value, "shape", None):
        value = value.item()  # NumPy's
    if isinstance(value, int | float | Fraction | str):
        return f"{value:,}" if isinstance(value, int | float) else str(value)
    return number(len(value), "value") if isinstance(value, list | tuple) else "rows"
