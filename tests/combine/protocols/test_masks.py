"""Masks: who may leave and when, what is given away, and what those can do who do not follow the protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.combine.protocols.table import NAMES, Case, Change, effects, leaving, plain

from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.bus import BusRun
from discreet.verbs.combine.effects import Broadcast, Effect, Gather, Send
from discreet.verbs.combine.protocols.masks import require_safe_survivors
from discreet.verbs.combine.protocols.protocol import Total


def given_away(played: BusRun[Total]) -> set[str]:
    """Whose secrets shares were given of, such as "seed north"."""
    return {name for message in played.messages if message.kind.endswith("unmask") for name in message.body}


def never_both(played: BusRun[Total]) -> bool:
    given = given_away(played)
    return not any({f"seed {name}", f"key {name}"} <= given for name in NAMES)


def told(kind: str, change: Callable[[Send | Broadcast], Effect | list[Effect]]) -> Change:
    """Change the messages of one kind."""
    return lambda effect: (
        change(effect) if isinstance(effect, Send | Broadcast) and effect.kind == f"sum 1/{kind}" else effect
    )


def flipped(share: bytes) -> bytes:
    return share[:-1] + bytes([share[-1] ^ 1])


@pytest.mark.parametrize("adder", ["", "north"])
@pytest.mark.parametrize(("count", "threshold"), [(3, 2), (4, 3), (5, 3), (6, 5)])
def test_whoever_leaves_whenever(count: int, threshold: int, adder: str) -> None:
    """Every party before every effect: the others get the sum of those who stayed, or end cleanly where they must."""
    case = Case("masks", count, threshold=threshold, adder=adder)
    for victim in case.parties:
        done = effects(case, victim)
        for at, effect in enumerate(done):
            played = case.play(leaves=leaving(**{victim: at}))
            others = set(case.parties) - {victim}
            assert {*played.results, *played.aborted} == others
            assert all(case.right(total) for total in played.results.values())
            assert len({total.parties for total in played.results.values()}) <= 1
            assert never_both(played)
            half_shared = isinstance(effect, Send) and effect.kind.endswith("shares") and effect is not _first(done)
            if victim != adder and not half_shared:
                assert set(played.results) == others, (victim, effect, played.aborted)
                late = any(one.kind.endswith("masked") for one in done[:at] if isinstance(one, Send | Broadcast))
                assert all((victim in total.parties) == late for total in played.results.values())


def _first(done: list[Effect]) -> Effect:
    return next(effect for effect in done if effect.kind.endswith("shares"))


@pytest.mark.parametrize("adder", ["", "north"])
def test_two_who_leave(adder: str) -> None:
    case = Case("masks", 5, threshold=3, adder=adder)
    lengths = {name: len(effects(case, name)) for name in ("south", "mid")}
    both = 0
    for one, two in product(range(0, lengths["south"], 2), range(1, lengths["mid"], 3)):
        played = case.play(leaves=leaving(south=one, mid=two))
        assert {*played.results, *played.aborted} >= {"north", "east", "west"}
        assert all(case.right(total) for total in played.results.values())
        assert never_both(played)
        both += set(played.results) == {"north", "east", "west"}
    assert both > 10


@pytest.mark.parametrize("adder", ["", "north"])
def test_below_the_threshold(adder: str) -> None:
    """Too many leave, at any time: no total, and not both secrets of anybody."""
    case = Case("masks", 4, threshold=3, adder=adder)
    done = effects(case, "south")
    last = next(at for at, effect in enumerate(done) if effect.kind.endswith("unmask"))
    for at in range(last + 1):
        played = case.play(leaves=leaving(south=at, east=at))
        assert not played.results
        assert set(played.aborted) == {"north", "west"}
        assert never_both(played)
        if at < last - 2:
            assert not given_away(played)


def test_who_leaves_after_the_list_is_still_in_it() -> None:
    case = Case("masks", 5, threshold=3, adder="north")
    at = next(at for at, effect in enumerate(effects(case, "east")) if effect.kind.endswith("unmask"))
    played = case.play(leaves=leaving(east=at, west=at))
    assert all(total.parties == case.parties for total in played.results.values())
    assert set(played.results) == {"north", "south", "mid"}


def test_when_all_must_stay_there_are_two_rounds() -> None:
    kinds = [message.kind for message in Case("masks", 3).play().messages]
    assert kinds == ["sum 1/key"] * 3 + ["sum 1/masked"] * 3
    assert len(Case("masks", 3, threshold=3).play().messages) == 6


@pytest.mark.parametrize("adder", ["", "north"])
def test_when_all_must_stay_who_leaves_ends_it(adder: str) -> None:
    case = Case("masks", 4, adder=adder)
    for victim in case.parties:
        for at in range(len(effects(case, victim))):
            played = case.play(leaves=leaving(**{victim: at}))
            assert all(case.right(total) for total in played.results.values())
            gone = {victim, *played.aborted}  # who waits for one that ended names that one
            assert all(set(error.culprits) and set(error.culprits) <= gone for error in played.aborted.values())
            assert not played.aborted or any(victim in error.culprits for error in played.aborted.values())
            assert {*played.results, *played.aborted} == set(case.parties) - {victim}


@pytest.mark.parametrize(("count", "threshold"), [(2, 1), (4, 2), (5, 2), (6, 3)])
def test_not_more_than_half_is_refused(count: int, threshold: int) -> None:
    with pytest.raises(BadInput, match="more than half"):
        Case("masks", count, threshold=threshold).play()
    with pytest.raises(BadInput, match="more than half"):
        SUM_PROTOCOLS.parse("masks").withstands(NAMES[:count], threshold)


@pytest.mark.parametrize(
    ("count", "threshold", "size"), [(5, 0, 3), (5, 5, 3), (5, 4, 3), (5, 3, 2), (3, 2, 1), (2, 0, 1)]
)
def test_withstands_fewer_than_the_threshold(count: int, threshold: int, size: int) -> None:
    assert {len(some) for some in SUM_PROTOCOLS.parse("masks").withstands(NAMES[:count], threshold)} == {size}


def test_the_same_again_when_somebody_leaves() -> None:
    case = Case("masks", 5, threshold=3)
    assert plain(case.play(leaves=leaving(east=8))) == plain(case.play(leaves=leaving(east=8)))


def test_both_secrets_are_refused() -> None:
    """An adder who says that somebody stays and is gone gets nothing of anybody."""
    case = Case("masks", 5, threshold=3, adder="north")
    asked = told("arrived", lambda tell: replace(tell, body={**tell.body, "gone": ("south",)}))
    played = case.play(changes={"north": asked})
    assert not played.results and not given_away(played)
    for name in case.parties[1:]:
        assert "Both secrets of south" in str(played.aborted[name])
        assert played.aborted[name].culprits == ("north",)


def test_two_lists_are_found_before_anything_is_given_away() -> None:
    """An adder who tells two groups different lists, to get a seed of one and a key of the other."""
    case = Case("masks", 5, threshold=3, adder="north")

    def split(tell: Send | Broadcast) -> list[Effect]:
        less = {"stay": tuple(name for name in case.parties if name != "south"), "gone": ("south",)}
        return [Broadcast(("south", "east"), tell.kind, tell.body), Broadcast(("west", "mid"), tell.kind, less)]

    played = case.play(changes={"north": told("arrived", split)})
    assert not played.results and not given_away(played)
    assert "other parties who stay" in str(played.aborted["east"])


@pytest.mark.parametrize(
    ("stay", "gone", "words"),
    [
        (("south", "east"), (), "2 parties remain, but 3 are needed"),
        (("north", "east", "west"), (), "south was too late"),
        (("north", "south", "east", "mid"), (), "mid are to stay, but share no mask with south"),
        (("north", "south", "east"), ("east", "west"), "Both secrets of east"),
    ],
)
def test_unsound_lists(stay: tuple[str, ...], gone: tuple[str, ...], words: str) -> None:
    me = Case("masks", 5, threshold=3, adder="north").me("south")
    with pytest.raises(Aborted, match=words):
        require_safe_survivors(me, stay, gone, NAMES[:4])


@pytest.mark.parametrize(
    "said", [None, "north", ("north", "up"), ("south", "north"), ("north", "north"), (1,), b"north"]
)
@pytest.mark.parametrize("kind", ["arrived", "masked"])
def test_lists_that_are_none(said: object, kind: str) -> None:
    case = Case("masks", 4, threshold=3, adder="north")
    liar, part = ("north", "stay") if kind == "arrived" else ("east", "with")
    played = case.play(changes={liar: told(kind, lambda tell: replace(tell, body={**tell.body, part: said}))})
    assert not given_away(played)
    judge = "south" if kind == "arrived" else "north"
    assert played.aborted[judge].culprits == (liar,)


@pytest.mark.parametrize("adder", ["", "north"])
@pytest.mark.parametrize("liar", ["south", "east", "mid"])
@pytest.mark.parametrize("bad", [flipped, lambda share: b"", lambda share: None, lambda share: bytes(35)])
def test_a_wrong_share_is_named(liar: str, adder: str, bad: Callable[[bytes], object]) -> None:
    case = Case("masks", 5, threshold=3, adder=adder)
    wrong = told("unmask", lambda tell: replace(tell, body={**tell.body, "seed north": bad(tell.body["seed north"])}))
    played = case.play(changes={liar: wrong})
    assert all(case.right(total) for total in played.results.values())
    judged = {"north": played.aborted["north"]} if adder and "north" in played.aborted else played.aborted
    assert all(error.culprits == (liar,) for error in judged.values())
    if liar != "mid":  # the first three shares are enough, and a wrong one beyond them does no harm
        assert judged and "wrong share of the seed of north" in str(next(iter(judged.values())))


def test_a_wrong_share_of_a_key_is_named() -> None:
    case = Case("masks", 6, threshold=4, adder="north")
    wrong = told("unmask", lambda tell: replace(tell, body={**tell.body, "key far": flipped(tell.body["key far"])}))
    at = next(at for at, effect in enumerate(effects(case, "far")) if effect.kind.endswith("masked"))
    played = case.play(changes={"south": wrong}, leaves=leaving(far=at))
    assert played.aborted["north"].culprits == ("south",)
    assert "wrong share of the key of far" in str(played.aborted["north"])


def test_a_wrong_share_among_just_enough_ends_it() -> None:
    """Nobody can tell then who gave it: nobody is named."""
    case = Case("masks", 4, threshold=3, adder="north")
    wrong = told("unmask", lambda tell: replace(tell, body={**tell.body, "key west": flipped(tell.body["key west"])}))
    at = next(at for at, effect in enumerate(effects(case, "west")) if effect.kind.endswith("masked"))
    played = case.play(changes={"south": wrong}, leaves=leaving(west=at))
    assert played.aborted["north"].culprits == ()
    assert "contradict each other" in str(played.aborted["north"])


def test_shares_that_were_wrong_from_the_start() -> None:
    case = Case("masks", 5, threshold=3, adder="north")
    wrong = told("shares", lambda send: replace(send, body={**send.body, "seed": flipped(send.body["seed"])}))
    played = case.play(changes={"south": wrong})
    assert not played.results
    assert "seed of south" in str(played.aborted["north"])


def test_shares_left_out() -> None:
    case = Case("masks", 4, threshold=3, adder="north")
    less = told("unmask", lambda send: replace(send, body={}))
    played = case.play(changes={"south": less, "east": less})
    assert "shares of the seed of north came, and 3 are needed" in str(played.aborted["north"])
    none = told("shares", lambda send: replace(send, body={}))
    assert all(error.culprits for error in case.play(changes={"south": none}).aborted.values())


@pytest.mark.parametrize("word", ["keys", "masked"])
def test_who_tells_different_things_is_found(word: str) -> None:
    """Where some may leave, all compare what they were told before anything is given away."""
    case = Case("masks", 5, threshold=3)
    other = replace(case, salt=1).play()
    body = next(message.body for message in other.messages if message.of == "south" and message.kind.endswith(word))

    def split(tell: Send | Broadcast) -> list[Effect]:
        return [
            Broadcast(("north", "east"), tell.kind, tell.body),
            Broadcast(("west", "mid"), tell.kind, {**tell.body, **body}),
        ]

    played = case.play(changes={"south": told(word, split)})
    assert not played.results and not given_away(played)
    assert all("keys or vectors" in str(error) for error in played.aborted.values())
    assert played.aborted["north"].culprits == ("west", "mid")


def test_who_tells_different_lists_of_masks_is_found() -> None:
    """South tells east alone that it did not mask with the one who left: east would take out too little."""
    case = Case("masks", 5, threshold=3)
    at = next(at for at, effect in enumerate(effects(case, "mid")) if effect.kind.endswith("masked"))

    def split(tell: Send | Broadcast) -> list[Effect]:
        less = {**tell.body, "with": tuple(name for name in tell.body["with"] if name != "mid")}
        return [Broadcast(("north", "west", "mid"), tell.kind, tell.body), Broadcast(("east",), tell.kind, less)]

    played = case.play(changes={"south": told("masked", split)}, leaves=leaving(mid=at))
    assert not played.results and not given_away(played)


@pytest.mark.parametrize("adder", ["", "south"])
def test_who_never_came_is_not_blamed_for_being_listed(adder: str) -> None:
    """Nobody can tell whether the list is a lie, so nobody is named: least of all the one who is not there."""
    case = Case("masks", 4, threshold=3, adder=adder)
    lie = told("masked", lambda tell: replace(tell, body={**tell.body, "with": case.parties}))
    played = case.play(changes={"north": lie}, leaves=leaving(west=0))
    assert not played.results and not given_away(played)
    judge = played.aborted[adder or "east"]
    assert "north lists west" in str(judge) and judge.culprits == ()


def test_an_adder_who_lists_who_never_came_is_found() -> None:
    case = Case("masks", 4, threshold=3, adder="north")
    lie = told("arrived", lambda tell: replace(tell, body={**tell.body, "gone": ("west",)}))
    played = case.play(changes={"north": lie}, leaves=leaving(west=0))
    assert not given_away(played)
    assert "north lists west" in str(played.aborted["south"])


@pytest.mark.parametrize("bad", [("a",), "text", b"", bytes(31), None, np.zeros(3, np.uint64)])
@pytest.mark.parametrize(("kind", "word"), [("keys", "seed"), ("keys", "key"), ("shares", "seed"), ("shares", "key")])
def test_keys_and_shares_that_are_none(kind: str, word: str, bad: object) -> None:
    case = Case("masks", 4, threshold=3)
    wrong = told(kind, lambda said: replace(said, body={**said.body, word: bad}))
    played = case.play(changes={"south": wrong})
    assert not given_away(played)
    assert all(played.aborted[name].culprits == ("south",) for name in ("north", "east", "west"))


@pytest.mark.parametrize("threshold", [0, 3])
def test_an_adder_cannot_tell_different_totals_under_one_digest(threshold: int) -> None:
    """Bits above those of the group would not be in the digest."""
    case = Case("masks", 4, bits=24, threshold=threshold, adder="north")

    def split(tell: Send | Broadcast) -> list[Effect]:
        more = {"vector": tell.body["vector"] + np.uint64(1 << 40)}
        return [Broadcast(("south", "east"), tell.kind, tell.body), Broadcast(("west",), tell.kind, more)]

    played = case.play(changes={"north": told("total", split)})
    assert all(case.right(total) for total in played.results.values())
    assert played.aborted["west"].culprits == ("north",)


@pytest.mark.parametrize(
    ("text", "threshold", "adder", "kind", "liar"),
    [
        ("masks", 0, "", "key", "south"), ("masks", 0, "", "masked", "south"), ("masks", 3, "", "keys", "south"),
        ("masks", 3, "", "masked", "south"), ("masks", 3, "", "survivors", "south"),
        ("masks", 3, "", "unmask", "south"), ("masks", 3, "north", "arrived", "north"),
        ("masks", 0, "north", "total", "north"), ("masks", 0, "north", "heard", "south"),
        ("shares", 0, "", "part", "south"), ("ring", 0, "", "total 1", "north"),
        ("paths count=2", 0, "", "total 2", "south"), ("trusted", 0, "", "total", "north"),
    ],
)  # fmt: skip
def test_what_must_be_told_to_all_may_not_be_sent(text: str, threshold: int, adder: str, kind: str, liar: str) -> None:
    """Whoever sends each one a message of its own could say different things and never be convicted of it."""
    case = Case(text, 4, threshold=threshold, adder=adder)
    singly = told(kind, lambda tell: [Send(to, tell.kind, tell.body) for to in tell.to])
    played = case.play(changes={liar: singly})
    assert not set(played.results) - {liar}
    judges = [error for name, error in played.aborted.items() if name != liar and "to all" in str(error)]
    assert judges and all(error.culprits == (liar,) for error in judges)


@pytest.mark.parametrize("threshold", [0, 3])
def test_an_adder_who_tells_different_totals_is_found(threshold: int) -> None:
    case = Case("masks", 4, threshold=threshold, adder="north")

    def split(tell: Send | Broadcast) -> list[Effect]:
        return [
            Broadcast(("south", "east"), tell.kind, tell.body),
            Broadcast(("west",), tell.kind, {"vector": case.value("mid")}),
        ]

    played = case.play(changes={"north": told("total", split)})
    assert not played.results
    assert all(error.culprits == ("west",) for error in played.aborted.values())


@pytest.mark.parametrize("said", [None, 7, "text", np.zeros(3, np.uint64), (1, 2)])
def test_a_digest_that_is_none(said: object) -> None:
    case = Case("masks", 3, adder="north")
    played = case.play(changes={"south": told("heard", lambda tell: replace(tell, body={"digest": said}))})
    assert all(played.aborted[name].culprits == ("south",) for name in ("north", "east"))


@pytest.mark.parametrize("key", [None, b"", bytes(32), b"short", "text", bytes(33)])
@pytest.mark.parametrize("threshold", [0, 3])
def test_a_key_that_is_none(key: object, threshold: int) -> None:
    case = Case("masks", 4, threshold=threshold)
    bad = told("keys" if threshold else "key", lambda tell: replace(tell, body={**tell.body, "key": key}))
    played = case.play(changes={"south": bad})
    assert all(played.aborted[name].culprits == ("south",) for name in ("north", "east", "west"))


@pytest.mark.parametrize("adder", ["", "south"])
def test_a_share_that_is_lost_between_two_who_stay(adder: str) -> None:
    """North has no mask with south, and south has one with north: that would not cancel out."""
    case = Case("masks", 5, threshold=3, adder=adder)
    lost = told("shares", lambda send: [] if send.to == "north" else send)
    played = case.play(changes={"south": lost})
    assert not played.results and not given_away(played)
    judge = played.aborted[adder or "east"]
    assert judge.culprits == ("north",) and "did not mask its vector with south" in str(judge)


def test_a_vector_that_comes_too_late_is_not_counted() -> None:
    """Who is told that the others go on without it ends, and gives nothing away."""
    case = Case("masks", 4, threshold=3, adder="north")
    late = told("arrived", lambda tell: replace(tell, body={"stay": ("north", "south", "east"), "gone": ("west",)}))
    played = case.play(changes={"north": late})
    assert "too late" in str(played.aborted["west"])
    assert not any(message.of == "west" and message.kind.endswith("unmask") for message in played.messages)


def test_gathers_ask_for_no_fewer_than_the_threshold() -> None:
    for effect in effects(Case("masks", 5, threshold=3), "south"):
        if isinstance(effect, Gather):
            assert effect.least == 2
