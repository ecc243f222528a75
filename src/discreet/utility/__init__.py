"""What a release is still worth: information loss and kindred figures."""
