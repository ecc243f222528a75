"""Vertically partitioned data: private set intersection, then products across holders' columns."""
