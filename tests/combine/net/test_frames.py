from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.combine.net.sessions import identity, manifest

from discreet.errors import BadInput
from discreet.verbs.combine.net.evidence import Evidence, check_evidence, load_evidence
from discreet.verbs.combine.net.frames import Frame, Header, Sealer, Signed, sealing_key, sign

SESSION = manifest(at=[f"host:{4000 + place}" for place in range(4)])
HEADER = Header(SESSION.digest, 3, "north", (), sealed=False, kind="sum 1/key")


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
        with pytest.raises(BadInput, match="not the one its header says"):
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
