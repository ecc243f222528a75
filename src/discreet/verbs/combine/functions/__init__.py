"""What can be computed by secure sums, where each party has rows of its own."""
