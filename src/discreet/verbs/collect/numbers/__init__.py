"""Numbers on a declared grid: means, distributions, ranges and quantiles."""
