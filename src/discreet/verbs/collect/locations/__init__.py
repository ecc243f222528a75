"""Where people are: places and ways, protected by the metre (geo-indistinguishability)."""
