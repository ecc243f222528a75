"""Several holders compute together and share only the result.

    told = discreet.verbs.combine.simulate("ring", {"north": 100, "south": 200, "east": 300, "west": 400})
    told.result                      # in one process, to learn and to try
    told.coalition("south", "west")  # what these two together would learn

Between hosts each party calls ``run``, or the command ``discreet combine run``. Each name is loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.verbs.combine.checking import Checked, verify
    from discreet.verbs.combine.running import OnLedger, run
    from discreet.verbs.combine.simulation import Simulation, simulate
    from discreet.verbs.combine.symbolic.coalition import every, learns
    from discreet.verbs.combine.symbolic.learnt import Learnt
    from discreet.verbs.combine.terms import Terms

_HOMES = {
    "checking": ("Checked", "verify"),
    "running": ("OnLedger", "run"),
    "simulation": ("Simulation", "simulate"),
    "symbolic.coalition": ("every", "learns"),
    "symbolic.learnt": ("Learnt",),
    "terms": ("Terms",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Checked",
    "Learnt",
    "OnLedger",
    "Simulation",
    "Terms",
    "every",
    "learns",
    "run",
    "simulate",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"discreet.combine has no {name!r}")
    return getattr(import_module(f"discreet.combine.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
