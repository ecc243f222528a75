"""Several questions to one person: budget split or one question sampled, keys with values, tables of questions."""
