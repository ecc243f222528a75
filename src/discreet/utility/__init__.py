"""What a release is still worth: information loss and kindred figures. ``loss(table, release)`` measures them all;
``fidelity(table, release)`` is for synthetic rows, of which none is anyone's."""

from discreet.core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
