"""What an intruder would learn from what was let out.

The room is also the verb: ``discreet.attack(release, known=table)`` is ``attack`` in ``attack.py``. Python gives a
package's name to its room as soon as anything in it is loaded, so the room itself is made callable.
"""

import sys
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> Any:
        from discreet.attack.attack import attack

        return attack(*given, **named)


sys.modules[__name__].__class__ = _Verb
