"""How faithful synthetic rows are to the original ones, with no row of either being anyone's in the other."""
