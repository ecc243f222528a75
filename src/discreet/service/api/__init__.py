"""The HTTP API: everything that someone may do at the desk, as ``/v1`` requests."""
