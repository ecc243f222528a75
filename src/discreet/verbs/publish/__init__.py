"""Giving a file away so that nobody in it can be singled out.

The room is also the verb: ``discreet.publish(table, method, require)``; see ``core/verb.py``.
"""

from collections.abc import Callable
from typing import Any

from discreet.core.verb import make_callable


def _verb() -> Callable[..., Any]:
    from discreet.verbs.publish.publish import publish

    return publish


make_callable(__name__, _verb)
