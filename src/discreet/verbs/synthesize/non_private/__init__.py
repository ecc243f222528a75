"""Synthetic data without a privacy promise: rows drawn from a model of the table, attacked before they leave."""
