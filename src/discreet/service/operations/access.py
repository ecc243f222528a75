"""Operations on people, passwords, tokens and the audit log.

Every method takes anyone who asks first; what they may not do is refused before anything is looked at.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from discreet.budget.filter import Budget
from discreet.core.loss import Loss
from discreet.curator.curator import Curator
from discreet.curator.people.audit import Audit, AuditLine
from discreet.curator.people.identities import Identity
from discreet.curator.people.people import People, SignedIn
from discreet.curator.people.person import DAYS, SCOPES, Person, Role, Scope
from discreet.curator.people.tokens import ApiToken
from discreet.errors import BadInput, NotAllowed, NotFound
from discreet.service.operations.permissions import HOST, READERS, Permissions, listed


class AccessOperations:
    """User accounts, passwords, tokens, and the audit log."""

    def __init__(self, curator: Curator, people: People, audit: Audit, may: Permissions) -> None:
        self._curator, self.people, self._audit, self._may = curator, people, audit, may

    # Coming in

    def sign_in(self, name: str, password: str) -> SignedIn:
        """Start a session; attempts and successes are logged."""
        with self._may.noted(name if self.people.knows(name) else "?", "sign in"):  # else it may be a password
            return self.people.sign_in(name, password)

    def enter(self, identity: Identity, *, create: bool, days: int) -> SignedIn:
        """Start a session of someone whom a provider has signed in; a change of role is logged, too."""
        before = self.people.of_identity(identity)
        name = "?" if before is None else before.name
        with self._may.noted(name, "sign in", issuer=identity.issuer, subject=identity.subject) as about:
            signed = self.people.enter(identity, create=create, days=days)
            about |= {"person": signed.person.name}
            if before is None or before.role is not signed.person.role:
                about |= {"role": signed.person.role.value, "before": before.role.value if before else "new"}
            return signed

    def link(self, who: Person, name: str, identity: Identity) -> None:
        """Let an identity of a provider sign in as someone who has an account here."""
        about = {"issuer": identity.issuer, "subject": identity.subject}
        with self._may.noted(who.name, "link person", person=name, **about):
            self._may.require_steward(who)
            self.people.link(name, identity)

    def sign_out(self, who: Person, token: str) -> None:
        """End a session."""
        with self._may.noted(who.name, "sign out"):
            self.people.sign_out(token)

    def change_password(self, who: Person, old: str, new: str, *, tokens_end: bool = False) -> None:
        """Change one's own password (with a one-time password, the only thing allowed); tokens end on request."""
        with self._may.noted(who.name, "change password", **({"tokens": "ended"} if tokens_end else {})):
            self.people.change_password(who.name, old, new, tokens_end=tokens_end)

    def choose_password(self, who: Person, token: str, new: str) -> None:
        """Choose one's own password in a session that began with a one-time password."""
        with self._may.noted(who.name, "change password"):
            self.people.choose_password(token, new)

    def local_analyst(self, name: str) -> Person:
        """An analyst in whose name the holder of the folder asks, as by ``discreet ask``; an error if they may not."""
        if self.people.knows(name) and self.people.find(name).disabled:
            raise NotAllowed(f"The account {name} is disabled.", hint="discreet people enable lets it ask again.")
        if not any(self._curator.ledger.find_accounts(*(f"{one}/{name}" for one in self._curator.workspace.private))):
            hint = "discreet workspace add-analyst gives an account a budget."
            raise NotAllowed(f"{name} may not query any table here.", hint=hint)
        return Person(name, Role.ANALYST, HOST.since, disabled=False, must_change=False)

    # People

    def persons(self, who: Person) -> list[Person]:
        """All user accounts."""
        self._may.require(who, *READERS)
        return list(self.people.all())

    def locked_out(self, who: Person) -> dict[str, dt.datetime]:
        """Users with too many failed sign-ins, and until when each must wait; a new password lifts it."""
        self._may.require(who, *READERS)
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
        """Create an account, with a budget on tables (default: all) if given; returns its one-time password."""
        with self._may.noted(who.name, "add person", person=name, role=role.value):
            self._may.require_steward(who)
            if budget is not None and role is Role.AUDITOR:
                raise BadInput("Auditors only read: they cannot have a budget.")
            for table in tables or ():
                self._may.require_here(table)
            self.people.require_free(name)
            if budget is not None:  # first: anyone who is added has to be told a password
                self._curator.add_analyst(name, budget, tables)
            return self.people.add(name, role)

    def give_budget(self, who: Person, name: str, budget: Budget | Loss, tables: Sequence[str] | None = None) -> None:
        """Give an analyst a budget on further tables."""
        with self._may.noted(
            who.name, "give budget", person=name, limit=str(budget), tables=listed(tables or ("all",))
        ):
            self._may.require_steward(who)
            if self.people.find(name).role is Role.AUDITOR:
                raise BadInput("Auditors only read: they cannot have a budget.")
            self._curator.add_analyst(name, budget, tables)

    def reset_password(self, who: Person, name: str) -> str:
        """Set a new one-time password for a user, whose sessions end."""
        with self._may.noted(who.name, "reset password", person=name):
            self._may.require_steward(who)
            return self.people.reset(name)

    def disable(self, who: Person, name: str, disabled: bool) -> Person:
        """Disable or enable an account. What it spent stays spent."""
        with self._may.noted(who.name, "disable" if disabled else "enable", person=name):
            self._may.require_steward(who)
            if disabled:
                self.people.disable(name)
            else:
                self.people.enable(name)
            return self.people.find(name)

    def tokens(self, who: Person) -> list[ApiToken]:
        """One's own tokens; everyone's for a steward or auditor."""
        self._may.require(who)
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
        """Create a token for programs, with the caller's rights within its scopes; its text is shown once.

        No one makes one in another's ``name`` but anyone who has the folder.
        """
        with self._may.noted(who.name, "new token", person=name or who.name) as about:
            self._may.require(who)
            if name not in (None, who.name) and who is not HOST:
                raise NotAllowed("People make their own tokens.")
            token = self.people.new_token(name or who.name, label, days, scopes)
            about |= {"token": token.id, "scopes": listed(one.value for one in token.scopes)}
            return token

    def revoke(self, who: Person, token: str) -> None:
        """Revoke a token: one's own, or as a steward anyone's."""
        with self._may.noted(who.name, "revoke token", token=token):
            self._may.require(who)
            visible = [one for one in self.tokens(who) if one.id == token]
            if not visible:
                raise NotFound(
                    "There is no such token.",
                    hint="Give a token's id, as listed. To keep someone out altogether, disable their account.",
                )
            if visible[0].person != who.name:
                self._may.require_steward(who)
            self.people.revoke(token)

    def audit(
        self, who: Person, *, after: int = 0, most: int = 200, newest_first: bool = True, by: str | None = None
    ) -> list[AuditLine]:
        """Entries of the audit log."""
        self._may.require(who, *READERS)
        return self._audit.lines(after=after, most=most, newest_first=newest_first, who=by)
