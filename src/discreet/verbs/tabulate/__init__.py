"""Tables of counts and sums with sensitive cells protected."""
