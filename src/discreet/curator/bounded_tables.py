"""The twins of a workspace, each opened when it is first needed.

One that is missing or damaged concerns whoever asks about it, and nobody else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from discreet.core.table import Table
from discreet.curator.workspace import Workspace


class Twins:
    """The tables of a workspace as they may be asked about. Threads may share it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._opened: dict[str, Table] = {}
        self._lock = threading.Lock()

    def open(self, name: str) -> Table:
        """One of them; an error if it is not there as it was cut."""
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._workspace.open(name)
            return self._opened[name]

    def among(self, names: Sequence[str]) -> Mapping[str, Table]:
        """Some of them by name; none is opened before it is looked up."""
        return _Among(self, names)

    def close(self) -> None:
        """Let go of the engines."""
        for table in self._opened.values():
            table.engine.close()


class _Among(Mapping[str, Table]):
    def __init__(self, twins: Twins, names: Sequence[str]) -> None:
        self._twins = twins
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Table:
        if name not in self._names:
            raise KeyError(name)
        return self._twins.open(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # that of a Mapping would open it

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
