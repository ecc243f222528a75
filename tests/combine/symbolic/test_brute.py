"""The symbolic answer against counting, on moduli 2 and 4."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.combine.symbolic.brute import Small, agrees
from tests.combine.symbolic.toys import Escrow, Pairs, Pieces, Told, Unshielded

from discreet.core.families import SUM_PROTOCOLS
from discreet.verbs.combine.symbolic.leakage import leakages
from discreet.verbs.combine.symbolic.symbols import LinearForm, Value

PARTIES = ("north", "south", "east", "west")
SMALL = [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1)]
"""How many parties, how many bits."""
LEAVING = ("keys", "shares", "masked", "survivors", "unmask")


def compare(protocol, count, bits, **case):
    parties = PARTIES[:count]
    for learnt in leakages(protocol, parties, group=Small(bits), **case).values():
        assert agrees(protocol, parties, bits, learnt, **case), str(learnt)


@pytest.mark.parametrize("count, bits", SMALL)
@pytest.mark.parametrize("text", [*SUM_PROTOCOLS.names(), "paths count=3", "trusted party=south"])
def test_protocols(text, count, bits):
    if text != "dining" or bits == 1:
        compare(SUM_PROTOCOLS.parse(text), count, bits)


@pytest.mark.parametrize("bits", [1, 2])
def test_a_wrong_answer_would_be_noticed(bits):
    """Saying less or more than the truth, by as little as one bit, is not what counting finds."""
    north, east = (LinearForm.sum([Value(party)]) for party in ("north", "east"))
    ring = leakages("ring", PARTIES, group=Small(1))["south", "west"]
    masks = leakages("masks", PARTIES[:3], group=Small(bits))["south",]
    told = leakages(Told(2), PARTIES[:2], group=Small(bits))["south",]
    assert agrees(SUM_PROTOCOLS.parse("ring"), PARTIES, 1, ring)
    for beyond in ((), (north + east,)):
        assert not agrees(SUM_PROTOCOLS.parse("ring"), PARTIES, 1, replace(ring, beyond=beyond))
    for beyond in ((north,), (LinearForm({Value("north"): 1 << (bits - 1)}),)):
        assert not agrees(SUM_PROTOCOLS.parse("masks"), PARTIES[:3], bits, replace(masks, beyond=beyond))
    assert agrees(Told(2), PARTIES[:2], bits, told)
    assert not agrees(Told(2), PARTIES[:2], bits, replace(told, beyond=()))


@pytest.mark.parametrize("count, bits", SMALL[2:])
@pytest.mark.parametrize(
    "protocol",
    [Told(1), Told(2), Told(3), Pairs(False), Pairs(True), Pieces(), Escrow(2, False), Escrow(2, True)],
    ids=repr,
)
def test_protocols_that_leak(protocol, count, bits):
    compare(protocol, count, bits)


@pytest.mark.parametrize("kind", LEAVING)
@pytest.mark.parametrize("how", ["drops", "late"])
@pytest.mark.parametrize("bits", [1, 2])
@pytest.mark.parametrize("adder", ["", "north"])
def test_masks_when_somebody_leaves(how, kind, bits, adder):
    for party in PARTIES[:3]:
        if (party, kind) not in {(adder, "masked"), (adder, "unmask")}:
            compare(SUM_PROTOCOLS.parse("masks"), 3, bits, threshold=2, adder=adder, **{how: {party: kind}})


@pytest.mark.parametrize("kind", ["masked", "unmask"])
def test_masks_of_four_when_somebody_leaves(kind):
    compare(SUM_PROTOCOLS.parse("masks"), 4, 1, threshold=3, late={"east": kind})


@pytest.mark.parametrize("text, kind", [("masks", "masked"), ("shares", "part"), ("shares", "piece")])
def test_sums_that_are_not_finished(text, kind):
    compare(SUM_PROTOCOLS.parse(text), 3, 2, drops={"south": kind})
    compare(SUM_PROTOCOLS.parse(text), 3, 2, late={"south": kind})


@pytest.mark.parametrize("bits", [1, 2])
def test_a_late_vector(bits):
    compare(Unshielded(), 3, bits, late={"south": "vector"})
