"""All the tables that are wanted, at once, under one privacy loss: they add up, and nobody's row shows."""
