"""Protocols as texts."""

from __future__ import annotations

import pytest

from discreet.errors import BadInput
from discreet.verbs.combine.protocols.masks import Masks
from discreet.verbs.combine.protocols.parse import PROTOCOLS, parse_protocol
from discreet.verbs.combine.protocols.rings import Paths
from discreet.verbs.combine.protocols.trusted import Trusted


def test_texts() -> None:
    assert next(iter(PROTOCOLS)) == "masks"
    assert parse_protocol(" Masks ") == Masks()
    assert parse_protocol("paths count=3") == Paths(3)
    assert parse_protocol("trusted party=north") == Trusted("north")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mask", "did you mean 'masks'"),
        ("", "no protocol ''"),
        ("masks count=2", "means nothing to masks"),
        ("paths count=0", "between 1 and 1,000"),
        ("paths count=many", "whole number"),
        ("paths count", "needs a value"),
    ],
)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        parse_protocol(text)


def test_who_is_trusted_must_be_there() -> None:
    with pytest.raises(BadInput, match="is trusted and is not one"):
        parse_protocol("trusted party=up").withstands(("north", "south"), 0)
