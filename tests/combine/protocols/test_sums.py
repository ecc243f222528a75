"""Every protocol gives exactly the sum, in every group, says the same again, and keeps to its group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.combine.protocols.table import NAMES, Case, plain

from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import BadInput
from discreet.verbs.combine import bus
from discreet.verbs.combine.effects import Broadcast, Effect, Send

TEXTS = ("masks", "shares", "paths", "paths count=3", "ring", "trusted", "trusted party=south")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bits", [1, 8, 24, 64, 128])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_exactly_the_sum(text: str, bits: int, count: int) -> None:
    case = Case(text, count, bits)
    played = case.play()
    assert not played.aborted
    assert set(played.results) == set(case.parties)
    assert all(total.parties == case.parties and case.right(total) for total in played.results.values())


@pytest.mark.parametrize("bits", [1, 8, 24, 64, 128])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("adder", ["", "south"])
def test_masks_with_an_adder_and_with_a_threshold(bits: int, count: int, adder: str) -> None:
    for threshold in {0, count // 2 + 1, count - 1}:
        if 2 * threshold > count or not threshold:
            case = Case("masks", count, bits, threshold=threshold, adder=adder)
            played = case.play()
            assert set(played.results) == set(case.parties)
            assert all(total.parties == case.parties and case.right(total) for total in played.results.values())


@pytest.mark.parametrize("count", [2, 3, 6])
def test_dining_is_the_parity(count: int) -> None:
    case = Case("dining", count, 1)
    assert all(case.right(total) for total in case.play().results.values())
    assert plain(case.play()) == plain(Case("masks", count, 1).play())


def test_dining_is_for_bits() -> None:
    with pytest.raises(BadInput, match="single bits"):
        Case("dining", 3, 64).play()


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(TEXTS),
    st.sampled_from([8, 40, 64, 72]),
    st.lists(st.lists(st.integers(-(2**80), 2**80), min_size=2, max_size=2), min_size=2, max_size=6),
)
def test_any_numbers(text: str, bits: int, numbers: list[list[int]]) -> None:
    case = Case(text, len(numbers), bits, length=2)
    made = SUM_PROTOCOLS.parse(text)
    values = {name: case.group.vector(some) for name, some in zip(NAMES, numbers, strict=False)}
    played = bus.play({name: made.play(case.me(name), value) for name, value in values.items()})
    want = [sum(column) % case.group.modulus for column in zip(*numbers, strict=True)]
    assert all([int(one) for one in total.vector] == want for total in played.results.values())
    assert len(played.results) == len(numbers)


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_again(text: str) -> None:
    """Playing again sends identical messages; with another secret, others."""
    case = Case(text, 4)
    assert plain(case.play()) == plain(case.play())
    other = Case(text, 4, salt=1)
    assert plain(case.play()) != plain(other.play())


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bits", [1, 8, 24, 128])
def test_what_is_sent_is_reduced(text: str, bits: int) -> None:
    """Carries beyond the group would tell something of the value under a mask."""
    case = Case(text, 4, bits)
    for message in case.play().messages:
        if "vector" in message.body:
            assert all(0 <= int(one) < case.group.modulus for one in message.body["vector"])


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_left_as_they_are(text: str) -> None:
    case = Case(text, 3)
    made = SUM_PROTOCOLS.parse(text)
    values = {name: case.value(name) for name in case.parties}
    for value in values.values():
        value.setflags(write=False)
    played = bus.play({name: made.play(case.me(name), value) for name, value in values.items()})
    assert all(np.array_equal(value, case.value(name)) for name, value in values.items())
    assert all(case.right(total) for total in played.results.values())


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "junk", [None, b"bytes", "text", np.zeros(1, np.uint64), np.zeros(3), np.zeros((3, 1), np.uint64)]
)
def test_who_sends_no_vector_is_named(text: str, junk: object) -> None:
    def change(effect: Effect) -> Effect:
        if isinstance(effect, Send | Broadcast) and "vector" in effect.body:
            return type(effect)(effect.to, effect.kind, {"vector": junk})  # type: ignore[arg-type]
        return effect

    case = Case(text, 3)
    played = case.play(changes={"south": change})
    assert any("south" in error.culprits for error in played.aborted.values())
    assert all(case.right(total) for name, total in played.results.items() if name != "south")


@pytest.mark.parametrize("text", [text for text in TEXTS if text != "masks"])
def test_who_leaves_ends_it(text: str) -> None:
    """Where all must stay: no wrong total and no waiting, whoever leaves and whenever."""
    case = Case(text, 4)
    for victim in case.parties:
        for at in range(9):
            left = iter(range(99))
            played = case.play(leaves=lambda party, effect, v=victim, a=at, n=left: party == v and next(n) == a)
            assert all(case.right(total) for total in played.results.values())
            assert {*played.results, *played.aborted} >= set(case.parties) - {victim}


def test_every_protocol_says_what_it_is() -> None:
    for name, kind in ((one.name, one.kind) for one in SUM_PROTOCOLS.entries()):
        made = SUM_PROTOCOLS.parse(name)
        assert made.name == name and isinstance(made, kind)
        assert made.title and made.adversary().endswith(".")


@pytest.mark.parametrize("text", [*TEXTS, "dining"])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_withstands_are_coalitions(text: str, count: int) -> None:
    parties = NAMES[:count]
    found = list(SUM_PROTOCOLS.parse(text).withstands(parties, 0))
    assert found and len(set(found)) == len(found)
    most = 2 if text == "ring" else count
    assert all(len(some) == max(min(count - 2, most), 1) and set(some) < set(parties) for some in found)


@pytest.mark.parametrize(("text", "threshold"), [*((text, 0) for text in (*TEXTS, "dining")), ("masks", 3)])
def test_what_is_said_to_be_keys_alone_is_the_same_for_other_values(text: str, threshold: int) -> None:
    """And what is not, in the end, is not: the values are somewhere."""
    case = Case(text, 4, 1 if text == "dining" else 64, threshold=threshold)

    def said(ones: int) -> tuple[list[Effect], list[Effect]]:
        sent: dict[bool, list[Effect]] = {True: [], False: []}

        def note(party: str, effect: Effect) -> bool:
            if isinstance(effect, Send | Broadcast):
                sent[effect.keys_only].append(replace(effect, body=repr(dict(effect.body))))
            return False

        values = {name: case.group.vector([ones] * case.length) for name in case.parties}
        plays = {name: SUM_PROTOCOLS.parse(text).play(case.me(name), value) for name, value in values.items()}
        assert len(bus.play(plays, leaves=note).results) == 4
        return sent[True], sent[False]

    (keys, rest), (keys_again, rest_again) = said(0), said(1)
    assert keys == keys_again
    assert rest != rest_again
    assert bool(keys) == (text in ("masks", "dining"))
