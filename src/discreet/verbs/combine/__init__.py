"""Secure multiparty computation: several holders compute together and share only the result.

    simulation = discreet.verbs.combine.simulate("ring", {"north": 100, "south": 200, "east": 300, "west": 400})
    simulation.result                    # in one process, to learn and to try
    simulation.leakage("south", "west")  # what these two together would learn

Between hosts each party calls ``discreet.combine``, or the command ``discreet combine run``. Each name is loaded when
first used.
"""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
