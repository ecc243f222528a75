"""Messages in words."""

import numpy as np
import pytest

from discreet.verbs.combine.bus import Message
from discreet.verbs.combine.transcript import describe_body, entries_table, single_number, transcript_entries


@pytest.mark.parametrize(
    ("body", "words", "one"),
    [
        ({"vector": np.array([8_234_112], np.uint64)}, "8,234,112", "8,234,112"),
        ({"vector": np.array([2**90], object)}, f"{2**90:,}", f"{2**90:,}"),
        ({"vector": np.arange(6, dtype=np.uint64)}, "6 numbers: 0, 1, 2, 3, …", ""),
        ({"key": bytes(range(32))}, "32 bytes 00010203…", ""),
        ({"key": b"a"}, "1 byte 61", ""),
        ({"who": ("north", "east"), "note": "so"}, "who: north, east; note: so", ""),
        ({"who": ()}, "no one", ""),
        ({"note": "x" * 100}, "x" * 47 + "…", ""),
        ({}, "nothing", ""),
    ],
)
def test_what_a_body_holds(body, words, one):
    assert describe_body(body) == words
    assert single_number(body) == one


def test_messages_are_numbered_named_and_safe_to_show():
    body = {"note": "<script>"}
    lines = transcript_entries(
        [
            Message(1, "north", ("south",), "piece", body, sealed=True),
            Message(2, "north", ("south", "east"), "part", body),
        ]
    )
    assert [str(line) for line in lines] == [
        "1. north to south: piece: <script>",
        "2. north tells south, east: part: <script>",
    ]
    page = entries_table(lines)
    assert "<script>" not in page
    assert "south (sealed)" in page
    assert "south, east</td>" in page
    assert "and 100 more" in entries_table(lines[:1] * 600)
