"""Tables of figures: their sides, cells and relations, from rows or from a file."""
