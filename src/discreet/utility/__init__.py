"""What a release is still worth: information loss and kindred figures. ``loss(table, release)`` measures them all;
``fidelity(table, release)`` is for synthetic rows, of which none is anybody's."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.utility.faithful.measure import fidelity
    from discreet.utility.faithful.report import Fidelity
    from discreet.utility.measure import METRICS, Lost, loss

__all__ = ["METRICS", "Fidelity", "Lost", "fidelity", "loss"]
_HOME = {"Fidelity": "faithful.report", "fidelity": "faithful.measure"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"discreet.utility has no {name!r}")
    return getattr(import_module(f"discreet.utility.{_HOME.get(name, 'measure')}"), name)
