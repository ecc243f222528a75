"""Who may do what, and the audit log of what was done."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.curator.people.audit import Audit
from discreet.curator.people.person import Person, Role
from discreet.curator.workspace import Workspace
from discreet.errors import DiscreetError, NotAllowed, NotFound

REQUEST: ContextVar[str] = ContextVar("request", default="")
"""The number of the request that is worked on, by which the log, the audit log and jobs name it; empty for commands."""
READERS = (Role.STEWARD, Role.AUDITOR)
HOST = Person("command line", Role.STEWARD, dt.datetime.min.replace(tzinfo=dt.UTC), disabled=False, must_change=False)
"""Anyone who has the folder of the workspace, and so the data: for commands, never for a request. No person can be
called this."""


class Permissions:
    """Decides what someone may do, and writes down what they did."""

    def __init__(self, workspace: Workspace, audit: Audit) -> None:
        self._workspace, self._audit = workspace, audit

    def require(self, who: Person, *roles: Role) -> None:
        """An error unless someone is in one of these roles (default: any)."""
        require_role(who, *roles)

    def require_steward(self, who: Person) -> None:
        """An error unless someone is a steward."""
        self.require(who, Role.STEWARD)

    def require_asker(self, who: Person) -> None:
        """An error unless someone may ask questions."""
        self.require(who, Role.ANALYST, Role.STEWARD)

    def require_here(self, account: str) -> None:
        """An error unless an account is that of a table about people here."""
        if account.partition("/")[0] not in self._workspace.private:
            raise NotFound(
                f"There is no table about people called {account.partition('/')[0]!r:.60} here; there are "
                f"{', '.join(self._workspace.private)}.",
                hint="Accounts are tables (visits) and their analysts (visits/ann).",
            )

    @contextmanager
    def noted(self, who: str, action: str, **about: str) -> Iterator[dict[str, str]]:
        """Write down what was done when the block ends, well or not; of an error its kind alone."""
        said: dict[str, str] = about | ({"request": REQUEST.get()} if REQUEST.get() else {})
        try:
            yield said
        except Exception as error:
            name = type(error).__name__ if isinstance(error, DiscreetError) else "a fault"
            self._audit.write(who, action, said | {"error": name}, well=False)
            raise
        self._audit.write(who, action, said)


def require_role(who: Person, *roles: Role) -> None:
    """An error if someone is in none of these roles (default: any), or has to change a one-time password first."""
    if who.must_change:
        raise NotAllowed("Change your one-time password first.", hint="Choose a password of your own.")
    if roles and who.role not in roles:
        wanted = " or ".join(f"{'an' if role is not Role.STEWARD else 'a'} {role.value}" for role in roles)
        raise NotAllowed(f"Only {wanted} may do this.", hint="Ask a steward.")


def listed(names: Iterable[str]) -> str:
    """Names in one line, each once."""
    return ", ".join(dict.fromkeys(names))
