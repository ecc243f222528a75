"""Changing figures instead of hiding them."""
