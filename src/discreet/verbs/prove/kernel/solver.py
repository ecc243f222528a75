"""z3, when it is needed."""

from __future__ import annotations

from typing import Any

from discreet.core.optional import extra


def load_z3() -> Any:
    """The solver's module, imported at the first use."""
    with extra("prove"):
        import z3
    return z3
