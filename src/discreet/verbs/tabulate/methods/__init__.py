"""The ways to make a table safe, each a small object with what it was told."""
