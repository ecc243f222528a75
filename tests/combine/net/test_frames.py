from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.combine.net.sessions import identity, manifest

from discreet.errors import BadInput
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.net.evidence import Evidence, check_evidence, load_evidence
from discreet.verbs.combine.net.frames import Frame, Header, Sealer, Signed, decode_body, encode_body, sealing_key, sign

SESSION = manifest(at=[f"host:{4000 + place}" for place in range(4)])
HEADER = Header(SESSION.digest, 3, "north", (), sealed=False, kind="sum 1/key")
MOST = 100_000
PARTS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20),
    st.lists(st.text(max_size=10), max_size=4).map(tuple),
    st.tuples(st.sampled_from([1, 8, 24, 64, 128]), st.lists(st.integers(0, 2**130), max_size=5)).map(
        lambda drawn: ModularGroup(drawn[0]).vector(drawn[1])
    ),
)


def signed(**changes):
    return sign(identity("north"), replace(HEADER, **changes), b"body").signed


def test_a_header_has_one_form():
    raw = sign(identity("north"), replace(HEADER, to=("south", "east")), b"body").signed.raw
    assert Header.unpack(raw).to == ("south", "east")
    assert Header.unpack(raw).pack() == raw
    for wrong in (raw + b"x", raw[:-1], b"", raw[:40] + b"\x02" + raw[41:]):
        with pytest.raises(BadInput, match="cannot be read"):
            Header.unpack(wrong)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_refused(raw):
    with suppress(BadInput):
        assert Header.unpack(raw).pack() == raw


def test_a_changed_header_or_body_or_another_session_is_noticed():
    frame = sign(identity("north"), HEADER, b"body")
    frame.signed.check(SESSION)
    frame.check_body()
    for body in (b"bodx", b"bod", b"body."):
        with pytest.raises(BadInput, match="does not match its header"):
            Frame(frame.signed, body).check_body()
    raw = frame.signed.raw
    with pytest.raises(BadInput, match="not signed by north"):
        Signed(raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:], frame.signed.signature).check(SESSION)
    with pytest.raises(BadInput, match="another session"):
        frame.signed.check(replace(SESSION, nonce="another nonce, as long"))
    with pytest.raises(BadInput, match="not signed by south"):
        sign(identity("north"), replace(HEADER, of="south"), b"body").signed.check(SESSION)


def test_only_the_two_can_open_what_is_sealed_and_it_cannot_be_moved():
    mine, theirs, stranger = (bytes([place]) * 32 for place in (1, 2, 3))
    here = Sealer(mine, sealing_key(theirs), SESSION.digest, ("north", "south"))
    there = Sealer(theirs, sealing_key(mine), SESSION.digest, ("south", "north"))
    sealed = here.seal("north", 4, "piece", b"secret")
    assert b"secret" not in sealed
    assert sealed == here.seal("north", 4, "piece", b"secret"), "the same after a crash"
    assert sealed[:12] != here.seal("north", 4, "piece", b"Secret")[:12], "a nonce is for one text"
    assert there.open("north", 4, "piece", sealed) == b"secret"
    outside = Sealer(stranger, sealing_key(mine), SESSION.digest, ("south", "north"))
    later = Sealer(theirs, sealing_key(mine), bytes(32), ("south", "north"))
    for who, of, number, kind in (
        (outside, "north", 4, "piece"),
        (later, "north", 4, "piece"),
        (there, "south", 4, "piece"),
        (there, "north", 5, "piece"),
        (there, "north", 4, "part"),
    ):
        with pytest.raises(BadInput, match="cannot be opened"):
            who.open(of, number, kind, sealed)
    with pytest.raises(BadInput, match="cannot be opened"):
        there.open("north", 4, "piece", b"short")


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "sum 1/masked"},
        {"to": ("south",)},
        {"number": 4},
        {"number": 4, "to": ("south", "east")},
        {"number": 4, "kind": "sum 1/masked"},
    ],
)
def test_contradictions_convict_their_signer(changes, tmp_path):
    evidence = Evidence(signed(), signed(**changes))
    (tmp_path / "evidence.json").write_text(evidence.dump())
    assert check_evidence(SESSION, load_evidence(tmp_path / "evidence.json")) == "north"


@pytest.mark.parametrize(
    "first, second",
    [
        ({}, {}),
        ({}, {"number": 4, "kind": "sum 1/masked", "place": 1}),
        ({"to": ("south",)}, {"to": ("east",), "number": 4}),
    ],
)
def test_nobody_is_convicted_of_what_honest_parties_sign(first, second):
    with pytest.raises(BadInput, match="do not contradict"):
        check_evidence(SESSION, Evidence(signed(**first), signed(**second)))


def test_evidence_that_somebody_else_made_up_convicts_nobody():
    forged = sign(identity("south"), replace(HEADER, kind="sum 1/masked"), b"body").signed
    with pytest.raises(BadInput, match="not signed by north"):
        check_evidence(SESSION, Evidence(signed(), forged))


