"""Order of jobs: fair between people, with a place left for short jobs, and only while there is memory for them.

* A person has at most so many jobs running. Of the others, the next job is one of the person with the fewest running;
  among those, of the person whose last job began longest ago; and of theirs the oldest.
* Where several jobs run at once, one place is left to jobs that are not long, so that a short one need not wait for
  long ones. A job is long if the latest of its kind on its table took more than a minute, at the median.
* A job whose like took more memory than there is free just now waits until nothing else runs.

What is not known yet keeps no job waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

_LONG_SECONDS = 60.0
_UNIT_BYTES = {"kB": 1024}


@dataclass(frozen=True)
class JobLimits:
    """Limits on the number of jobs."""

    at_once: int = 2
    """Jobs that run at once in a process of the service."""
    per_person: int | None = None
    """Jobs of one person that run at once, in all processes."""
    waiting: int = 50
    """Jobs of one person that may wait."""


@dataclass(frozen=True)
class Estimate:
    """Time and memory of the latest jobs of a kind on a table."""

    seconds: Sequence[float] = ()
    memory: int | None = None
    """Largest memory of one, bytes; ``None`` if that is not known."""

    @property
    def typical(self) -> float | None:
        """The median of the seconds."""
        return median(self.seconds) if self.seconds else None

    @property
    def long(self) -> bool:
        """Whether it is known to take long."""
        return (self.typical or 0.0) > _LONG_SECONDS


@dataclass(frozen=True)
class Queued:
    """A job that waits or runs, as far as the order needs it."""

    id: str
    kind: str
    person: str
    table: str
    here: bool = True
    """Whether it runs in this process."""


def next_job(
    waiting: Sequence[Queued],
    running: Sequence[Queued],
    last_began: Mapping[str, str],
    limits: JobLimits,
    *,
    estimate: Callable[[str, str], Estimate],
    free_bytes: Callable[[], int | None],
) -> Queued | None:
    """The job to begin now, if there is one; waiting jobs are given oldest first."""
    busy = Counter(one.person for one in running)
    here = [one for one in running if one.here]
    only_short = limits.at_once > 1 and sum(estimate(one.kind, one.table).long for one in here) >= limits.at_once - 1
    fair = sorted(waiting, key=lambda one: (busy[one.person], last_began.get(one.person, "")))  # stable: oldest first
    for one in fair:
        if limits.per_person is not None and busy[one.person] >= limits.per_person:
            continue
        expected = estimate(one.kind, one.table)
        if only_short and expected.long:
            continue
        if here and expected.memory is not None and (free := free_bytes()) is not None and expected.memory > free:
            continue
        return one
    return None


def free_memory() -> int | None:
    """Memory available to programs on this machine, bytes; ``None`` if the system does not say."""
    return _kernel_figure(Path("/proc/meminfo"), "MemAvailable:")


def peak_memory(process: int) -> int | None:
    """Largest memory of a process so far, bytes; ``None`` if the system does not say."""
    return _kernel_figure(Path(f"/proc/{process}/status"), "VmHWM:")


def out_of_memory_kills() -> int | None:
    """Number of processes that the system killed for lack of memory since it started; ``None`` if it does not say."""
    return _kernel_figure(Path("/proc/vmstat"), "oom_kill")


def _kernel_figure(file: Path, name: str) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            words = line.split()
            if words and words[0] == name:
                return int(words[1]) * _UNIT_BYTES.get(words[-1], 1)
    return None
