"""A session between hosts: keys, the manifest that all agree on, signed messages over TLS, journals, and resuming."""
