"""z3, the kinds of its terms, and the error for what the rules do not reach."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from discreet.core.optional import extra

Kind: TypeAlias = Literal["int", "real", "bool", "list"]
Term: TypeAlias = Any
"""A z3 term."""


class Unsupported(Exception):
    """Something in a program that no proof rule covers; the text names it."""


def load_z3() -> Any:
    """The solver's module, imported at the first use."""
    with extra("prove"):
        import z3
    return z3
