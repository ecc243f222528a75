"""The curator as a service: an HTTP API and a web console, with people who sign in."""
