"""The error for what exact reasoning does not reach."""

from __future__ import annotations


class Intractable(Exception):
    """Something that cannot be computed exactly here; the search tries the next event instead."""
