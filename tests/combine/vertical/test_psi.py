import hashlib
from itertools import permutations

import numpy as np
import pytest
from gmpy2 import jacobi

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine import bus
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.effects import Receive, Send
from discreet.verbs.combine.vertical import psi
from discreet.verbs.combine.vertical import psi as keys

PEOPLE = {
    "north": ["ann", "bob", "cleo", "dora", "emil"],
    "south": ["emil", "finn", "Bob ", "ann"],
    "east": ["bob", "gus", "EMIL", "cleo"],
}
PRIME = 2**255 - 19


def party(name, holders, most=100, listeners=()):
    return psi.IntersectionParty(
        name, holders, NumericCrypto(hashlib.sha256(name.encode()).digest(), b"session"), most, listeners
    )


def met(holders, way=psi.intersect, listeners=(), people=PEOPLE):
    plays = {name: way(party(name, holders, 100, listeners), psi.key_digests(people[name], 100)) for name in holders}
    plays |= {name: psi.receive_size(party(name, holders, 100, listeners)) for name in listeners}
    return bus.play(plays)


@pytest.mark.parametrize(
    "holders", [*permutations(("north", "south")), *permutations(("north", "south", "east"))], ids=" ".join
)
def test_all_find_the_people_they_share_in_the_same_order(holders):
    played = met(holders)
    found = [[psi.normalise_key(PEOPLE[name][row]) for row in played.results[name]] for name in holders]
    shared = set.intersection(*({psi.normalise_key(key) for key in PEOPLE[name]} for name in holders))
    assert set(found[0]) == shared
    assert all(names == found[0] for names in found)
    assert len(found[0]) == len(shared)


def test_nobody_shared():
    played = met(("north", "south"), people={"north": ["ann"], "south": ["bob"]})
    assert played.results == {"north": [], "south": []}


def test_a_holder_of_nobody():
    assert met(("north", "south"), people={"north": [], "south": ["bob"]}).results == {"north": [], "south": []}


def test_a_party_without_keys_is_told_how_many():
    assert met(("north", "south"), listeners=("west",)).results["west"] == 3


def test_only_the_size():
    played = met(("north", "south"), psi.intersection_size, listeners=("west",))
    assert played.results == {"north": 3, "south": 3, "west": 3}
    (answer,) = (message for message in played.messages if message.kind == "keys again")
    for part in answer.body.values():
        many = [part[place : place + 32] for place in range(0, len(part), 32)]
        assert many == sorted(many), "an order would tell whose key is whose"


def test_only_the_size_needs_two():
    with pytest.raises(BadInput, match="two holders"):
        met(("north", "south", "east"), psi.intersection_size)


def test_the_order_of_rows_is_not_seen():
    """What anybody sends is the same whatever the order of its rows, up to whom the last message names."""
    turned = {name: names[::-1] for name, names in PEOPLE.items()}
    before, after = met(("north", "south", "east")).messages, met(("north", "south", "east"), people=turned).messages
    assert [message.body for message in before] == [message.body for message in after]


def test_the_same_again():
    assert met(("north", "south")).messages == met(("north", "south")).messages


def test_no_list_holds_an_unblinded_key_and_no_two_readers_get_the_same():
    played = met(("north", "south", "east"))
    plain = {point for names in PEOPLE.values() for point in psi.key_points(psi.key_digests(names, 100))}
    hashes = {digest for names in PEOPLE.values() for digest in psi.key_digests(names, 100)}
    lists = [message.body["points"] for message in played.messages if "points" in message.body]
    points = [part[place : place + 32] for part in lists for place in range(0, len(part), 32)]
    assert not set(points) & (plain | hashes)
    assert len(set(points)) == len(points)


def test_the_hub_alone_learns_of_pairs_and_says_so():
    two, three = (
        psi.disclosures(("north", "south"), names=True),
        psi.disclosures(("north", "south", "east"), names=True),
    )
    assert "north and south learn which of their people all of them have." in two
    assert "north learns which of its people each of south and east has; the others do not." in three
    assert not any("each of" in sentence and "which" in sentence for sentence in two)
    assert "none learns whom" in psi.disclosures(("north", "south"), names=False)[-1]


POINTS = b"".join(psi.blind(bytes(range(32)), psi.key_points(psi.key_digests(range(4), 4))))


