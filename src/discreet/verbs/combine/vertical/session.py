"""A session across columns, from a party's data to the result: find the people all share, then multiply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.statement import Evidence, Secrecy, Statement
from discreet.errors import Aborted, BadInput, DataError, NoPromise
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Body, Play, Receive, Tell
from discreet.verbs.combine.group import Group, Vector
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.tools import Tools
from discreet.verbs.combine.vertical import keys, products, psi
from discreet.verbs.combine.vertical.columns import Column
from discreet.verbs.combine.vertical.functions import Function, Overlap, function
from discreet.verbs.combine.vertical.moments import Moments

if TYPE_CHECKING:
    from discreet.verbs.combine.session import Result

PROTOCOL = "join"
"""What ``Terms.protocol`` says of a session across columns."""


def play(terms: Terms, name: str, tools: Tools, data: Data) -> Play[Result]:
    """What one party does; a party named in no column brings nothing and may deal random numbers for the others."""
    from discreet.verbs.combine.session import Result

    asked = checked(terms)
    holders = asked.holders(terms)
    circle = psi.Circle(
        name, holders, tools, asked.most, tuple(party for party in terms.parties if party not in holders)
    )
    if isinstance(asked, Overlap):
        found = Moments((yield from _overlap(circle, asked, data)), (), (), ())
    else:
        found = yield from _moments(terms, asked, circle, data)
    return Result(_answered(asked, found, terms), holders, revealed(terms))


def statement(terms: Terms) -> Statement:
    """What a session across columns promises; whatever is wrong with the terms is an error here."""
    asked = checked(terms)
    holders = asked.holders(terms)
    assumes = ["Every party follows the protocol, and may put together with others all that it saw (semi-honest)."]
    caveats = [*revealed(terms)]
    caveats.append(
        f"A holder who puts in guessed keys, up to {asked.most:,}, learns whether the others have these people."
    )
    if isinstance(asked, Overlap):
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
    asked = function(terms.function)
    return (*psi.learns(asked.holders(terms), names=not isinstance(asked, Overlap)), *asked.reveals())


def checked(terms: Terms) -> Function:
    """The function that the terms ask for, if it can be computed as they say."""
    asked = function(terms.function)
    asked.check(terms)
    if terms.epsilon is not None:
        raise NoPromise("Noise is not added to what is computed across columns.", hint="Leave epsilon out.")
    if terms.threshold not in (0, len(terms.parties)) or terms.adder:
        raise BadInput(
            "Across columns every party is needed to the end, and nobody adds up for the others.",
            hint="Leave out threshold and adder.",
        )
    if not isinstance(asked, Overlap):
        products.assumes(terms.parties, asked.holders(terms))
    return asked


def _answered(asked: Function, found: Moments, terms: Terms) -> Any:
    try:
        return asked.answer(found, terms)
    except DataError as error:  # of the joined rows, which is the same for everybody
        raise Aborted(error.message, hint=error.hint) from None


def _overlap(circle: psi.Circle, asked: Overlap, data: Data) -> Play[int]:
    if circle.name not in circle.holders:
        return (yield from psi.count(circle))
    return (yield from psi.size(circle, _keys(data, asked)))


def _moments(terms: Terms, asked: Function, circle: psi.Circle, data: Data) -> Play[Moments]:
    """Find the people, then multiply."""
    mine = None
    if circle.name in circle.holders:
        mine = yield from _join(circle, asked, terms, data)
        people = len(mine)
    else:
        people = yield from psi.count(circle)
    if people < asked.enough(terms):
        raise Aborted(
            f"The holders share fewer than {asked.enough(terms):,} people, too few to hide anybody among.",
            hint="least= in the function says how many are needed.",
        )
    columns = asked.columns(terms)
    group = products.holding(people, (column.grid.wide for column in columns))
    widths = {holder: len(asked.held(holder, terms)) for holder in circle.holders}
    bench = products.Bench(circle.name, terms.parties, widths, people, group, circle.tools)
    rows = None if mine is None else group.vector(mine.reshape(-1)).reshape(mine.shape)
    blocks = yield from products.products(bench, rows)
    own = yield from _own(bench, rows)
    return _together(columns, people, blocks, own)


def _join(circle: psi.Circle, asked: Function, terms: Terms, data: Data) -> Play[Vector]:
    """A holder's rows of the people whom all share, as integers, in the order common to all."""
    hashed, named = _keys(data, asked), asked.held(circle.name, terms)
    found = data.columns([column.name for column in named])
    mine = np.stack([column.integers(values) for column, values in zip(named, found, strict=True)], axis=1)
    rows = yield from psi.members(circle, hashed)
    return mine[rows]


def _keys(data: Data, asked: Function) -> list[bytes]:
    [values] = data.columns([asked.key])
    return keys.digests(values.tolist(), asked.most)


def _own(bench: products.Bench, mine: Vector | None) -> Play[dict[str, tuple[Vector, Vector]]]:
    """Every holder's sums and products of its own columns, told by itself."""
    group, found = bench.group, {}
    if mine is not None:
        sums, squares = group.reduced(mine.sum(axis=0)), group.reduced(mine.T @ mine)
        found[bench.name] = sums, squares
        yield Tell(bench.others, "own", {"sums": group.pack(sums), "products": group.pack(squares.reshape(-1))})
    for holder in bench.holders:
        if holder != bench.name:
            told: Body = yield Receive(holder, "own", told=True)
            width = bench.widths[holder]
            sums = _read(group, told.get("sums"), width, holder)
            found[holder] = sums, _read(group, told.get("products"), width * width, holder).reshape(width, width)
    return found


def _read(group: Group, data: object, length: int, of: str) -> Vector:
    if not isinstance(data, bytes) or len(data) != group.size(length):
        raise Aborted(f"{of} sent sums of the wrong size.", culprits=(of,))
    return group.unpack(data, length)


def _together(
    columns: tuple[Column, ...],
    people: int,
    blocks: Mapping[products.Pair, Vector],
    own: Mapping[str, tuple[Vector, Vector]],
) -> Moments:
    """All sums and products, in the order of the function's columns."""
    place: dict[Column, int] = {}
    for column in columns:
        place[column] = sum(other.party == column.party for other in place)

    def product(a: Column, b: Column) -> int:
        if a.party == b.party:
            return int(own[a.party][1][place[a], place[b]])
        if (a.party, b.party) in blocks:
            return int(blocks[a.party, b.party][place[a], place[b]])
        return int(blocks[b.party, a.party][place[b], place[a]])

    sums = [int(own[column.party][0][place[column]]) for column in columns]
    return Moments.above(people, columns, sums, [[product(a, b) for b in columns] for a in columns])
