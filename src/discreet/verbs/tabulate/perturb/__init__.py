"""Perturbation: figures are changed instead of hidden."""
