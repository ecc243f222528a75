"""Longitudinal collection: the same question again and again, with memoization so that noise does not average out."""
