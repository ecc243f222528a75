"""A session with horizontally partitioned data, as one party plays it: charge, add up, answer.

The same generator runs between hosts and in one process. Everything that can be wrong with the terms or with the
party's own data shows before its first message; so does a budget that does not cover the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.core.families import COMBINE_FUNCTIONS, SUM_PROTOCOLS
from discreet.core.loss import Loss
from discreet.core.statement import Evidence, Secrecy, Statement
from discreet.errors import BadInput
from discreet.verbs.combine import distributed_noise
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.functions.function import Function
from discreet.verbs.combine.functions.sums import Parity
from discreet.verbs.combine.protocols.masks import Dining
from discreet.verbs.combine.protocols.protocol import SumProtocol
from discreet.verbs.combine.result import Result
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms

if TYPE_CHECKING:
    from discreet.core.release import Receipt

Charge: TypeAlias = "Callable[[Loss, str], Receipt]"
"""Charges a loss on the party's own ledger, once for each key."""
_MAX_LISTED_COALITIONS = 64


def play(terms: Terms, name: str, crypto: NumericCrypto, data: Data, *, charge: Charge | None = None) -> Play[Result]:
    """Play the part of the party ``name``, who brings ``data``; its loss is charged before its first message."""
    function: Function = COMBINE_FUNCTIONS.parse(terms.function)
    statement(terms)
    secure_sums = SecureSums(terms, name, crypto)
    if terms.epsilon is not None and not function.replaces:
        data.require_one_row_each()
    playing = function.play(secure_sums, data)
    effect = next(playing)  # the party's own data are looked at here, and nothing is sent yet
    loss = distributed_noise.loss(terms)
    if loss is not None and charge is not None:
        charge(loss, f"combine {crypto.stream('charge').bytes(16).hex()}")
    answer = yield from _continue(playing, effect)
    return Result(answer.value, secure_sums.parties, answer.revealed)


def reveals(terms: Terms) -> tuple[str, ...]:
    """What every party learns besides the result, as full sentences."""
    function: Function = COMBINE_FUNCTIONS.parse(terms.function)
    return function.reveals(terms)


def statement(terms: Terms) -> Statement:
    """State what a session with these terms promises, and raise an error for whatever is wrong with them."""
    function: Function = COMBINE_FUNCTIONS.parse(terms.function)
    protocol: SumProtocol = SUM_PROTOCOLS.parse(terms.protocol)
    function.check(terms)
    if (protocol.name == Dining.name) != (function.name == Parity.name):
        raise BadInput(
            "The dining cryptographers compute a parity, and nothing else does.", hint="Say dining and parity."
        )
    if terms.threshold and terms.threshold < len(terms.parties) and not protocol.drops:
        raise BadInput(
            f"With {protocol.name} nobody may leave, so the threshold is all {len(terms.parties)} parties.",
            hint="Use masks, or leave the threshold out.",
        )
    coalitions = tuple(islice(protocol.withstands(terms.parties, terms.threshold), _MAX_LISTED_COALITIONS + 1))
    caveats = list(reveals(terms))
    if len(coalitions) > _MAX_LISTED_COALITIONS:
        coalitions = coalitions[:_MAX_LISTED_COALITIONS]
        caveats.append(f"There are more coalitions that are withstood; the first {_MAX_LISTED_COALITIONS} are listed.")
    caveats.append("Nobody is kept from lying about the own value.")
    assumes = [protocol.adversary()]
    if function.sums(terms) > 1:
        assumes.append(
            f"Every party brings the same data to each of the up to {function.sums(terms)} sums: what is secret is so "
            "in each sum by itself, and a party that does not follow the protocol can choose, by what it brings to one "
            "sum, what is asked in the next, and so learn single values of others."
        )
    loss = distributed_noise.loss(terms)
    if loss is not None:
        assumes += _noise_assumes(terms, function.replaces)
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


def _noise_assumes(terms: Terms, replaces: bool) -> list[str]:
    among = distributed_noise.honest_count(terms)
    said = [
        f"At least {among} of the parties that stay to the end add their noise and tell it nobody.",
        "Only coalitions that are named above put together what they saw: in a single value there is little noise.",
    ]
    return said if replaces else [*said, f"No {terms.unit} has more than one row in all parties' data together."]


def _noise_caveats(terms: Terms) -> list[str]:
    least = terms.threshold or len(terms.parties)
    spare = least - distributed_noise.honest_count(terms)
    if not spare:
        return [
            "The loss is what somebody learns who is no party: a party knows its own noise and can take it away, so "
            f"that it learns more. Without honest = {least} the loss would hold against every single party too."
        ]
    who = (
        "any one party, who knows its own noise"
        if spare == 1
        else f"any {spare} parties together, who know their noise"
    )
    return [f"The loss holds also against {who}."]


def _continue(playing: Play[Any], effect: Any) -> Play[Any]:
    """Continue a play from its first effect on."""
    while True:
        given = yield effect
        try:
            effect = playing.send(given)
        except StopIteration as ended:
            return ended.value
