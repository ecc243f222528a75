"""Integral privacy: models that many different sets of people would have given."""
