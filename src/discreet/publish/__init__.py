"""Giving a file away so that nobody in it can be singled out.

The room is also the verb: ``discreet.publish(table, method, require)`` is ``publish`` in ``publish.py``. Python gives
a package's name to its room as soon as anything in it is loaded, so the room itself is made callable.
"""

import sys
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> Any:
        from discreet.publish.publish import publish

        return publish(*given, **named)


sys.modules[__name__].__class__ = _Verb
