"""The optional parts that protect tables: SciPy's sparse matrices and the HiGHS solver."""

from __future__ import annotations

from types import ModuleType

from discreet.errors import MissingPart


def sparse() -> ModuleType:
    """``scipy.sparse``."""
    try:
        import scipy.sparse
    except ImportError:
        raise MissingPart("SciPy", "tabulate") from None
    return scipy.sparse  # type: ignore[no-any-return]


def highspy() -> ModuleType:
    """The HiGHS solver."""
    try:
        import highspy
    except ImportError:
        raise MissingPart("HiGHS", "tabulate") from None
    return highspy
