import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.combine.group import Group
from discreet.combine.net.wire import decode, encode
from discreet.errors import BadInput

MOST = 100_000
PARTS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20),
    st.lists(st.text(max_size=10), max_size=4).map(tuple),
    st.tuples(st.sampled_from([1, 8, 24, 64, 128]), st.lists(st.integers(0, 2**130), max_size=5)).map(
        lambda drawn: Group(drawn[0]).vector(drawn[1])
    ),
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and one.tolist() == other.tolist()
    return one == other


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcé ", min_size=1, max_size=5), PARTS, max_size=4))
def test_what_is_written_is_read(body):
    found = decode(encode(body), MOST)
    assert list(found) == list(body)
    assert all(same(found[name], part) for name, part in body.items())


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("ab", min_size=1, max_size=3), PARTS, max_size=3), st.data())
def test_changed_bytes_are_refused_or_say_something_else(body, data):
    """Every body has one form: whatever can be read is written the same again."""
    whole = bytearray(encode(body))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        found = decode(whole, MOST)
    except BadInput:
        return
    assert encode(found) == whole


@pytest.mark.parametrize("bits, size", [(1, 1 / 8), (8, 1), (24, 3), (56, 7), (64, 8)])
def test_long_vectors_take_the_width_of_their_group(bits, size):
    vector = Group(bits).vector([Group(bits).modulus - 1] * 8000)
    assert len(encode({"vector": vector})) == pytest.approx(8000 * size, abs=30)


def test_short_vectors_take_whole_words_so_that_their_size_says_nothing():
    assert len(encode({"v": Group(64).vector([3])})) == len(encode({"v": Group(64).vector([2**60])}))


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "shorter"),
        (b"\x01", "shorter"),
        (b"\x00x", "longer"),
        (b"\x41", "at most 64 parts"),
        (b"\x01\x01a\x00\xff\xff\xff\xff", "shorter"),
        (b"\x01\x01a\x02\xff\xff\xff\xff", "shorter"),
        (b"\x01\x01a\x09", "no known type"),
        (b"\x01\x00\x01\x00\x00\x00\x00", "no name of its own"),
        (b"\x02" + 2 * b"\x01a\x01\x00\x00\x00\x00", "no name of its own"),
        (b"\x01\x01a\x01\x00\x00\x00\x01\xff", "not UTF-8"),
        (b"\x01\x01a\x03\x00\x40\x7f\xff\xff\xff", "larger than the session allows"),
        (b"\x01\x01a\x03\x00\x01\x00\x02\x00\x00" + bytes(16384), "larger than the session allows"),
        (b"\x01\x01a\x03\x00\x09\x00\x00\x00\x01\x00\x00", "A group has"),
        (b"\x01\x01a\x04\x00\x40\x00\x00\x00\x01" + bytes(8), "another type"),
        (b"\x01\x01a\x03\x00\x08\x00\x00\x00\x01\x01", "shortest form"),
    ],
)
def test_what_cannot_be_read_is_refused_before_memory_is_taken(data, said):
    with pytest.raises(BadInput, match=said):
        decode(data, MOST)


@pytest.mark.parametrize("part", [1, None, 1.5, ["a", 1], np.zeros(2), np.zeros((2, 2), np.uint64)])
def test_what_cannot_be_said_is_refused(part):
    with pytest.raises(BadInput, match="cannot say"):
        encode({"a": part})


def test_an_element_below_zero_is_refused():
    with pytest.raises(BadInput, match="below zero"):
        encode({"a": np.array([-1], dtype=object)})
