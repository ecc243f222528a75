"""Printing a table without giving anybody away.

The room is also the verb: ``discreet.tabulate(table, by, value, rules=…)``; see ``core/verb.py``.
"""

from collections.abc import Callable
from typing import Any

from discreet.core.verb import make_callable


def _verb() -> Callable[..., Any]:
    from discreet.verbs.tabulate.tabulate import tabulate

    return tabulate


make_callable(__name__, _verb)
