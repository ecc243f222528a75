"""Locations and trajectories, protected by the metre (geo-indistinguishability)."""
