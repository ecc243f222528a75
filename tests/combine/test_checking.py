"""Transcripts of several parties, compared: whoever changed, left out or contradicted something is named."""

import json
import shutil

import pytest
from tests.combine.parties import prepared, together

from discreet.combine.checking import verify
from discreet.combine.net.frames import Header, sign
from discreet.combine.net.keys import Identity
from discreet.combine.net.manifest import load
from discreet.combine.net.transcript_log import TRANSCRIPT, Log, read
from discreet.errors import BadInput, NotFound

PARTIES = ("north", "east", "south")


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    file = prepared(tmp_path_factory.mktemp("checked"))
    together(file)
    return file.parent


@pytest.fixture
def kept(ended, tmp_path):
    """A copy of everything, to be tampered with."""
    return shutil.copytree(ended, tmp_path / "copy")


def found(kept, *names):
    return verify([kept / f"pay.{name}" for name in names or PARTIES])


def test_honest_parties_agree(kept):
    checked = found(kept)
    assert checked.sound, checked
    assert checked.parties == PARTIES
    assert checked.messages == 12
    assert str(checked) == (
        "12 messages in the transcripts of north, east, south: all unbroken, signed and in agreement."
    )
    some = found(kept, "north", "south")
    assert some.sound
    assert "for lack of a transcript: east" in str(some)
    assert some.to_dict()["absent"] == ["east"]


def test_a_changed_line_shows(kept):
    place = kept / "pay.east" / TRANSCRIPT
    lines = place.read_text().splitlines()
    changed = json.loads(lines[4]) | {"kind": "sum 9/key"}
    place.write_text("\n".join([*lines[:4], json.dumps(changed), *lines[5:]]) + "\n")
    checked = found(kept)
    assert checked.culprits == ("east",)
    assert "was changed" in str(checked)


def rewritten(place, manifest, change):
    """Write a transcript anew, as its owner could: ``change`` gives what to keep of a line, or nothing."""
    lines = list(read(place, manifest.digest))
    (place / TRANSCRIPT).unlink()
    log = Log(place, manifest.digest)
    for line in lines:
        signed = change(line)
        if signed is not None:
            log.add(signed, {}, sent=line.sent)
    log.flush()
    log.close()


def test_a_line_that_is_left_out_shows_even_if_the_chain_is_made_anew(kept):
    def change(line):
        return None if line.kind == "sum 1/masked" and line.sent else line.signed

    rewritten(kept / "pay.east", load(kept / "pay.toml"), change)
    checked = found(kept)
    assert checked.culprits == ("east",)
    assert "left out message" in str(checked)


def test_what_was_got_and_left_out_shows(kept):
    def change(line):
        return None if line.peer == "north" and line.kind == "sum 1/masked" else line.signed

    rewritten(kept / "pay.south", load(kept / "pay.toml"), change)
    checked = found(kept)
    assert checked.culprits == ("south",)
    assert "of north, with which the session ended" in str(checked)


def test_who_signed_two_different_messages_is_named_by_either_side(kept):
    manifest, north = load(kept / "pay.toml"), Identity.load(kept / "north.key")

    def change(line):
        if line.peer != "north" or line.kind != "sum 1/masked":
            return line.signed
        other = Header(manifest.digest, line.number, "north", (), sealed=False, kind=line.kind)
        return sign(north, other, b"another").signed

    rewritten(kept / "pay.south", manifest, change)
    checked = found(kept)
    assert checked.culprits == ("north",)
    assert "signed two different messages" in str(checked)
    assert found(kept, "east", "south").culprits == ("north",)


def test_a_forged_signature_is_with_whoever_kept_it(kept):
    manifest, stranger = load(kept / "pay.toml"), Identity.new("north")
    gift = Header(manifest.digest, 1, "north", (), sealed=False, kind="sum 1/key")

    def change(line):
        forged = line.peer == "north" and line.number == gift.number
        return sign(stranger, gift, b"").signed if forged else line.signed

    rewritten(kept / "pay.south", manifest, change)
    checked = found(kept, "east", "south")
    assert "south" in checked.culprits
    assert "not signed by north" in str(checked)


def test_another_manifest_shows(kept):
    place = kept / "pay.east" / "manifest.toml"
    place.write_text(place.read_text().replace('high = "100000"', 'high = "200000"'))
    assert found(kept).culprits == ("east",)


def test_what_cannot_be_compared_is_said(kept):
    with pytest.raises(NotFound, match=r"no manifest\.toml"):
        verify([kept])
    with pytest.raises(BadInput, match="nothing to compare"):
        verify([])
    with pytest.raises(BadInput, match="Two of these folders are north's"):
        found(kept, "north", "north")
