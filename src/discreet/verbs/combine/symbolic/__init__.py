"""What a coalition learns from a protocol, computed exactly from the code that runs."""
