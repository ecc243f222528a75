"""A job, as everybody may see it who may see jobs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WAITING, RUNNING, DONE, FAILED, LOST, CANCELLED = "waiting", "running", "done", "failed", "lost", "cancelled"
OVER = frozenset({DONE, FAILED, LOST, CANCELLED})
"""The states that a job stays in."""


@dataclass(frozen=True)
class Job:
    """Something that takes a while, and how far it is."""

    id: str
    kind: str
    by: str
    table: str
    spec: Mapping[str, Any]
    at: dt.datetime
    """When it was asked for."""
    state: str
    progress: float | None
    """The share that is done; ``None`` while nobody knows."""
    said: str
    """What it is at or, when it is over, what came of it."""
    result: str | None
    """The name of the release that it made, if it made one."""
    error: str
    """What went wrong, and what to do; empty if nothing did."""

    @property
    def over(self) -> bool:
        """Whether it will not change any more."""
        return self.state in OVER
