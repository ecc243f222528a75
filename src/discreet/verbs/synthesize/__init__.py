"""Synthetic data: rows of a population that never existed."""
