"""Print a table without giving anybody away."""
