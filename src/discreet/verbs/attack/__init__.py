"""What an intruder would learn from a release: disclosure risk."""
