"""Bits from the operating system; choices that are exact if the bits are fair."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.noise.bits import FixedBits

from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy, Watched, token
from discreet.noise.masking import Draws

ALL_BYTES = bytes(range(256))

FORKS = """
import os, sys
from discreet.noise.entropy import SYSTEM
from discreet.noise.laplace import DiscreteLaplace
noise = DiscreteLaplace(2**40)
noise.draws(1000)
for _ in range(4):
    if os.fork() == 0:
        break
else:
    for _ in range(4):
        os.wait()
line = f"{SYSTEM.bits(128)} {noise.draw()} {noise.draws(1000)[0]}\\n"
os.write(1, line.encode())
"""


def test_nothing_is_kept_between_draws_that_a_fork_could_copy() -> None:
    assert Entropy.__slots__ == ()
    assert not hasattr(SYSTEM, "__dict__")


def test_forked_processes_never_repeat_a_draw() -> None:
    run = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    columns = list(zip(*(line.split() for line in run.stdout.splitlines()), strict=True))
    assert len(columns[0]) == 5
    for column in columns:
        assert len(set(column)) == 5


def test_threads_never_repeat_a_draw() -> None:
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: SYSTEM.words(1000).tolist(), range(16)))
    assert len({word for words in drawn for word in words}) == 16_000


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 100, 255, 256])
def test_below_is_uniform_over_all_bytes(n: int) -> None:
    spare = 8 - (n - 1).bit_length()
    counts = Counter(SYSTEM.below(1) if n == 1 else first_try(n, byte) for byte in ALL_BYTES)
    kept = {value: count for value, count in counts.items() if value is not None}
    assert set(kept) == set(range(n))
    assert set(kept.values()) == {256 if n == 1 else 1 << spare}


def first_try(n: int, byte: int) -> int | None:
    """What ``below`` makes of one byte; ``None``: it wants another."""
    try:
        return FixedBits(bytes([byte])).below(n)
    except AssertionError:
        return None


@pytest.mark.parametrize("n", [3, 2**31, 2**63 - 25, 2**63])
def test_arrays_below_n_use_the_top_bits_and_draw_again_what_is_too_large(n: int) -> None:
    spare = 64 - (n - 1).bit_length()
    words = [(n - 1) << spare, 0, min(n << spare, 2**64 - 1), 1 << spare]
    entropy = FixedBits(np.array(words, dtype="<u8").tobytes())
    too_large = (words[2] >> spare) >= n
    drawn = entropy.many_below(n, 3 if too_large else 4).tolist()
    assert drawn == ([n - 1, 0, 1] if too_large else [n - 1, 0, n - 1, 1])


def test_arrays_below_one_take_no_bits() -> None:
    assert FixedBits(b"").many_below(1, 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [0, -1])
def test_there_is_nothing_below_zero(n: int) -> None:
    with pytest.raises(BadInput):
        SYSTEM.below(n)
    with pytest.raises(BadInput):
        SYSTEM.many_below(n, 1)
    with pytest.raises(BadInput):
        SYSTEM.many_below(2**63 + 1, 1)


def test_a_coin_is_exact_over_all_bytes() -> None:
    for p in (Fraction(0), Fraction(1, 256), Fraction(77, 256), Fraction(255, 256), Fraction(1)):
        assert sum(FixedBits(bytes([byte])).flip(p) for byte in ALL_BYTES) == 256 * p


def test_many_coins_take_more_bits_exactly_when_the_first_64_do_not_tell() -> None:
    p = Fraction(1, 3)
    edge = 2**64 // 3
    words = np.array([edge - 1, edge, edge + 1, edge], dtype="<u8").tobytes()
    more = np.array([edge - 1, edge + 1], dtype="<u8").tobytes()
    assert FixedBits(words + more).flips(p, 4).tolist() == [True, True, False, False]
    assert FixedBits(b"").flips(Fraction(1), 2).tolist() == [True, True]
    assert not FixedBits(bytes(8)).flips(Fraction(0), 1)[0]
    assert FixedBits(np.array([2**63], dtype="<u8").tobytes()).flips(Fraction(1, 2), 1).tolist() == [False]


@pytest.mark.parametrize("p", [Fraction(-1, 2), Fraction(3, 2)])
def test_what_is_no_probability_is_refused(p: Fraction) -> None:
    with pytest.raises(BadInput, match="between 0 and 1"):
        SYSTEM.flip(p)
    with pytest.raises(BadInput, match="between 0 and 1"):
        SYSTEM.flips(p, 1)


def test_arrays_have_their_size_and_kind() -> None:
    assert SYSTEM.words(5).dtype == np.uint64
    assert SYSTEM.shorts(5).dtype == np.uint16
    assert SYSTEM.coins(13).shape == (13,)
    assert FixedBits(bytes([0b10100000])).coins(3).tolist() == [True, False, True]
    assert SYSTEM.words(0).size == 0
    assert all(first != second for first, second in pairwise(SYSTEM.words(100).tolist()))


def test_tokens_are_plain_text_as_long_as_asked_and_never_the_same() -> None:
    made = {token(32) for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch("[A-Za-z0-9_-]{43}", one) for one in made)
    assert len(token(3)) == 4


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 17, 64])
def test_bits_are_the_top_ones_of_as_many_bytes_as_it_takes(count: int) -> None:
    whole = -(-count // 8)
    for given in (bytes(whole), b"\xff" * whole, bytes(range(1, whole + 1))):
        bits = FixedBits(given)
        assert bits.bits(count) == int.from_bytes(given, "little") >> (8 * whole - count)
        assert not bits.left


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16])
def test_coins_take_a_bit_each(count: int) -> None:
    bits = FixedBits(bytes([0b10110001, 0b01000000])[: -(-count // 8)])
    assert bits.coins(count).tolist() == [bit == "1" for bit in "1011000101000000"[:count]]
    assert not bits.left


def test_a_number_is_compared_bit_by_bit_until_it_is_told() -> None:
    """The first bits of a third are 01 01 …: below it, above it, and on it, where the bits that follow tell."""
    third, following = Fraction(1, 3), 2**64 // 3
    assert FixedBits(b"").falls_below(third, 0, 2)
    assert not FixedBits(b"").falls_below(third, 2, 2)
    for offset, below in ((-1, True), (1, False)):
        assert FixedBits((following + offset).to_bytes(8, "little")).falls_below(third, 1, 2) is below
    assert FixedBits(b"").falls_below(Fraction(1, 4), 0, 2)
    assert not FixedBits(b"").falls_below(Fraction(1, 4), 1, 2)
    assert FixedBits(b"").falls_below(Fraction(1), 3, 2)
    assert not FixedBits(b"").falls_below(Fraction(0), 0, 2)


def test_watched_bits_tell_whether_any_were_drawn() -> None:
    watched = Watched()
    assert not watched.drawn
    watched.below(1)
    assert not watched.drawn
    watched.below(2)
    assert watched.drawn


def test_a_seed_is_a_whole_number_from_0_on() -> None:
    assert (Draws.of(0).root, Draws.of(7).root) == (0, 7)
    assert Draws.of().root != Draws.of().root
    for wrong in (-1, 1.5, True, "7"):
        with pytest.raises(BadInput, match="A seed must be a whole number"):
            Draws.of(wrong)  # type: ignore[arg-type]
