"""Synthetic data that is not private: rows drawn from a model of the table, attacked before they leave."""
