"""A made-up hospital, its patients, and the town they live in; see ``generate.py``."""
