"""Hiding methods: a module for each, with its idea, its argument and its source."""
