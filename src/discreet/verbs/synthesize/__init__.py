"""Synthetic data: rows drawn from a model, with differential privacy or without a promise."""
