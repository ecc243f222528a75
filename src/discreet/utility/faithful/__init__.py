"""How faithful synthetic rows are to the original ones, with no row of either being anybody's in the other."""
