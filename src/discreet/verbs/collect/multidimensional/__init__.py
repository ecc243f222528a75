"""Multidimensional data: several questions to one person, key-value data, and contingency tables."""
