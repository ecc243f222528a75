"""How a release was made: enough for somebody else to judge it by."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet._version import __version__
from discreet.core.document import dumps, fields, loads, texts
from discreet.core.engine import Engine
from discreet.errors import BadInput


def versions(engine: Engine | None = None) -> dict[str, str]:
    """What made a release, each with its version."""
    made = {"discreet": __version__, "python": platform.python_version(), "pyarrow": pa.__version__}
    return made if engine is None else made | {"engine": engine.title}


@dataclass(frozen=True)
class Recipe:
    """A method, its parameters and what it ran on. Transparency is safe: privacy never hangs on a secret
    method, only on secret randomness; so a recipe with a ``seed`` gives that away, and says so."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Anything ``core/document.py`` can write exactly."""
    steps: tuple[str, ...] = ()
    seed: int | None = None
    """For plainly non-private masking research: whoever knows it can repeat every random choice."""
    versions: Mapping[str, str] = field(default_factory=versions)
    from_data: tuple[str, ...] = ()
    """What was read off the data although a person should have declared it, such as "bounds of age"."""

    def __post_init__(self) -> None:
        if self.seed is not None and type(self.seed) is not int:
            raise BadInput(f"A seed is an integer, got {self.seed!r}.")
        for name in ("parameters", "versions"):  # a copy nobody else holds, and known to be writable
            object.__setattr__(self, name, loads(dumps(dict(getattr(self, name)))))

    def __str__(self) -> str:
        lines = [f"method: {self.method}"]
        lines += [f"{name}: {value}" for name, value in self.parameters.items() if value not in (None, "", [], {})]
        lines += [f"step {number}: {step}" for number, step in enumerate(self.steps, 1)]
        if self.seed is not None:
            lines.append(f"seed: {self.seed} (every random choice can be repeated)")
        if self.from_data:
            lines.append(f"read off the data: {', '.join(self.from_data)}")
        lines.append("with " + ", ".join(f"{name} {value}" for name, value in self.versions.items()))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "steps": list(self.steps),
            "seed": self.seed,
            "versions": dict(self.versions),
            "from_data": list(self.from_data),
        }

    @classmethod
    def from_dict(cls, data: object) -> Recipe:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(
            data, "a recipe", method=str, parameters=dict, steps=list, seed=int | None, versions=dict, from_data=list
        )
        texts(list(read["versions"].values()), "versions")
        return cls(**(read | {name: texts(read[name], name) for name in ("steps", "from_data")}))
