"""Privacy models: predicates that can be checked on any table."""