@pytest.mark.parametrize(
    "sent",
    [
        {"points": POINTS[:-1]},
        {"points": POINTS[:32] * 2},
        {"points": POINTS},  # more than the session allows
        {"points": bytes(32)},
        {"points": "text"},
    ],
)
def test_lists_that_do_not_fit_end_the_session(sent):
    play = psi.intersect(party("south", ("north", "south"), most=3), psi.key_digests(["ann"], 3))
    assert play.send(None) == Receive("north", "keys")
    with pytest.raises(Aborted) as ended:
        play.send(sent)
    assert ended.value.culprits == ("north",)


def test_a_shorter_answer_ends_the_session():
    play = psi.intersect(party("north", ("north", "south")), psi.key_digests(["ann", "bob"], 9))
    assert isinstance(play.send(None), Send)
    assert play.send(None) == Receive("south", "keys again")
    with pytest.raises(Aborted) as ended:
        play.send({"again": POINTS[:32], "points": POINTS})
    assert ended.value.culprits == ("south",)


@pytest.mark.parametrize("places", [[0, 0], [2], [0, 1, 2]])
def test_people_that_a_holder_has_not_end_the_session(places):
    play = psi.intersect(party("south", ("north", "south")), psi.key_digests(["ann", "bob"], 9))
    play.send(None)
    play.send({"points": POINTS})
    play.send(None)
    with pytest.raises(Aborted) as ended:
        play.send({"places": np.array(places, "<u4").tobytes()})
    assert ended.value.culprits == ("north",)


@pytest.mark.parametrize("count", ["-1", "1000", "1e3", "", "٣", 3])
def test_a_count_that_cannot_be_ends_the_session(count):
    play = psi.receive_size(party("west", ("north", "south"), most=100))
    play.send(None)
    with pytest.raises(Aborted):
        play.send({"count": count})


def on_curve(point):
    u = int.from_bytes(point, "little")
    return u < PRIME and jacobi((u**3 + 486662 * u**2 + u) % PRIME, PRIME) == 1


def test_keys_that_people_would_call_the_same_are_the_same():
    assert keys.normalise_key("  Müller \t 12 ") == keys.normalise_key("mu\u0308ller 12") == "müller 12"
    assert keys.normalise_key(12) == keys.normalise_key("12")
    assert keys.normalise_key("ＡＢ") == "ab"


@pytest.mark.parametrize("key", [None, "", "  ", 1.5, True, b"x"])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(BadInput, match="key"):
        keys.normalise_key(key)


def test_a_key_twice_is_refused():
    with pytest.raises(BadInput, match="'ann' and 'ANN ' are the same"):
        keys.key_digests(["ann", "bob", "ANN "], 10)


def test_too_many_keys_are_refused():
    assert len(keys.key_digests(range(5), 5)) == 5
    with pytest.raises(BadInput, match="more than 5"):
        keys.key_digests(range(6), 5)


def test_points_lie_on_the_curve_and_stay_there():
    many = keys.key_points(keys.key_digests(range(200), 200))
    assert len(set(many)) == 200
    assert all(map(on_curve, many))
    assert all(map(on_curve, keys.blind(bytes(range(32)), many)))


def test_without_the_search_half_of_them_would_not():
    """So the test above would notice; on the twist a point stays there when blinded, and tells a bit of its key."""
    many = [bytes([number]) * 31 + b"\1" for number in range(1, 200)]
    apart = [point for point in many if not on_curve(point)]
    assert 60 < len(apart) < 140
    assert not any(map(on_curve, keys.blind(bytes(range(32)), apart)))


def test_the_points_never_change():
    (point,) = keys.key_points(keys.key_digests(["ann"], 1))
    assert point.hex() == "aaa491437b55e46b673fe319efdb49eb22d32562a882fb1bf91cb239d22d483d"
    assert (
        keys.blind(bytes(range(32)), [point])[0].hex()
        == "9b8401fa419bf056114275651021fed1118aae7b2033c1b119fabe99d12d8339"
    )


def test_blinding_commutes():
    many = keys.key_points(keys.key_digests(range(10), 10))
    one, other = bytes(range(32)), bytes(range(1, 33))
    assert keys.blind(one, keys.blind(other, many)) == keys.blind(other, keys.blind(one, many))


def test_a_point_of_small_order_is_refused():
    for point in (bytes(32), (1).to_bytes(32, "little")):
        with pytest.raises(BadInput, match="does not encode a key"):
            keys.blind(bytes(range(32)), [point])
