"""Association-rule mining: frequent itemsets, their borders, and rules."""
