"""What leaves, and what the holder keeps."""
