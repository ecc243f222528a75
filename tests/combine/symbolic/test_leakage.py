"""What the lecture says of each protocol, for every coalition of up to six parties, and how it is said."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.combine.symbolic.toys import Escrow, Pairs, Pieces, Told, Unshielded

from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import BadInput
from discreet.verbs.combine.protocols.masks import Masks
from discreet.verbs.combine.protocols.rings import rings
from discreet.verbs.combine.symbolic.leakage import leakage, leakages, withstands
from discreet.verbs.combine.terms import Terms

PARTIES = ("north", "south", "east", "west", "up", "down")
FOUR = PARTIES[:4]
SIZES = range(2, 7)
TEXTS = (*SUM_PROTOCOLS.names(), "paths count=1", "paths count=3", "trusted party=south")


def parties_in(form):
    """The parties whose values the form adds up."""
    assert all(factor == 1 for _, factor in form)
    return frozenset(variable.party for variable, _ in form)


def runs(order, coalition):
    """The others who stand side by side on a circle, between members of the coalition."""
    start = next(at for at, party in enumerate(order) if party in coalition)
    found, run = [], []
    for party in (*order[start:], *order[:start], order[start]):
        if party not in coalition:
            run.append(party)
        elif run:
            found.append(frozenset(run))
            run = []
    return found


@pytest.mark.parametrize("count", SIZES)
def test_ring_gives_away_what_each_run_between_members_adds_up_to(count):
    for coalition, learnt in leakages("ring", PARTIES[:count]).items():
        between = runs(PARTIES[:count], coalition)
        assert {parties_in(form) for form in learnt.beyond} == (set(between) if len(between) > 1 else set())
        assert {frozenset((party,)) for party in learnt.values} == {run for run in between if len(run) == 1}


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("paths", [1, 2, 3])
def test_paths_give_a_value_away_when_it_is_surrounded_on_every_one(count, paths):
    parties = PARTIES[:count]
    neighbours = {party: set() for party in parties}
    for order in rings(parties, paths):
        for one, other in pairwise((*order, order[0])):
            neighbours[one].add(other)
            neighbours[other].add(one)
    for coalition, learnt in leakages(f"paths count={paths}", parties).items():
        surrounded = {party for party in parties if party not in coalition and neighbours[party] <= set(coalition)}
        assert set(learnt.values) == surrounded


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("text", ["masks", "shares", "dining"])
def test_masks_and_shares_give_nothing_away_short_of_all_but_one(text, count):
    for coalition, learnt in leakages(text, PARTIES[:count]).items():
        assert learnt.nothing
        assert len(learnt.values) == (1 if len(coalition) == count - 1 else 0)


@pytest.mark.parametrize("count", SIZES)
def test_masks_with_an_adder_give_nothing_away_either(count):
    assert all(learnt.nothing for learnt in leakages("masks", PARTIES[:count], adder="south").values())


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("text, trusted", [("trusted", "north"), ("trusted party=south", "south")])
def test_whoever_is_trusted_sees_all(text, trusted, count):
    for coalition, learnt in leakages(text, PARTIES[:count]).items():
        honest = [party for party in PARTIES[:count] if party not in coalition]
        sees = trusted in coalition or len(honest) == 1
        assert learnt.values == (tuple(honest) if sees else ())
        assert learnt.nothing is (trusted not in coalition or len(honest) == 1)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("text", TEXTS)
def test_what_is_promised_is_what_is_computed(text, count):
    parties = PARTIES[:count]
    promised = set(SUM_PROTOCOLS.parse(text).withstands(parties, 0))
    computed = set(withstands(text, parties))
    if text.startswith("trusted") and count == 2:
        assert promised < computed  # the sum itself gives the other's value away; nothing is promised of the trusted
    else:
        assert promised == computed


@pytest.mark.parametrize("count, threshold", [(3, 2), (4, 3), (5, 3), (5, 4), (6, 4), (6, 5), (6, 6)])
def test_masks_withstand_fewer_than_the_threshold(count, threshold):
    parties = PARTIES[:count]
    promised = set(Masks().withstands(parties, threshold))
    assert promised == set(withstands("masks", parties, threshold=threshold))
    with_adder = leakages("masks", parties, threshold=threshold, adder="east")
    assert all(with_adder[coalition].nothing for coalition in promised)  # who never sees a vector may be more
    if threshold < count - 1:
        others = tuple(party for party in parties if party != "north")[:threshold]
        learnt = leakage("masks", parties, others, threshold=threshold)
        assert set(learnt.values) == set(parties) - set(others)


@pytest.mark.parametrize("kind", ["keys", "shares", "masked", "survivors", "unmask"])
@pytest.mark.parametrize("how", ["drops", "late"])
def test_a_party_that_leaves_gives_nothing_away(how, kind):
    parties = PARTIES[:5]
    for coalition, learnt in leakages("masks", parties, threshold=4, **{how: {"east": kind}}).items():
        if len(coalition) < 4:
            assert learnt.nothing
            assert learnt.result == (
                parties if kind in {"survivors", "unmask"} else tuple(p for p in parties if p != "east")
            )


@pytest.mark.parametrize("text, kind", [("masks", "masked"), ("shares", "part"), ("dining", "masked")])
def test_where_nobody_may_leave_an_unfinished_sum_is_at_most_the_sum_of_all(text, kind):
    for coalition, learnt in leakages(text, FOUR, drops={"east": kind}).items():
        assert learnt.result == ()
        honest = frozenset(FOUR) - set(coalition)
        assert [parties_in(form) for form in learnt.beyond] == ([honest] if "east" in coalition else [])


def test_a_vector_that_comes_late_is_naked_without_a_mask_of_its_own():
    dropped = leakage(Unshielded(), FOUR, ["north"], drops={"east": "vector"})
    late = leakage(Unshielded(), FOUR, ["north"], late={"east": "vector"})
    assert dropped.nothing
    assert str(late) == "north alone learns east's value."
    assert leakage("masks", FOUR, ["north"], threshold=3, late={"east": "masked"}).nothing


def test_broken_protocols_are_found_to_leak():
    assert withstands(Pairs(wrong=False), FOUR) == withstands("masks", FOUR)
    wrong = leakage(Pairs(wrong=True), FOUR, ["south", "west"])
    assert str(wrong) == "south and west together learn the last 63 bits of east's value."
    assert str(leakage(Pieces(), FOUR, ["north"])) == (
        "north alone learns south's value, east's value and west's value."
    )
    assert leakage(Pieces(), FOUR, ["west"]).nothing
    assert leakage(Escrow(threshold=2, twice=False), FOUR, ["south"]).nothing
    assert leakage(Escrow(threshold=2, twice=True), FOUR, ["south"]).values == ("north",)
    assert str(leakage(Told(times=2), FOUR, ["south", "north", "east"])) == (
        "north, south and east together learn the last bit of west's value, though there is no result."
    )


@pytest.mark.parametrize(
    "text, coalition, said",
    [
        ("ring", "south,west", "south and west together learn north's value and east's value."),
        ("masks", "west,south", "south and west together learn nothing beyond the sum."),
        ("masks", "south", "south alone learns nothing beyond the sum."),
        ("trusted", "north,south", "north and south together learn east's value and west's value."),
        (
            "masks",
            "north,south,west",
            "north, south and west together can compute east's value from the sum; no protocol can prevent that.",
        ),
    ],
)
def test_in_words(text, coalition, said):
    learnt = leakage(text, FOUR, coalition.split(","))
    assert str(learnt) == said
    assert learnt._repr_html_() == f"<p>{said.replace(chr(39), '&#x27;')}</p>"


def test_sums_of_several_in_words():
    assert (
        str(leakage("ring", PARTIES, ["north", "west"])) == "north and west together learn south + east and up + down."
    )


def test_a_session_brings_its_own_threshold_and_adder():
    terms = Terms(FOUR, protocol="masks", threshold=3)
    assert leakage(terms, FOUR, FOUR[:3]).nothing
    terms = Terms(PARTIES[:5], protocol="masks", threshold=3)
    assert leakage(terms, terms.parties, FOUR[:3]).values == ("west", "up")


def test_many_parties():
    many = tuple(f"p{number}" for number in range(30))
    assert str(leakage("ring", many, ["p3", "p5"])).startswith("p3 and p5 together learn p4's value and p0 + p1")
    assert leakage("masks", many, many[:20]).nothing
    with pytest.raises(BadInput, match="up to 10 parties"):
        withstands("masks", many)


@pytest.mark.parametrize("coalition", [[], FOUR, ["nobody"], ["north", "nobody"]])
def test_a_coalition_is_some_of_the_parties(coalition):
    with pytest.raises(BadInput, match="A coalition is some of"):
        leakage("masks", FOUR, coalition)


def test_a_message_that_is_never_sent_cannot_be_died_before():
    with pytest.raises(BadInput, match="east cannot drop out before that message"):
        leakage("masks", FOUR, ["north"], drops={"east": "letter"})
