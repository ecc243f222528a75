"""A junction-tree engine: fit a distribution to noisy marginals, ask it for any marginal, draw rows from it.

Nothing here looks at data. Marginals come in with their noise already in them, so everything is post-processing and
costs no privacy.
"""
