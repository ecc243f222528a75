"""Secondary suppression: which cells to hide besides the sensitive ones, so that no intruder computes those."""