def same(one, other):
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and one.tolist() == other.tolist()
    return one == other


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcé ", min_size=1, max_size=5), PARTS, max_size=4))
def test_what_is_written_is_read(body):
    found = decode_body(encode_body(body, MOST), MOST)
    assert list(found) == list(body)
    assert all(same(found[name], part) for name, part in body.items())


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("ab", min_size=1, max_size=3), PARTS, max_size=3), st.data())
def test_changed_bytes_are_refused_or_can_be_said_again(body, data):
    whole = bytearray(encode_body(body, MOST))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        found = decode_body(whole, MOST)
    except BadInput:
        return
    again = decode_body(encode_body(found, MOST), MOST)
    assert list(again) == list(found)
    assert all(same(again[name], part) for name, part in found.items())


@pytest.mark.parametrize("bits, size", [(1, 1 / 8), (8, 1), (24, 3), (56, 7), (64, 8)])
def test_vectors_take_the_width_of_the_group_whatever_their_values(bits, size):
    group = ModularGroup(bits)
    for values in ([group.modulus - 1] * 8000, [0] * 8000, [1, *[0] * 7999]):
        data = encode_body({"vector": group.vector(values)}, MOST, {8000: bits})
        assert len(data) == pytest.approx(8000 * size, abs=30)
        assert decode_body(data, MOST)["vector"].tolist() == values


def test_where_no_group_is_known_vectors_take_whole_words():
    sizes = {len(encode_body({"v": ModularGroup(64).vector([top] + [0] * 2000)}, MOST)) for top in (3, 60_000, 2**60)}
    assert len(sizes) == 1


def test_a_vector_that_is_not_of_the_known_group_takes_whole_words():
    for group, values in ((ModularGroup(64), [300, 2]), (ModularGroup(128), [300, 2**70])):
        assert same(
            decode_body(encode_body({"v": group.vector(values)}, MOST, {2: 8}), MOST)["v"], group.vector(values)
        )


def test_what_the_receiver_would_refuse_for_its_size_is_not_said():
    vector, exactly = ModularGroup(8).vector([200] * 1000), 8000
    assert len(decode_body(encode_body({"v": vector}, exactly, {1000: 8}), exactly)["v"]) == 1000
    with pytest.raises(BadInput, match="larger than the session allows"):
        encode_body({"v": vector}, exactly - 1, {1000: 8})


def test_there_may_be_a_part_for_each_of_many_parties():
    body = {f"seed p{place}": bytes(35) for place in range(2500)}
    assert decode_body(encode_body(body, MOST), MOST) == body
    with pytest.raises(BadInput, match="at most 4,096 parts"):
        encode_body({str(place): b"" for place in range(4097)}, MOST)


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "shorter"),
        (b"\x01", "shorter"),
        (b"\x00\x01", "shorter"),
        (b"\x00\x00x", "longer"),
        (b"\x10\x01", "at most 4,096 parts"),
        (b"\x00\x01\x01a\x00\xff\xff\xff\xff", "shorter"),
        (b"\x00\x01\x01a\x02\xff\xff\xff\xff", "shorter"),
        (b"\x00\x01\x01a\x09", "no known type"),
        (b"\x00\x01\x00\x01\x00\x00\x00\x00", "has no name, or the name of another"),
        (b"\x00\x02" + 2 * b"\x01a\x01\x00\x00\x00\x00", "has no name, or the name of another"),
        (b"\x00\x01\x01a\x01\x00\x00\x00\x01\xff", "not UTF-8"),
        (b"\x00\x01\x01a\x03\x00\x40\x7f\xff\xff\xff", "larger than the session allows"),
        (b"\x00\x01\x01a\x03\x00\x01\x00\x02\x00\x00" + bytes(16384), "larger than the session allows"),
        (b"\x00\x01\x01a\x03\x00\x09\x00\x00\x00\x01\x00\x00", "A group has"),
        (b"\x00\x01\x01a\x04\x00\x40\x00\x00\x00\x01" + bytes(8), "does not match its width"),
        (b"\x00\x01\x01a\x03\x00\x01\x00\x00\x00\x01\x02", "bits after its end"),
    ],
)
def test_what_cannot_be_read_is_refused_before_memory_is_taken(data, said):
    with pytest.raises(BadInput, match=said):
        decode_body(data, MOST)


@pytest.mark.parametrize("part", [1, None, 1.5, ["a", 1], np.zeros(2), np.zeros((2, 2), np.uint64)])
def test_what_cannot_be_said_is_refused(part):
    with pytest.raises(BadInput, match="cannot contain"):
        encode_body({"a": part}, MOST)


def test_an_element_below_zero_is_refused():
    with pytest.raises(BadInput, match="cannot be negative"):
        encode_body({"a": np.array([-1], dtype=object)}, MOST)
