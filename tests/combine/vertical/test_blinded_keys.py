import pytest
from gmpy2 import jacobi

from discreet.errors import BadInput
from discreet.verbs.combine.vertical import psi as keys

PRIME = 2**255 - 19


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
        with pytest.raises(BadInput, match="not a point"):
            keys.blind(bytes(range(32)), [point])
