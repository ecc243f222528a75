"""What an intruder can compute from a printed table."""
