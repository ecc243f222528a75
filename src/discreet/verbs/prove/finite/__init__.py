"""Finite programs, exactly: outcomes, distances, couplings, and relational judgements."""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
