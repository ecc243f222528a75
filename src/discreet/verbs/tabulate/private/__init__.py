"""Differentially private macro-tables: all wanted tables at once, under one privacy loss, adding up."""
