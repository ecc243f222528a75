"""What an intruder would learn from what was let out.

The room is also the verb: ``discreet.attack(release, known=table)``; see ``core/verb.py``.
"""

from collections.abc import Callable
from typing import Any

from discreet.core.verb import make_callable


def _verb() -> Callable[..., Any]:
    from discreet.verbs.attack.attack import attack

    return attack


make_callable(__name__, _verb)
