"""Someone who may sign in, and what for; and what a program may do in their name."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from enum import Enum

from discreet.errors import BadInput

_NAME = re.compile(r"[a-z][a-z0-9._-]{0,39}")


class Role(Enum):
    """What someone may do."""

    STEWARD = "steward"
    """Looks after the data: everything, but asks only within a budget, as analysts do."""
    ANALYST = "analyst"
    """Asks, within a budget."""
    AUDITOR = "auditor"
    """Reads what was done and promised, and nothing that is about rows."""


class Scope(Enum):
    """What a token may be used for."""

    ASK = "ask"
    """Ask, and learn what asking would cost."""
    READ = "read"
    """Read whatever its owner may read: tables, budgets, releases, the ledger."""
    MANAGE = "manage"
    """Change budgets, people, jobs and what is shared, if its owner may."""


SCOPES = (Scope.ASK, Scope.READ)
"""What a token may be used for unless its maker says otherwise; and one that was made before there were scopes."""
DAYS = 90
"""How long a token lives unless its maker says otherwise, days."""


@dataclass(frozen=True)
class Person:
    """Someone who may sign in. ``must_change``: with a one-time password, which has to be changed first."""

    name: str
    role: Role
    since: dt.datetime
    disabled: bool
    must_change: bool


def is_name(text: object) -> bool:
    """Whether someone can be called this."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def require_name(text: str) -> str:
    """``text``, if someone can be called this."""
    if not is_name(text):
        raise BadInput(
            f"{text!r:.60} is not a valid user name.",
            hint="User names have up to 40 characters: a–z, 0–9, dots, dashes and underscores, starting with a letter.",
        )
    return text
