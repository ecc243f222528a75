"""Optional dependency of table protection: SciPy sparse matrices."""

from __future__ import annotations

from types import ModuleType

from discreet.core.optional import extra


def sparse() -> ModuleType:
    """``scipy.sparse``."""
    with extra("tabulate"):
        import scipy.sparse
    return scipy.sparse  # type: ignore[no-any-return]
