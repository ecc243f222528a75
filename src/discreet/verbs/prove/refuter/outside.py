"""What exact reasoning does not reach."""

from __future__ import annotations


class Outside(Exception):
    """Something that cannot be computed exactly here. Caught within this room: the next way is tried instead."""
