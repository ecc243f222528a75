"""Local differential privacy: each answer is randomised on the respondent's own device.

    oracle = collect.OUE(["rock", "jazz", "folk"], epsilon=1)
    reports = oracle.randomize(answers)      # on the devices
    print(oracle.estimate(reports))          # by the collector

Each name is loaded when it is first used.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
