"""Ours beside a peer or a floor, on the same data in one run, as a ratio."""
