"""How much do people have of something? Means, distributions, ranges and quantiles of numbers on a declared grid."""
