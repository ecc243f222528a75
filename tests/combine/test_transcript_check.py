"""Transcripts of several parties, compared: whoever changed, left out or contradicted something is named."""

import json
import shutil

import pytest
from tests.combine.parties import prepared, together

from discreet.errors import BadInput, NotFound
from discreet.verbs.combine.net.evidence import Evidence
from discreet.verbs.combine.net.frames import Header, sign
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.manifest import load
from discreet.verbs.combine.net.transcript_log import TRANSCRIPT, TranscriptLog, read_transcript
from discreet.verbs.combine.transcript_check import verify

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
    digest = load(kept / "pay.toml").digest.hex()
    assert str(checked).splitlines() == [
        "12 messages in the transcripts of north, east, south: all unbroken, signed and in agreement.",
        f"Checked against the manifest with the digest {digest}: compare it with your own.",
    ]
    some = found(kept, "north", "south")
    assert some.sound
    assert "because their transcripts are missing: east" in str(some)
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
    lines = list(read_transcript(place, manifest.digest))
    (place / TRANSCRIPT).unlink()
    log = TranscriptLog(place, manifest.digest)
    for line in lines:
        signed = change(line)
        if signed is not None:
            log.add(signed, {}, sent=line.sent, shown=line.shown)
    log.flush()
    log.close()


@pytest.fixture
def unsettled(kept):
    """What would be there if all had crashed before they settled, so that nobody has signed a transcript."""
    for name in PARTIES:
        rewritten(kept / f"pay.{name}", load(kept / "pay.toml"), _before_the_end)
    return kept


def _before_the_end(line):
    return None if line.kind == "settled" else line.signed


def test_a_line_that_is_left_out_shows_even_if_the_chain_is_made_anew(unsettled):
    def change(line):
        return None if line.kind == "sum 1/masked" and line.sent else line.signed

    rewritten(unsettled / "pay.east", load(unsettled / "pay.toml"), change)
    checked = found(unsettled)
    assert checked.culprits == ("east",)
    assert "left out message" in str(checked)


def test_after_the_end_nothing_can_be_left_out_since_it_was_signed(kept):
    def change(line):
        return None if line.peer == "north" and line.kind == "sum 1/masked" else line.signed

    rewritten(kept / "pay.south", load(kept / "pay.toml"), change)
    for names in (PARTIES, ("south",)):
        checked = found(kept, *names)
        assert checked.culprits == ("south",)
        assert "is not the one that was signed" in str(checked)
        assert len(checked.problems) == 1


def test_who_signed_two_different_messages_is_named_by_either_side(unsettled):
    manifest, north = load(unsettled / "pay.toml"), Identity.load(unsettled / "north.key")

    def change(line):
        if line.peer != "north" or line.kind != "sum 1/masked":
            return line.signed
        other = Header(manifest.digest, line.number, "north", (), sealed=False, kind=line.kind)
        return sign(north, other, b"another").signed

    rewritten(unsettled / "pay.south", manifest, change)
    checked = found(unsettled)
    assert checked.culprits == ("north",)
    assert "signed two different messages" in str(checked)
    assert found(unsettled, "east", "south").culprits == ("north",)


def test_a_forged_signature_is_with_whoever_kept_it(unsettled):
    manifest, stranger = load(unsettled / "pay.toml"), Identity.new("north")
    gift = Header(manifest.digest, 1, "north", (), sealed=False, kind="sum 1/key")

    def change(line):
        forged = line.peer == "north" and line.number == gift.number
        return sign(stranger, gift, b"").signed if forged else line.signed

    rewritten(unsettled / "pay.south", manifest, change)
    checked = found(unsettled, "east", "south")
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


def test_evidence_that_was_kept_is_checked_and_names_the_culprit(kept):
    manifest, east = load(kept / "pay.toml"), Identity.load(kept / "east.key")
    header = Header(manifest.digest, 9, "east", (), sealed=False, kind="part")
    lies = [sign(east, header, body).signed for body in (b"1", b"2")]
    (kept / "pay.south" / "evidence.json").write_text(Evidence(*lies).dump())
    checked = found(kept)
    assert checked.culprits == ("east",)
    assert "south kept the evidence" in str(checked)
    (kept / "pay.south" / "evidence.json").write_text(Evidence(lies[0], lies[0]).dump())
    assert found(kept).culprits == ("south",)


def test_of_another_session_one_thing_is_said(kept, tmp_path):
    (tmp_path / "other").mkdir()
    file = prepared(tmp_path / "other")
    shutil.copy(file, kept / "pay.south" / "manifest.toml")
    checked = found(kept)
    assert [str(problem) for problem in checked.problems] == ["south: is of another session than the first folder."]
