"""ask: differentially private answers to SQL. Text becomes a plan of known shape; nothing else reaches the data."""
