"""Holders that know different things about the same people: find whom they share, then compute across their columns."""
