"""The nouns everything else speaks in: card, hierarchy, table, loss, statement, release."""
