"""The HTTP API: everything that somebody may do at the desk, as ``/v1`` requests."""
