"""Publish microdata: recoding until privacy models hold, and masking."""
