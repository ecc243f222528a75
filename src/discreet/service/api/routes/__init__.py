"""What can be requested: a module a subject, each with its ``router``."""
