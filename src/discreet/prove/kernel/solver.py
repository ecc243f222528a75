"""z3, when it is needed."""

from __future__ import annotations

from typing import Any

from discreet.errors import MissingPart


def load_z3() -> Any:
    """The solver's module, imported at the first use."""
    try:
        import z3
    except ImportError:
        raise MissingPart("z3-solver", "prove") from None
    return z3
