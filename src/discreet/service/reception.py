"""Who comes in, and who may: people, passwords, tokens and the audit log, for those who are signed in.

What they may do with the data is the desk's (``desk.py``), which is built on this. Every method takes whoever asks
first; what they may not do is refused before anything is looked at. What was done is written down, well or not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from discreet.budget.filter import Budget
from discreet.core.loss import Loss
from discreet.curator.curator import Curator
from discreet.curator.people.audit import Audit, AuditLine
from discreet.curator.people.people import People, SignedIn
from discreet.curator.people.person import DAYS, SCOPES, Person, Role, Scope
from discreet.curator.people.state import State
from discreet.curator.people.tokens import ApiToken
from discreet.errors import BadInput, DiscreetError, NotAllowed, NotFound

READERS = (Role.STEWARD, Role.AUDITOR)
HOST = Person("command line", Role.STEWARD, dt.datetime.min.replace(tzinfo=dt.UTC), disabled=False, must_change=False)
"""Whoever has the folder of the workspace, and so the data: for commands, never for a request. No person can be called
this."""


class Reception:
    """A workspace, the people who may use it, and the log of what they do."""

    def __init__(self, folder: str | Path) -> None:
        self._curator = Curator(folder)
        self.workspace = self._curator.workspace
        self._state = State.open(self.workspace)
        self.people = People(self._state)
        self._audit = Audit(self._state)

    # Coming in

    def sign_in(self, name: str, password: str) -> SignedIn:
        """Begin a session; tried or done, it is written down."""
        with self._noted(name if self.people.knows(name) else "?", "sign in"):  # else it may be a password
            return self.people.sign_in(name, password)

    def sign_out(self, who: Person, token: str) -> None:
        """End a session."""
        with self._noted(who.name, "sign out"):
            self.people.sign_out(token)

    def change_password(self, who: Person, old: str, new: str, *, tokens_end: bool = False) -> None:
        """Give oneself another password: all that somebody with a one-time password may do. Tokens end if wished."""
        with self._noted(who.name, "change password", **({"tokens": "ended"} if tokens_end else {})):
            self.people.change_password(who.name, old, new, tokens_end=tokens_end)

    # People

    def persons(self, who: Person) -> list[Person]:
        """Everybody who may sign in."""
        self._require(who, *READERS)
        return list(self.people.all())

    def locked_out(self, who: Person) -> dict[str, dt.datetime]:
        """Who tried too often to sign in, and until when they have to wait; a new password lifts it."""
        self._require(who, *READERS)
        return self.people.locked_out()

    def add_person(
        self,
        who: Person,
        name: str,
        role: Role,
        *,
        budget: Budget | Loss | None = None,
        tables: Sequence[str] | None = None,
    ) -> str:
        """Let somebody sign in, and with a budget ask about tables (default: all); their one-time password."""
        with self._noted(who.name, "add person", person=name, role=role.value):
            self._require_steward(who)
            if budget is not None and role is Role.AUDITOR:
                raise BadInput("Auditors read, and ask nothing: they get no budget.")
            for table in tables or ():
                self._require_here(table)
            self.people.require_free(name)
            if budget is not None:  # first: whoever is added has to be told a password
                self._curator.add_analyst(name, budget, tables)
            return self.people.add(name, role)

    def give_budget(self, who: Person, name: str, budget: Budget | Loss, tables: Sequence[str] | None = None) -> None:
        """Let somebody ask about further tables."""
        with self._noted(who.name, "give budget", person=name, limit=str(budget), tables=listed(tables or ("all",))):
            self._require_steward(who)
            if self.people.find(name).role is Role.AUDITOR:
                raise BadInput("Auditors read, and ask nothing: they get no budget.")
            self._curator.add_analyst(name, budget, tables)

    def reset_password(self, who: Person, name: str) -> str:
        """Another one-time password for somebody, whose sessions end."""
        with self._noted(who.name, "reset password", person=name):
            self._require_steward(who)
            return self.people.reset(name)

    def disable(self, who: Person, name: str, disabled: bool) -> Person:
        """Keep somebody out, or let them in again. What they spent stays spent."""
        with self._noted(who.name, "disable" if disabled else "enable", person=name):
            self._require_steward(who)
            if disabled:
                self.people.disable(name)
            else:
                self.people.enable(name)
            return self.people.find(name)

    def tokens(self, who: Person) -> list[ApiToken]:
        """One's own tokens; for a steward and an auditor everybody's."""
        self._require(who)
        return list(self.people.tokens(None if who.role in READERS else who.name))

    def new_token(
        self,
        who: Person,
        label: str,
        days: int = DAYS,
        scopes: Iterable[Scope] = SCOPES,
        *,
        name: str | None = None,
    ) -> ApiToken:
        """A token for programs, with the rights of whoever makes it as far as its scopes go; its text is told once.

        Nobody makes one in another's ``name`` but whoever has the folder.
        """
        with self._noted(who.name, "new token", person=name or who.name) as about:
            self._require(who)
            if name not in (None, who.name) and who is not HOST:
                raise NotAllowed("Tokens are made by those whose they are.")
            token = self.people.new_token(name or who.name, label, days, scopes)
            about |= {"token": token.id, "scopes": listed(one.value for one in token.scopes)}
            return token

    def revoke(self, who: Person, token: str) -> None:
        """End a token: one's own, or as a steward anybody's."""
        with self._noted(who.name, "revoke token", token=token):
            self._require(who)
            visible = [one for one in self.tokens(who) if one.id == token]
            if not visible:
                raise NotFound("There is no such token.")
            if visible[0].person != who.name:
                self._require_steward(who)
            self.people.revoke(token)

    def audit(
        self, who: Person, *, after: int = 0, most: int = 200, newest_first: bool = True, by: str | None = None
    ) -> list[AuditLine]:
        """Who did what, and when."""
        self._require(who, *READERS)
        return self._audit.lines(after=after, most=most, newest_first=newest_first, who=by)

    # Who may

    def _require(self, who: Person, *roles: Role) -> None:
        require_role(who, *roles)

    def _require_steward(self, who: Person) -> None:
        self._require(who, Role.STEWARD)

    def _require_asker(self, who: Person) -> None:
        self._require(who, Role.ANALYST, Role.STEWARD)

    def _require_here(self, account: str) -> None:
        if account.partition("/")[0] not in self.workspace.private:
            raise NotFound(
                f"There is no table about people called {account.partition('/')[0]!r:.60} here; there are "
                f"{', '.join(self.workspace.private)}.",
                hint="Budgets are those of tables (visits) and their analysts (visits/ann).",
            )

    # What was done

    @contextmanager
    def _noted(self, who: str, action: str, **about: str) -> Iterator[dict[str, str]]:
        """Write down what was done when the block ends, well or not; of an error its kind alone."""
        said: dict[str, str] = dict(about)
        try:
            yield said
        except Exception as error:
            name = type(error).__name__ if isinstance(error, DiscreetError) else "a fault"
            self._audit.write(who, action, said | {"error": name}, well=False)
            raise
        self._audit.write(who, action, said)


def require_role(who: Person, *roles: Role) -> None:
    """An error if somebody is in none of these roles (default: any), or has to change a one-time password first."""
    if who.must_change:
        raise NotAllowed(
            "A one-time password was used, and has to be changed first.", hint="Choose a password of your own."
        )
    if roles and who.role not in roles:
        wanted = " or ".join(f"{'an' if role is not Role.STEWARD else 'a'} {role.value}" for role in roles)
        raise NotAllowed(f"This is for {wanted}.", hint="Ask a steward of this service.")


def listed(names: Iterable[str]) -> str:
    """Names in one line, each once."""
    return ", ".join(dict.fromkeys(names))
