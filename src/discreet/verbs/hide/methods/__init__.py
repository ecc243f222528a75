"""Ways to hide: each a module with its idea, its argument and where it comes from."""
