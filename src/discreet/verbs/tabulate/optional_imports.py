"""Optional dependencies of table protection: SciPy sparse matrices and the HiGHS solver."""

from __future__ import annotations

from types import ModuleType

from discreet.core.optional import extra


def sparse() -> ModuleType:
    """``scipy.sparse``."""
    with extra("tabulate"):
        import scipy.sparse
    return scipy.sparse  # type: ignore[no-any-return]


def highspy() -> ModuleType:
    """The HiGHS solver."""
    with extra("tabulate"):
        import highspy
    return highspy
