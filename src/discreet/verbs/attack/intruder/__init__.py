"""What an intruder can compute from figures that add up: linear systems, intervals, networks."""
