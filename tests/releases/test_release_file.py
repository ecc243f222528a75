"""A release as one file: the same release comes back, and anything else is noticed."""

import datetime as dt
import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.core.loss import Pure
from discreet.core.markup import tag
from discreet.core.release import Receipt, Release, Rows, is_release, load_papers, manifest_digest, report_page
from discreet.core.release_file import fits, save_file
from discreet.core.statement import Recipe, Statement
from discreet.errors import BadInput, Damaged, DiscreetError, NotFound

RECEIPT = Receipt("visits", "k", Pure("1/3"), 7, "d", dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
RELEASE = Release(
    pa.table({"a b": ["x", None, "ü\n"], "n": pa.array([2**62, -1, None]), "d": [Decimal("1.20"), None, None]}),
    Statement("person", Pure("1/3")),
    Recipe("ask", {"question": "SELECT 'ü\n'", "twins": {"a": "b"}, "share": Fraction(1, 3)}),
    RECEIPT,
    title="An answer",
)


@pytest.fixture
def place(tmp_path):
    save_file(RELEASE, tmp_path / "one")
    return tmp_path / "one"


def test_it_is_what_a_folder_would_hold(place, tmp_path):
    found = Release.load(place)
    RELEASE.save(tmp_path / "folder")
    assert found == Release.load(tmp_path / "folder") == RELEASE
    assert is_release(place)
    assert load_papers(place) == replace(RELEASE, payload={})
    assert b"An answer" in report_page(place)
    assert report_page(place) == report_page(tmp_path / "folder") == (tmp_path / "folder" / "report.html").read_bytes()
    found.save(tmp_path / "again")
    assert manifest_digest(tmp_path / "again") == manifest_digest(tmp_path / "folder")


@pytest.mark.parametrize("payload", [{"n": Fraction(1, 3)}, [1, "a", None], "text", 2.5, pa.table({"n": [1.5]})[:0]])
def test_any_payload_comes_back_with_its_types(tmp_path, payload):
    release = replace(RELEASE, payload=payload, receipt=None)
    assert fits(release)
    digest = save_file(release, tmp_path / "one")
    assert Release.load(tmp_path / "one") == release
    assert manifest_digest(tmp_path / "one") == digest


def test_what_is_large_or_looks_otherwise_does_not_fit(tmp_path):
    assert fits(RELEASE)
    assert not fits(replace(RELEASE, also=pa.table({"n": [1]})))
    assert not fits(replace(RELEASE, layout=tag("b", "x")))
    assert not fits(replace(RELEASE, payload=pa.table({"n": range(200_000)})))
    assert not fits(replace(RELEASE, payload=Rows(tmp_path)))


def test_any_changed_byte_is_noticed(place):
    whole = place.read_bytes()
    for at in {*range(0, 150), *range(150, len(whole), 37), len(whole) - 1}:
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DiscreetError):
            Release.load(place)
    for cut in (b"", whole[:40], whole[:-1], whole + b"\0"):
        place.write_bytes(cut)
        with pytest.raises(Damaged):
            Release.load(place)


def test_what_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="cannot be written exactly"):
        save_file(replace(RELEASE, payload=object()), tmp_path / "one")
    save_file(RELEASE, tmp_path / "one")
    with pytest.raises(BadInput, match="could not be written"):
        save_file(replace(RELEASE, title="Another"), tmp_path / "one")
    assert Release.load(tmp_path / "one") == RELEASE

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match="No space left"):
        save_file(RELEASE, tmp_path / "two")
    assert [one.name for one in tmp_path.iterdir()] == ["one"]
    with pytest.raises(NotFound):
        Release.load(tmp_path / "two")
