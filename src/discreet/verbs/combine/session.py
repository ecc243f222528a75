"""A session of several parties, whether they hold different rows or different columns of the same people.

Parties with different rows (horizontally partitioned data) add up by a secure-sum protocol; parties with different
columns (vertically partitioned data) use the protocol *join* (``vertical/``). The same generator runs between hosts and
in one process. Everything that can be wrong with the terms or with the party's own data shows before its first message;
so does a budget that does not cover the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from discreet.core.exact import Number, exact, signed
from discreet.core.families import COMBINE_FUNCTIONS, SUM_PROTOCOLS, VERTICAL_FUNCTIONS
from discreet.core.loss import Loss
from discreet.core.statement import Evidence, Secrecy, Statement
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.combine import distributed_noise
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.functions.function import Function
from discreet.verbs.combine.functions.sums import Parity
from discreet.verbs.combine.protocols.masks import Dining
from discreet.verbs.combine.protocols.protocol import SumProtocol
from discreet.verbs.combine.protocols.rings import Paths
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Result, TermOptions, Terms, checked_name
from discreet.verbs.combine.vertical import session as vertical

if TYPE_CHECKING:
    from discreet.core.release import Receipt

Charge: TypeAlias = "Callable[[Loss, str], Receipt]"
"""Charges a loss on the party's own ledger, once for each key."""
JOIN = vertical.PROTOCOL
_MAX_LISTED_COALITIONS = 64


def agree_terms(parties: Sequence[str] | str, protocol: str, function: str, **options: Unpack[TermOptions]) -> Terms:
    """Make the terms of a session, and raise an error for whatever is wrong with them.

    Parties may be one text with commas, as a command has them, and bounds a text such as ``0:100000``.
    """
    if isinstance(parties, str):
        parties = [checked_name(name.strip()) for name in parties.split(",") if name.strip()]
    low, high = _bounds(options.get("bounds"))
    epsilon, others = options.get("epsilon"), {name: value for name, value in options.items() if name != "bounds"}
    exact_ones = {
        "low": None if low is None else signed(low, "the lower bound"),
        "high": None if high is None else signed(high, "the upper bound"),
        "epsilon": None if epsilon is None else exact(epsilon, "epsilon"),
        "delta": exact(options.get("delta", 0), "delta"),
    }
    terms = Terms(tuple(parties), protocol, function, **{**others, **exact_ones})  # type: ignore[arg-type]
    _require_intended(terms)
    statement(terms)
    return terms


def play(terms: Terms, name: str, crypto: NumericCrypto, data: Data, *, charge: Charge | None = None) -> Play[Result]:
    """Play the part of the party ``name``, who brings ``data``."""
    if joins(terms):
        return vertical.play(terms, name, crypto, data)  # there is no noise in it, so nothing to charge
    return _play_sums(terms, name, crypto, data, charge=charge)


def statement(terms: Terms) -> Statement:
    """State what a session with these terms promises, and raise an error for whatever is wrong with them."""
    return vertical.statement(terms) if joins(terms) else _sums_statement(terms)


def reveals(terms: Terms) -> tuple[str, ...]:
    """What every party sees besides the result, as full sentences."""
    if joins(terms):
        return vertical.revealed(terms)
    function: Function = COMBINE_FUNCTIONS.parse(terms.function)
    return function.reveals(terms)


def require_sums(terms: Terms) -> Terms:
    """These terms, if what a coalition learns can be computed for them."""
    if joins(terms):
        raise BadInput(
            "What a coalition learns is computed for secure sums, not for joins across columns.",
            hint="The statement says which coalitions a join withstands.",
        )
    return terms


def joins(terms: Terms) -> bool:
    """Whether the parties hold different columns of the same people."""
    return terms.protocol.strip() == JOIN


def hides_rows(terms: Terms) -> bool:
    """Whether there is noise that hides one row, so that no one may have several."""
    return terms.epsilon is not None and not joins(terms) and not COMBINE_FUNCTIONS.parse(terms.function).replaces


def brings_nothing(terms: Terms, name: str) -> bool:
    """Whether a party has no data to bring, and only helps the others."""
    return joins(terms) and name not in vertical.parse_checked(terms).holders(terms)


def known_functions() -> list[tuple[str, str, str]]:
    """All functions: name, how it is written, and what it gives."""
    known = [(one.name, one.kind.example, one.kind.title) for one in COMBINE_FUNCTIONS.entries()]
    for one in VERTICAL_FUNCTIONS.entries():
        known.append((one.name, one.kind.example, f"{one.kind.title} (protocol {JOIN})"))
    return known


def known_protocols() -> list[tuple[str, str, bool]]:
    """All protocols: name, how it works, and whether parties may drop out."""
    join = (JOIN, "different columns about the same people: private set intersection, then products", False)
    return [*((one.name, one.kind.title, one.kind.drops) for one in SUM_PROTOCOLS.entries()), join]


