"""Who may come in to a workspace's service, and what they did there."""
