"""Shares: any threshold of them give the secret, fewer fit every secret, wrong ones do not pass for right."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations

import pytest

from discreet.errors import BadInput
from discreet.noise.stream import Stream
from discreet.verbs.combine.crypto import SHAMIR_PRIME, SHARE_BYTES, shamir_join, shamir_split

SECRET = bytes(range(32))
HOLDERS = ("north", "south", "east", "west", "mid")


def shares(threshold: int, secret: bytes = SECRET) -> dict[str, bytes]:
    return shamir_split(secret, HOLDERS, threshold, Stream(SECRET, (b"shares",)))


def test_the_prime_is_one() -> None:
    """By Fermat, and it is the smallest above 2**256 that is odd and passes."""
    assert [extra for extra in range(1, 298, 2) if pow(3, 2**256 + extra - 1, 2**256 + extra) == 1] == [297]
    assert SHAMIR_PRIME - 2**256 == 297


@pytest.mark.parametrize("threshold", range(1, 6))
@pytest.mark.parametrize("secret", [SECRET, bytes(32), b"\xff" * 32])
def test_any_of_them(threshold: int, secret: bytes) -> None:
    given = shares(threshold, secret)
    assert all(len(share) == SHARE_BYTES for share in given.values())
    for size in range(threshold, 6):
        for some in combinations(HOLDERS, size):
            assert shamir_join({holder: given[holder] for holder in some}, threshold) == secret


def test_fewer_fit_every_secret() -> None:
    """For two shares of three and any secret there is a third share that gives it."""
    given = shares(3)
    points = {1: given["north"], 2: given["south"]}
    for secret in (0, 7, 2**256 - 1):
        # the value at 3 of the polynomial of degree 2 that is the secret at 0
        one, two = (int.from_bytes(share[2:], "big") for share in points.values())
        third = (secret - 3 * one + 3 * two) % SHAMIR_PRIME
        made = {"a": points[1], "b": points[2], "c": (3).to_bytes(2, "big") + third.to_bytes(33, "big")}
        assert int.from_bytes(shamir_join(made, 3), "big") == secret


def test_too_few_or_none() -> None:
    given = shares(3)
    two = {"north": given["north"], "south": given["south"]}
    wrong = [
        two,
        two | {"east": given["south"]},
        two | {"east": b"short"},
        two | {"east": None},
        two | {"east": bytes(2) + given["east"][2:]},
        two | {"east": given["east"][:2] + b"\xff" * 33},
    ]
    for some in wrong:
        with pytest.raises(BadInput):
            shamir_join(some, 3)  # type: ignore[arg-type]


def test_a_wrong_share_gives_another_secret_or_none() -> None:
    given = shares(2)
    for place in (5, 20, 34):
        changed = bytearray(given["north"])
        changed[place] ^= 1
        with suppress(BadInput):
            assert shamir_join({"north": bytes(changed), "south": given["south"]}, 2) != SECRET


@pytest.mark.parametrize("threshold", [0, 6])
def test_a_threshold_that_cannot_be(threshold: int) -> None:
    with pytest.raises(BadInput, match="not shared among 5"):
        shares(threshold)
