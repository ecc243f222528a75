"""Does a sample fit a law? Wrong once in a thousand million times, and sharp enough to see a scale that is 10 % off."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

FALSE_ALARM = 1e-9


def fits(sample: np.ndarray, law: Mapping[int, float]) -> bool:
    """Whether every event {X <= k} and {|X| <= k} is about as frequent as it should be.

    Of n draws a share s has an event of probability p: by Chernoff's bound, s is that far off, to one side, with
    probability at most e**-(n D(s || p)), D being the relative entropy of two coins. The allowance is shared out among
    all events and both sides.
    """
    sizes: dict[int, float] = defaultdict(float)
    for x, p in law.items():
        sizes[abs(x)] += p
    events = [_up_to(sample, law), _up_to(abs(sample), sizes)]
    count = sum(share.size for share, _ in events)
    allowed = math.log(2 * count / FALSE_ALARM) / sample.size
    return all((_divergence(share, np.clip(p, 1e-15, 1 - 1e-15)) <= allowed).all() for share, p in events)


def _up_to(sample: np.ndarray, law: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """For every k, the share of draws up to it, and their probability."""
    points = np.array(sorted(law))
    chances = np.cumsum([law[int(k)] for k in points])
    return np.searchsorted(np.sort(sample), points, side="right") / sample.size, chances


def _divergence(share: np.ndarray, p: np.ndarray) -> np.ndarray:
    yes = np.where(share > 0, share * np.log(np.maximum(share, 1e-300) / p), 0)
    no = np.where(share < 1, (1 - share) * np.log(np.maximum(1 - share, 1e-300) / (1 - p)), 0)
    return yes + no
