"""People who sign in by an identity provider: which account belongs to which identity.

An identity is what the provider calls a person for good (issuer and subject), never a name, which may change hands. One
that is new makes an account of its own; an account that was there before is never taken over, unless a steward linked
it. The role follows the provider at every sign-in. Someone who is in no group any more is kept out, and what they had
here ends; and since someone who left does not sign in again to be found out, their tokens work only for some days after
they last signed in.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from discreet.budget.store import Queried, Session
from discreet.curator.people.person import Role
from discreet.curator.people.tokens import end_tokens

TABLES = (
    "CREATE TABLE IF NOT EXISTS identities (digest text PRIMARY KEY, person text NOT NULL UNIQUE, "
    "until bigint NOT NULL)",
)
ADD_PERSON = "INSERT INTO people (name, role, since, disabled, must_change, password) VALUES (?, ?, ?, ?, ?, ?)"
NO_PASSWORD = ""
"""Stored in place of the password of someone who signs in by a provider alone; no password matches it."""
TOKEN_DAYS = 30
"""Default time for which tokens work after their owner last signed in by the provider, days."""


@dataclass(frozen=True)
class Identity:
    """A person as an identity provider names them."""

    issuer: str
    subject: str
    """The issuer's identifier of this person, which it gives to no one else."""
    name: str | None = None
    """The user name for a new account; ``None`` if the provider gave none that can be used."""
    role: Role | None = None
    """The role by the groups of the person; ``None``: no access."""

    @property
    def digest(self) -> str:
        """The digest by which it is stored."""
        return hashlib.sha256(f"{self.issuer}\n{self.subject}".encode(errors="replace")).hexdigest()


def person_of(session: Queried, identity: Identity) -> str | None:
    """The user name that an identity belongs to; ``None`` if it is new."""
    rows = session.rows("SELECT person FROM identities WHERE digest = ?", (identity.digest,))
    return rows[0][0] if rows else None


def keep_identity(session: Session, identity: Identity, person: str, until: int) -> None:
    """Store whose identity this is, and until when their tokens work; a person has one identity."""
    session.run("DELETE FROM identities WHERE digest = ? OR person = ?", [(identity.digest, person)])
    row = (identity.digest, person, until)
    session.run("INSERT INTO identities (digest, person, until) VALUES (?, ?, ?)", [row])


def admit(session: Session, identity: Identity, *, create: bool, now: int, until: int) -> tuple[str, str]:
    """Admit an identity: the user name, whose role and tokens (``until``) are updated; else the reason for a refusal.

    A new one gets an account if ``create`` says so.
    """
    name = person_of(session, identity)
    if identity.role is None:
        if name is not None:  # they were in a group, and are no more
            session.run("DELETE FROM sessions WHERE person = ?", [(name,)])
            end_tokens(session, name)
        return "", "none of your groups there has a role here"
    if name is None:
        if not create:
            return "", "you have no account here"
        name = identity.name
        if name is None:
            return "", "your name there cannot be a user name here"
        if session.rows("SELECT name FROM people WHERE name = ?", (name,)):
            return "", f"the user name {name} is another account's"
        session.run(ADD_PERSON, [(name, identity.role.value, now, 0, 0, NO_PASSWORD)])
    if session.rows("SELECT name FROM people WHERE name = ? AND disabled = 1", (name,)):
        return "", "your account here is disabled"
    forget = "UPDATE people SET password = ?, must_change = 0 WHERE name = ? AND must_change = 1"
    session.run(forget, [(NO_PASSWORD, name)])  # a one-time password that lies about is of no more use
    session.run("UPDATE people SET role = ? WHERE name = ?", [(identity.role.value, name)])
    keep_identity(session, identity, name, until)
    return name, ""
