"""Secure-sum protocols: parties add up vectors, and none learns more than the sum."""
