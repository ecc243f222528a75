"""Ways to add up vectors so that nobody learns more than the sum."""
