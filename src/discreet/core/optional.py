"""Imports of optional packages: a package that is missing is one sentence with the command that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import MissingPart

_TITLES = {
    "argon2": "argon2-cffi",
    "dp_accounting": "dp-accounting",
    "flint": "python-flint",
    "highspy": "HiGHS",
    "prometheus_client": "prometheus-client",
    "python_calamine": "python-calamine",
    "scipy": "SciPy",
    "sklearn": "scikit-learn",
    "z3": "z3-solver",
}
"""Names of packages that are not the names of their modules."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Run imports that need the extra ``name`` of discreet; ``MissingPart`` if one of its packages is not installed.

    with extra("attack"):
        from scipy.sparse import csr_array

    ``tests/test_rules.py`` looks that every import of an optional package is inside, under an extra that has it.
    """
    try:
        yield
    except ImportError as error:
        module = (error.name or "").partition(".")[0]
        if module == "discreet":
            raise
        raise MissingPart(_TITLES.get(module, module) or f"A part of discreet[{name}]", name) from None
