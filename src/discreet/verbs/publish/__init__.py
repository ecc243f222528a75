"""Giving a file away: recoding until privacy models hold, and masking."""
