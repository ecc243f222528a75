"""Statistics from people who never hand over their data: each answer is randomised on the respondent's own device.

    r = collect.OUE(["rock", "jazz", "folk"], epsilon=1)
    reports = r.randomize(answers)      # on the devices
    print(r.estimate(reports))          # by the collector

Each name is loaded when it is first used.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
