"""Functions of horizontally partitioned data, computed by secure sums: each party has rows of its own."""
