"""Entropy that is not random: chosen bits, repeatable bits, and all bits there are."""

from __future__ import annotations

import heapq
import io
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from discreet.noise.entropy import Entropy

T = TypeVar("T", bound=Hashable)


class FixedBits(Entropy):
    """Gives the bytes it was made with, in order, and fails when they run out."""

    def __init__(self, given: bytes) -> None:
        self.left = given

    def bytes(self, count: int) -> bytes:
        assert count <= len(self.left), "more bits were asked for than the test expects"
        given, self.left = self.left[:count], self.left[count:]
        return given


class Repeatable(Entropy):
    """Gives the same bytes every time it is made with the same seed."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._drawn = io.BytesIO()

    def bytes(self, count: int) -> bytes:
        given = self._drawn.read(count)
        if len(given) < count:
            self._drawn = io.BytesIO(self._generator.bytes(count + 10_000))
            given = self._drawn.read(count)
        return given


def check_law(
    draw: Callable[[Entropy], T], true: Mapping[T, float], *, rest: float = 1e-6, into_coins: bool = False
) -> None:
    """Assert that each outcome has its true probability, as far as can be told from all but ``rest`` of the paths.

    Every choice the sampler makes is followed to all its ends, the likeliest paths first. So what is found of an
    outcome is at most its probability, and at least that without the rest. A sampler that starts over has
    very many paths; ``rest`` must then be larger. A coin of probability e**-x is one choice, unless ``into_coins``.
    """
    found = _followed(draw, rest, _Path if into_coins else _CoinPath)
    assert set(found) <= set(true)
    for outcome, p in true.items():
        assert p - rest - 1e-9 <= found.get(outcome, 0) <= p + 1e-9, outcome


def exact_law(draw: Callable[[Entropy], T], *, choices: int) -> dict[T, Fraction]:
    """The exact probability of each outcome, by all paths of at most so many choices; longer paths are left out."""
    found: dict[T, Fraction] = defaultdict(Fraction)
    paths: list[tuple[Fraction, list[int]]] = [(Fraction(1), [])]
    while paths:
        weight, path = paths.pop()
        try:
            found[draw(_ExactPath(path))] += weight
        except _Fork as fork:
            if len(path) < choices:
                paths += [(weight * p, [*path, choice]) for choice, p in enumerate(fork.ways) if p]
    return found


class Heads(Entropy):
    """Coins that all fall heads; ``chance`` is e**-``exponent`` times ``factor``, the probability of that."""

    __slots__ = ("exponent", "factor", "script")

    def __init__(self, *script: int) -> None:
        self.script = list(script)
        self.factor, self.exponent = Fraction(1), Fraction(0)

    def bits(self, count: int) -> int:
        """The next number of the script, which must have so many bits."""
        drawn = self.script.pop(0)
        assert 0 <= drawn < 1 << count
        return drawn

    def below(self, n: int) -> int:
        """The next number of the script, which must be below n."""
        drawn = self.script.pop(0)
        assert 0 <= drawn < n
        return drawn

    def flip_ratio(self, a: int, b: int) -> bool:
        """Heads."""
        self.factor *= Fraction(a, b)
        return True

    def flip_exp_ratio(self, a: int, b: int) -> bool:
        """Heads."""
        self.exponent += Fraction(a, b)
        return True


def _followed(draw: Callable[[Entropy], T], rest: float, kind: type[_Path]) -> dict[T, float]:
    found: dict[T, float] = defaultdict(float)
    paths: list[tuple[float, list[int]]] = [(-1.0, [])]
    left = 1.0
    for _ in range(100_000):
        weight, path = heapq.heappop(paths)
        try:
            found[draw(kind(path))] -= weight
            left += weight
        except _Fork as fork:
            for choice, p in enumerate(fork.ways):
                heapq.heappush(paths, (weight * p, [*path, choice]))
        if left < rest:
            return found
    raise AssertionError(f"after 100,000 runs {left} of the probability is still not followed")


class _Fork(Exception):
    def __init__(self, ways: Sequence[Any]) -> None:
        self.ways = ways


class _Path(Entropy):
    def __init__(self, choices: list[int]) -> None:
        self._choices = iter(choices)

    def below(self, n: int) -> int:
        return self._choose([1 / n] * n)

    def bits(self, count: int) -> int:
        return self.below(1 << count)

    def flip_ratio(self, a: int, b: int) -> bool:
        return self._heads(min(a / b, 1))

    def _heads(self, p: float) -> bool:
        return self._choose([1 - p, p]) == 1

    def _choose(self, ways: list[float]) -> int:
        choice = next(self._choices, None)
        if choice is None:
            raise _Fork(ways)
        return choice


class _CoinPath(_Path):
    def flip_exp_ratio(self, a: int, b: int) -> bool:
        return self._heads(math.exp(-a / b))


class _ExactPath(_Path):
    def below(self, n: int) -> int:
        return 0 if n == 1 else self._choose([Fraction(1, n)] * n)  # type: ignore[list-item]

    def flip_ratio(self, a: int, b: int) -> bool:
        p = Fraction(min(a, b), b)
        return self._choose([1 - p, p]) == 1 if 0 < p < 1 else p == 1  # type: ignore[list-item]
