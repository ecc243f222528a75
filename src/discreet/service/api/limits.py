"""How often: a bucket of turns for everyone, refilled at a steady rate, in this process's memory.

It keeps one person, or one address, from taking all of the service. Guessing passwords is stopped elsewhere, by name
and for all processes: see ``curator/people``.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from discreet.errors import TooMany

_MOST = 10_000


class Buckets:
    """A bucket of ``burst`` turns for every name; ``rate`` come back in a second."""

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What was left for a name, and when: the longest unused first, and forgotten first."""

    def take(self, name: str) -> None:
        """Take a turn; an error that says how long to wait if there is none."""
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(name, (float(self._burst), now))
            left = min(float(self._burst), left + (now - since) * self._rate)
            enough = left >= 1
            self._left[name] = (left - 1 if enough else left, now)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
        if not enough:
            raise self._too_many(left)

    def require(self, name: str) -> None:
        """An error if a name has no turn left; none is taken."""
        with self._lock:
            left, since = self._left.get(name, (float(self._burst), self._clock()))
            left += (self._clock() - since) * self._rate
        if left < 1:
            raise self._too_many(left)

    def _too_many(self, left: float) -> TooMany:
        wait = max(1, math.ceil((1 - left) / self._rate))
        return TooMany("Too many requests in too short a time.", wait=wait, hint=f"Wait {wait} s and try again.")


def neighbourhood(address: str) -> str:
    """What one computer can choose its address from: itself, or in IPv6 its network."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(getattr(found, "ipv4_mapped", None) or found)
