"""Tools on numbers: figures that may never change, since parties of different versions compute together.

Shares: any threshold of them give the secret, fewer fit every secret, wrong ones do not pass for right.
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import BadInput
from discreet.noise.stream import Stream
from discreet.verbs.combine.crypto import SHAMIR_PRIME, SHARE_BYTES, NumericCrypto, shamir_join, shamir_split
from discreet.verbs.combine.group import ModularGroup

SECRET = bytes(range(32))
ONE, OTHER = NumericCrypto(SECRET, b"session"), NumericCrypto(bytes(range(1, 33)), b"session")
SHARED_SECRET = bytes(range(32))
HOLDERS = ("north", "south", "east", "west", "mid")


def test_stream() -> None:
    known = "93584ab93de8023369ba88680ad4ad6b2daa5508ea8cd14ef8e1fe01e127e0089137702238ee99ee"
    assert Stream(SECRET, (b"session", b"label")).bytes(40).hex() == known
    info = (7).to_bytes(8, "big") + b"session" + (5).to_bytes(8, "big") + b"label"
    key = hmac.digest(SECRET, info + b"\x01", "sha256")
    aes = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    assert aes.update(bytes(40)).hex() == known


def test_a_stream_goes_on_where_it_was() -> None:
    parts = Stream(SECRET, (b"a",))
    assert parts.bytes(5) + parts.bytes(40) == Stream(SECRET, (b"a",)).bytes(45)
    assert Stream(SECRET, (b"a", b"b")).bytes(8) != Stream(SECRET, (b"ab",)).bytes(8)
    with pytest.raises(BadInput, match="32 bytes, got 4"):
        Stream(b"four", ())


@pytest.mark.parametrize(
    ("bits", "drawn", "mask"),
    [
        (1, [0, 1, 0], [0, 0, 1]),
        (8, [98, 218, 188], [20, 243, 97]),
        (24, [12376674, 14494181, 3362800], [6419220, 12999480, 2509716]),
        (
            64,
            [5760347095424621154, 6770540687062384947, 18355473390486261173],
            [5446195944488039188, 5359105639018370086, 12801615868493868609],
        ),
        (
            128,
            [
                124894431294877445393775881758382545506,
                171512030333473203692658771121811852725,
                188898513544164015455351075315775828559,
            ],
            [
                98858050186945557993967393370695398164,
                312313394490207963288386397402618441281,
                331387376761466514750251574104676249987,
            ],
        ),
    ],
)
def test_vectors(bits: int, drawn: list[int], mask: list[int]) -> None:
    group = ModularGroup(bits)
    assert ONE.draw("draw", group, 3).tolist() == drawn
    assert ONE.mask(SECRET, "mask", group, 3).tolist() == mask
    assert OTHER.mask(SECRET, "mask", group, 3).tolist() == mask


def test_keys() -> None:
    mine, theirs = ONE.secret("key"), OTHER.secret("key")
    assert mine.hex() == "0ec67fe34fcacd648bf75f28880a1d7b988a93c925abb4bf60977a6b4af1dd74"
    assert ONE.public(mine).hex() == "d99ed90aac78d4ad9b9e51bb5425c2d4353702f3eb6a7879902e8466a995fa18"
    seed = "1b63cdb514941c88ca7502cf8001398a05b4dc058df67b1e25d4816faa6cf77f"
    assert ONE.agree(mine, OTHER.public(theirs)).hex() == OTHER.agree(theirs, ONE.public(mine)).hex() == seed


def test_keys_by_the_standard() -> None:
    """RFC 7748, section 6.1."""
    secret = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    assert ONE.public(secret).hex() == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    other = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    shared = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    keys = sorted((ONE.public(secret), ONE.public(other)))
    assert ONE.agree(secret, ONE.public(other)) == Stream(shared, (b"session", *keys)).bytes(32)


def test_another_session_shares_nothing() -> None:
    elsewhere = NumericCrypto(SECRET, b"another")
    mine = ONE.secret("key")
    assert elsewhere.secret("key") != mine
    assert elsewhere.agree(mine, OTHER.public(SECRET)) != ONE.agree(mine, OTHER.public(SECRET))
    assert (elsewhere.mask(SECRET, "mask", ModularGroup(64), 3) != ONE.mask(SECRET, "mask", ModularGroup(64), 3)).all()


def test_a_key_after_another() -> None:
    """The last key is kept; that changes nothing."""
    secrets = [ONE.secret(f"key {at}") for at in range(3)]
    fresh = [NumericCrypto(SECRET, b"session").public(secret) for secret in secrets]
    assert [ONE.public(secret) for secret in (*secrets, *secrets)] == fresh * 2


@pytest.mark.parametrize("key", [None, b"", bytes(32), bytes(31), "text"])
def test_a_key_that_is_none(key: object) -> None:
    with pytest.raises(BadInput, match="not a public key"):
        ONE.agree(SECRET, key)  # type: ignore[arg-type]


def test_shares() -> None:
    shares = ONE.split(SECRET, "shares", ("north", "south", "east"), 2)
    assert {holder: share.hex() for holder, share in shares.items()} == {
        "north": "000100f8a094de6b83d47598a1c2853f1771a466077804cb32234bd42477f31cce69c8",
        "south": "000200f14027b9d302a2e4293a7aff7221d539bbfdddf6824f3080902fd5cb1d7fb448",
        "east": "000300e9dfba953a817152b9d33379a52c38cf11f443e8396c3db54c3b33a31e30fec8",
    }
    assert ONE.join(shares, 2) == SECRET


def test_digest() -> None:
    group = ModularGroup(24)
    vector = group.vector([1, 2, 3])
    known = "329ddfb6b9a63bef4851dd3063db5b97b1684bc0fe7d962f6e410c11141778f8"
    assert ONE.digest(group, vector, "text", b"bytes").hex() == known
    others = [
        (vector, "textbytes"),
        (vector, b"text", b"bytes"),
        (vector, "tex", b"tbytes"),
        ("text", vector, b"bytes"),
    ]
    assert len({ONE.digest(group, *some) for some in others} | {bytes.fromhex(known)}) == 5
    assert NumericCrypto(SECRET, b"another").digest(group, vector) != ONE.digest(group, vector)


def test_fits() -> None:
    good = ModularGroup(64).vector([1, 2])
    for bits in (1, 8, 24, 40):
        edge = ModularGroup(bits).modulus
        assert ONE.fits(np.array([0, edge - 1], np.uint64), ModularGroup(bits), 2)
        assert not ONE.fits(np.array([0, edge], np.uint64), ModularGroup(bits), 2)
    for wrong in (1 << 72, -1, 1.5, "1"):
        assert not ONE.fits(np.array([wrong], object), ModularGroup(72), 1)
    assert ONE.fits(np.array([], np.uint64), ModularGroup(8), 0)
    assert ONE.fits(good, ModularGroup(64), 2) and ONE.fits(ModularGroup(72).vector([1]), ModularGroup(72), 1)
    for bad in (
        None,
        [1, 2],
        b"12",
        good[:1],
        good.astype(np.int64),
        good.reshape(1, 2),
        ModularGroup(72).vector([1, 2]),
    ):
        assert not ONE.fits(bad, ModularGroup(64), 2)


def shares(threshold: int, secret: bytes = SHARED_SECRET) -> dict[str, bytes]:
    return shamir_split(secret, HOLDERS, threshold, Stream(SHARED_SECRET, (b"shares",)))


def test_the_prime_is_one() -> None:
    """By Fermat, and it is the smallest above 2**256 that is odd and passes."""
    assert [extra for extra in range(1, 298, 2) if pow(3, 2**256 + extra - 1, 2**256 + extra) == 1] == [297]
    assert SHAMIR_PRIME - 2**256 == 297


@pytest.mark.parametrize("threshold", range(1, 6))
@pytest.mark.parametrize("secret", [SHARED_SECRET, bytes(32), b"\xff" * 32])
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
            assert shamir_join({"north": bytes(changed), "south": given["south"]}, 2) != SHARED_SECRET


@pytest.mark.parametrize("threshold", [0, 6])
def test_a_threshold_that_cannot_be(threshold: int) -> None:
    with pytest.raises(BadInput, match="not shared among 5"):
        shares(threshold)
