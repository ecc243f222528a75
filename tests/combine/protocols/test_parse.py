"""Protocols as texts."""

from __future__ import annotations

import pytest

from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import BadInput
from discreet.verbs.combine.protocols.masks import Masks
from discreet.verbs.combine.protocols.rings import Paths
from discreet.verbs.combine.protocols.shares import Trusted


def test_texts() -> None:
    assert SUM_PROTOCOLS.entries()[0].name == "masks"
    assert SUM_PROTOCOLS.parse(" Masks ") == Masks()
    assert SUM_PROTOCOLS.parse("paths count=3") == Paths(3)
    assert SUM_PROTOCOLS.parse("trusted party=north") == Trusted("north")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mask", "did you mean 'masks'"),
        ("", "no protocol ''"),
        ("masks count=2", "is not a parameter of masks"),
        ("paths count=0", "between 1 and 1,000"),
        ("paths count=many", "whole number"),
        ("paths count", "whole number"),
    ],
)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        SUM_PROTOCOLS.parse(text)


def test_who_is_trusted_must_be_there() -> None:
    with pytest.raises(BadInput, match="is trusted and is not one"):
        SUM_PROTOCOLS.parse("trusted party=up").withstands(("north", "south"), 0)
