"""Frequency oracles: which of some values people have; they differ in accuracy, bytes a report and speed."""
