"""Learners with a privacy loss: models under differential privacy, from sums with exact noise."""
