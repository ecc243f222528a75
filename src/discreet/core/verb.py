"""A room that is also a verb: ``discreet.publish(…)`` is ``publish`` in ``verbs/publish/publish.py``.

Python gives a package's name to its room as soon as anything in it is loaded, so the room itself is made callable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(room: str, load: Callable[[], Callable[..., Any]]) -> None:
    """Let calling the module ``room`` do what ``load`` gives, which is asked for it then and not before."""

    class Verb(ModuleType):
        def __call__(self, *given: Any, **named: Any) -> Any:
            return load()(*given, **named)

    sys.modules[room].__class__ = Verb
