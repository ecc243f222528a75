"""What a miner finds: frequent itemsets, their borders, and rules."""
