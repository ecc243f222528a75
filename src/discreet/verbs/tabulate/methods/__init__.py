"""Table-protection methods, each a small object with its parameters."""
