"""Rings with other neighbours, and who can expose whom."""

from __future__ import annotations

from itertools import combinations

import pytest
from tests.combine.protocols.table import NAMES, Case

from discreet.core.families import SUM_PROTOCOLS
from discreet.verbs.combine.protocols.rings import rings


def pairs(order: tuple[str, ...]) -> set[frozenset[str]]:
    return {frozenset((order[at - 1], party)) for at, party in enumerate(order)}


@pytest.mark.parametrize("count", range(2, 14))
def test_neighbours_do_not_meet_again(count: int) -> None:
    parties = tuple(f"p{at}" for at in range(count))
    found = rings(parties, 20)
    assert found[0] == parties
    assert all(sorted(order) == sorted(parties) for order in found)
    assert len({order[0] for order in found}) == min(count, 20)
    apart = found[: max((count - 1) // 2, 1)]
    assert sum(len(pairs(order)) for order in apart) == len(set().union(*map(pairs, apart)))
    everybody = {frozenset(pair) for pair in combinations(parties, 2)}
    assert set().union(*map(pairs, found[: max(count // 2, 1)])) == everybody


def test_they_depend_on_the_parties_alone() -> None:
    assert rings(NAMES, 3) == rings(NAMES, 5)[:3]
    assert rings(NAMES[:4], 2) == [("north", "south", "east", "west"), rings(NAMES[:4], 2)[1]]


def test_two_neighbours_expose_who_is_between() -> None:
    """The lecture's: what came out of north less what went in is north's value."""
    case = Case("ring", 4)
    sent = {message.of: message.body["vector"] for message in case.play().messages if "so far" in message.kind}
    assert ((sent["south"] - sent["north"]) == case.value("south")).all()
    assert ((sent["east"] - sent["south"]) == case.value("east")).all()


def test_all_but_two_neighbours() -> None:
    four = NAMES[:4]
    ring = {frozenset(some) for some in SUM_PROTOCOLS.parse("ring").withstands(four, 0)}
    assert ring == {frozenset(pair) for pair in [four[:2], four[1:3], four[2:], (four[3], four[0])]}
    paths = {frozenset(some) for some in SUM_PROTOCOLS.parse("paths count=2").withstands(four, 0)}
    assert paths == {frozenset(pair) for pair in combinations(four, 2)}
    assert set(SUM_PROTOCOLS.parse("ring").withstands(four[:2], 0)) == {("north",), ("south",)}


def test_all_rings_turn_at_the_same_time() -> None:
    """Whoever is first on a ring sends before it waits."""
    messages = Case("paths count=3", 6).play().messages
    starts = [message.number for message in messages if message.of == NAMES[2] and message.kind.endswith("so far 3")]
    passed = [message.number for message in messages if message.of == NAMES[2] and message.kind.endswith("so far 1")]
    assert starts < passed
