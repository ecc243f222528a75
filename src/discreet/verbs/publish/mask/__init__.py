"""Masking methods, a module a method. Each says what it keeps, and what it does not promise."""
