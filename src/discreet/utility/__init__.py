"""What a release is still worth: information loss and kindred figures. ``loss(table, release)`` measures them all."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.utility.measure import METRICS, Lost, loss

__all__ = ["METRICS", "Lost", "loss"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"discreet.utility has no {name!r}")
    from discreet.utility import measure

    return getattr(measure, name)
