"""A session with vertically partitioned data: private set intersection, then secure products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.core.families import VERTICAL_FUNCTIONS
from discreet.core.statement import Evidence, Secrecy, Statement
from discreet.errors import Aborted, BadInput, DataError, NoPromise
from discreet.verbs.combine.crypto import Crypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Body, Broadcast, Play, Receive
from discreet.verbs.combine.group import ModularGroup, Vector
from discreet.verbs.combine.terms import Result, Terms
from discreet.verbs.combine.vertical import products, psi
from discreet.verbs.combine.vertical.functions import HeldColumn, Moments, Overlap, VerticalFunction

PROTOCOL = "join"
"""Name of the protocol in the terms."""


def play(terms: Terms, name: str, crypto: Crypto, data: Data) -> Play[Result]:
    """Play one party's part; a party without columns brings nothing and may deal random numbers for the others."""
    function = parse_checked(terms)
    holders = function.holders(terms)
    party = psi.IntersectionParty(
        name, holders, crypto, function.most, tuple(party for party in terms.parties if party not in holders)
    )
    if isinstance(function, Overlap):
        moments = Moments((yield from _overlap(party, function, data)), (), (), ())
    else:
        moments = yield from _moments(terms, function, party, data)
    return Result(_answer(function, moments, terms), holders, revealed(terms))


def statement(terms: Terms) -> Statement:
    """State what the session promises, and raise an error for whatever is wrong with the terms."""
    function = parse_checked(terms)
    holders = function.holders(terms)
    assumes = ["Every party follows the protocol, and may pool all that it saw with others (semi-honest)."]
    caveats = [*revealed(terms)]
    caveats.append(
        f"A holder who puts in guessed keys, up to {function.most:,}, learns whether the others have these people."
    )
    if isinstance(function, Overlap):
        coalitions = tuple(tuple(party for party in terms.parties if party != one) for one in holders)
    else:
        coalitions = products.withstands(terms.parties, holders)
        assumes.append(products.assumes(terms.parties, holders))
        caveats.append("A holder who makes up its columns can read values of single people off the result.")
    caveats.append("No noise is added: the result itself may tell something about a person.")
    secrecy = Secrecy(terms.parties, coalitions)
    return Statement(
        terms.unit, secrecy=secrecy, evidence=Evidence.ARGUED, assumes=tuple(assumes), caveats=tuple(caveats)
    )


def revealed(terms: Terms) -> tuple[str, ...]:
    """What parties see besides the result, as full sentences."""
    function: VerticalFunction = VERTICAL_FUNCTIONS.parse(terms.function)
    return (*psi.disclosures(function.holders(terms), names=not isinstance(function, Overlap)), *function.reveals())


def parse_checked(terms: Terms) -> VerticalFunction:
    """The function of the terms, if it can be computed with them."""
    function: VerticalFunction = VERTICAL_FUNCTIONS.parse(terms.function)
    function.check(terms)
    if terms.epsilon is not None:
        raise NoPromise("Noise is not added to what is computed across columns.", hint="Leave epsilon out.")
    if terms.threshold not in (0, len(terms.parties)) or terms.adder:
        raise BadInput(
            "Across columns every party is needed to the end, and no single party adds up.",
            hint="Leave out threshold and adder.",
        )
    if not isinstance(function, Overlap):
        products.assumes(terms.parties, function.holders(terms))
    return function


def _answer(function: VerticalFunction, moments: Moments, terms: Terms) -> Any:
    try:
        return function.answer(moments, terms)
    except DataError as error:  # of the joined rows, which is the same for everyone
        raise Aborted(error.message, hint=error.hint) from None


def _overlap(party: psi.IntersectionParty, function: Overlap, data: Data) -> Play[int]:
    if party.name not in party.holders:
        return (yield from psi.receive_size(party))
    return (yield from psi.intersection_size(party, _keys(data, function)))


def _moments(terms: Terms, function: VerticalFunction, party: psi.IntersectionParty, data: Data) -> Play[Moments]:
    """Intersect, then multiply: the moments of the columns."""
    mine = None
    if party.name in party.holders:
        mine = yield from _join(party, function, terms, data)
        people = len(mine)
    else:
        people = yield from psi.receive_size(party)
    if people < function.min_people(terms):
        raise Aborted(
            f"The holders share fewer than {function.min_people(terms):,} people, too few for privacy.",
            hint="least= in the function says how many are needed.",
        )
    columns = function.columns(terms)
    group = products.product_group(people, (column.encoding.width for column in columns))
    widths = {holder: len(function.held(holder, terms)) for holder in party.holders}
    multiplier = products.ProductParty(party.name, terms.parties, widths, people, group, party.crypto)
    rows = None if mine is None else group.vector(mine.reshape(-1)).reshape(mine.shape)
    blocks = yield from products.products(multiplier, rows)
    own = yield from _own_moments(multiplier, rows)
    return _order_moments(columns, people, blocks, own)


def _join(party: psi.IntersectionParty, function: VerticalFunction, terms: Terms, data: Data) -> Play[Vector]:
    """Rows of a holder's shared people as integers, in the order common to all."""
    hashed, named = _keys(data, function), function.held(party.name, terms)
    arrays = data.columns([column.name for column in named])
    mine = np.stack([column.integers(values) for column, values in zip(named, arrays, strict=True)], axis=1)
    rows = yield from psi.intersect(party, hashed)
    return mine[rows]


def _keys(data: Data, function: VerticalFunction) -> list[bytes]:
    [values] = data.columns([function.key])
    return psi.key_digests(values.tolist(), function.most)


def _own_moments(party: products.ProductParty, mine: Vector | None) -> Play[dict[str, tuple[Vector, Vector]]]:
    """Sums and products of each holder's own columns, which it broadcasts itself."""
    group, moments = party.group, {}
    if mine is not None:
        sums, squares = group.reduce(mine.sum(axis=0)), group.reduce(mine.T @ mine)
        moments[party.name] = sums, squares
        yield Broadcast(party.others, "own", {"sums": group.pack(sums), "products": group.pack(squares.reshape(-1))})
    for holder in party.holders:
        if holder != party.name:
            message: Body = yield Receive(holder, "own", broadcast=True)
            width = party.widths[holder]
            sums = _read(group, message.get("sums"), width, holder)
            moments[holder] = sums, _read(group, message.get("products"), width * width, holder).reshape(width, width)
    return moments


def _read(group: ModularGroup, data: object, length: int, of: str) -> Vector:
    if not isinstance(data, bytes) or len(data) != group.size(length):
        raise Aborted(f"{of} sent sums of the wrong size.", culprits=(of,))
    return group.unpack(data, length)


def _order_moments(
    columns: tuple[HeldColumn, ...],
    people: int,
    blocks: Mapping[products.Pair, Vector],
    own: Mapping[str, tuple[Vector, Vector]],
) -> Moments:
    """Moments in the order of the function's columns."""
    place: dict[HeldColumn, int] = {}
    for column in columns:
        place[column] = sum(other.party == column.party for other in place)

    def product(a: HeldColumn, b: HeldColumn) -> int:
        if a.party == b.party:
            return int(own[a.party][1][place[a], place[b]])
        if (a.party, b.party) in blocks:
            return int(blocks[a.party, b.party][place[a], place[b]])
        return int(blocks[b.party, a.party][place[b], place[a]])

    sums = [int(own[column.party][0][place[column]]) for column in columns]
    return Moments.from_offsets(people, columns, sums, [[product(a, b) for b in columns] for a in columns])
