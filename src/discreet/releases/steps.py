"""Timing of the steps of a release, for an observer such as the service's metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Steps:
    """The steps of a pipeline (plan, charge, rows, keep). ``took`` is called with each and its seconds."""

    def __init__(self) -> None:
        self.took: Callable[[str, float], None] | None = None

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Time a step, whether it ends well or not."""
        began = time.perf_counter()
        try:
            yield
        finally:
            if self.took is not None:
                self.took(step, time.perf_counter() - began)