def _play_sums(terms: Terms, name: str, crypto: NumericCrypto, data: Data, *, charge: Charge | None) -> Play[Result]:
    """Play a party of secure sums; its loss is charged before its first message."""
    function: Function = COMBINE_FUNCTIONS.parse(terms.function)
    _sums_statement(terms)
    secure_sums = SecureSums(terms, name, crypto)
    if terms.epsilon is not None and not function.replaces:
        data.require_one_row_each()
    playing = function.play(secure_sums, data)
    effect = next(playing)  # the party's own data are looked at here, and nothing is sent yet
    loss = distributed_noise.loss(terms)
    if loss is not None and charge is not None:
        charge(loss, f"combine {crypto.stream('charge').bytes(16).hex()}")
    while True:
        received = yield effect
        try:
            effect = playing.send(received)
        except StopIteration as ended:
            result: Result = ended.value
            return result


def _sums_statement(terms: Terms) -> Statement:
    """Statement of secure sums; raises an error for whatever is wrong with the terms."""
    function: Function = COMBINE_FUNCTIONS.parse(terms.function)
    protocol: SumProtocol = SUM_PROTOCOLS.parse(terms.protocol)
    function.check(terms)
    if (protocol.name == Dining.name) != (function.name == Parity.name):
        raise BadInput(
            "The protocol dining computes parities only, and is the only one that does.", hint="Use dining with parity."
        )
    if terms.threshold and terms.threshold < len(terms.parties) and not protocol.drops:
        raise BadInput(
            f"{protocol.name} does not tolerate dropouts, so the threshold must be all {len(terms.parties)} parties.",
            hint="Use masks, or leave the threshold out.",
        )
    coalitions = tuple(islice(protocol.withstands(terms.parties, terms.threshold), _MAX_LISTED_COALITIONS + 1))
    caveats = list(reveals(terms))
    if len(coalitions) > _MAX_LISTED_COALITIONS:
        coalitions = coalitions[:_MAX_LISTED_COALITIONS]
        caveats.append(f"The protocol withstands more coalitions; the first {_MAX_LISTED_COALITIONS} are listed.")
    caveats.append("A party can lie about its own value.")
    assumes = [protocol.adversary()]
    if function.sums(terms) > 1:
        assumes.append(
            f"Every party uses the same data in each of the up to {function.sums(terms)} sums. Each sum protects its "
            "inputs separately: a party that changes its data between sums changes what the next sum computes, and can "
            "learn single values of others that way."
        )
    loss = distributed_noise.loss(terms)
    if loss is not None:
        honest = distributed_noise.honest_count(terms)
        assumes += [
            f"At least {honest} of the parties that stay to the end add their noise and keep it secret.",
            "No coalitions but those named above pool what they saw: a single value has little noise.",
        ]
        if not function.replaces:
            assumes.append(f"No {terms.unit} has more than one row in all parties' data together.")
        caveats += _noise_caveats(terms)
    return Statement(
        "party" if function.replaces and terms.unit == "person" else terms.unit,
        loss,
        secrecy=Secrecy(terms.parties, coalitions),
        evidence=Evidence.ARGUED,
        assumes=tuple(assumes),
        caveats=tuple(caveats),
        replaces=function.replaces and loss is not None,
    )


def _noise_caveats(terms: Terms) -> list[str]:
    least = terms.threshold or len(terms.parties)
    spare = least - distributed_noise.honest_count(terms)
    if not spare:
        return [
            "The loss holds against outsiders: a party knows its own noise and can subtract it, so it learns "
            f"more. Without honest = {least} the loss would hold against every single party too."
        ]
    who = (
        "any one party, who knows its own noise"
        if spare == 1
        else f"any {spare} parties together, who know their noise"
    )
    return [f"The loss holds also against {who}."]


def _bounds(bounds: Any) -> tuple[Number | None, Number | None]:
    if bounds is None:
        return None, None
    pair = [part.strip() for part in bounds.split(":", 1)] if isinstance(bounds, str) else bounds
    if not isinstance(pair, Sequence) or len(pair) != 2:
        written = "--bounds 0:100000" if isinstance(bounds, str) else "bounds=(0, 100_000)"
        raise BadInput(f"{bounds!r:.60} are not valid bounds.", hint=f"Write {written}")
    return pair[0], pair[1]


def _require_intended(terms: Terms) -> None:
    """Refuse terms that would compute something other than their author most likely means."""
    known, name = [one[0] for one in known_protocols()], terms.protocol.strip().split(" ")[0]
    if name not in known:
        raise BadInput(f"There is no protocol {name!r}{meant(name, known)}.", hint=f"Known: {', '.join(known)}.")
    if terms.epsilon is not None and terms.epsilon <= 0:
        raise BadInput("epsilon must be above 0.", hint="Leave it out for a result without noise.")
    if terms.epsilon is None and (terms.delta or terms.honest):
        raise BadInput(
            f"{'delta' if terms.delta else 'honest'} applies to noise, and without epsilon there is none.",
            hint="Add --epsilon 1, or leave it out.",
        )
    rings = len(terms.parties) // 2
    if name == Paths.name and isinstance(paths := SUM_PROTOCOLS.parse(terms.protocol), Paths) and paths.count > rings:
        raise BadInput(
            f"Among {len(terms.parties)} parties there {'is' if rings == 1 else 'are'} only {rings} different "
            f"ring{'s' * (rings > 1)}, not {paths.count}: further ones would add no protection.",
            hint=f"Write paths count={rings}, or use masks." if rings > 1 else "Use masks or shares.",
        )
