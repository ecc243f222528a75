"""Microaggregation: coordinates of records, groups of them, and their Numba kernels."""
