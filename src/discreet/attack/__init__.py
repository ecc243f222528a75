"""What an intruder would learn from a release: attacks, each with what it knows, a figure and a baseline."""
