"""The people who may sign in: passwords, sessions, tokens for programs, and the lock-out of anyone who guesses.

Nothing here tells a stranger whether a name exists: a wrong name and a wrong password take the same work, get the same
answer, and are counted and locked out alike. An attempt is counted before the password is looked at, so that many
guesses at the same instant are no way round. Sessions are kept as SHA-256, as tokens are (``tokens.py``): they have 256
random bits, which no one can guess, so that no slow hash is needed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from discreet.budget.store import Queried, Session
from discreet.curator.people.identities import (
    ADD_PERSON,
    NO_PASSWORD,
    TOKEN_DAYS,
    Identity,
    admit,
    keep_identity,
    person_of,
)
from discreet.curator.people.identities import TABLES as IDENTITIES
from discreet.curator.people.passwords import hashed, is_outdated, matches, one_time, require_strong
from discreet.curator.people.person import DAYS, SCOPES, Person, Role, Scope, is_name, require_name
from discreet.curator.people.scram import Verifier
from discreet.curator.people.state import State
from discreet.curator.people.tokens import (
    PREFIX,
    TABLES,
    ApiToken,
    end_token,
    end_tokens,
    keep_token,
    new_token,
    scopes_of,
    valid_tokens,
    verifiers,
)
from discreet.errors import BadInput, NotAllowed, NotFound, NotSignedIn, TooMany
from discreet.noise.entropy import SYSTEM, token

_HOURS = 12 * 3600
_IDLE = 3600
_NOTICE = 60
"""A session's last use is written down at most once a minute."""
_DAY = 24 * 3600
_ONE_TIME = 7 * _DAY
"""How long a one-time password may lie about."""
_TRIES = 5
_FIRST_WAIT = 60
_LONGEST_WAIT = 3600
_MOST_STRANGERS = 10_000
_TABLES = (
    "CREATE TABLE IF NOT EXISTS people (name text PRIMARY KEY, role text NOT NULL, since bigint NOT NULL, "
    "disabled integer NOT NULL, must_change integer NOT NULL, password text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS sessions (digest text PRIMARY KEY, person text NOT NULL, seen bigint NOT NULL, "
    "until bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS attempts (digest text PRIMARY KEY, failed integer NOT NULL, latest bigint NOT NULL, "
    "until bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS one_time (person text PRIMARY KEY, until bigint NOT NULL)",
)
_PEOPLE = "SELECT name, role, since, disabled, must_change, password FROM people"
_OF_SESSION = (
    "SELECT name, role, since, disabled, must_change, seen, until FROM sessions JOIN people ON name = person "
    "WHERE digest = ?"
)

_BEARER = (
    "SELECT name, role, since, disabled, must_change, scopes FROM tokens JOIN people ON name = tokens.person "
    "LEFT JOIN token_scopes ON token = id LEFT JOIN identities ON identities.person = name "
    "WHERE tokens.digest = ? AND tokens.until > ? AND (identities.until IS NULL OR identities.until > ?)"
)


@dataclass(frozen=True)
class SignedIn:
    """A session. ``csrf`` proves that a request was made by a page that knows the session."""

    person: Person
    token: str = field(repr=False)
    csrf: str = field(repr=False)
    until: dt.datetime


class People:
    """People who may sign in to a service."""

    def __init__(self, state: State, clock: Callable[[], float] = time.time) -> None:
        self._state = state
        self._clock = clock
        state.ensure(*_TABLES, *TABLES, *IDENTITIES)

    def add(self, name: str, role: Role) -> str:
        """Add a person; their one-time password, told once, good for a week, changed at the first sign-in."""
        require_name(name)
        password = one_time()
        row = (name, role.value, self._now(), 0, 1, hashed(password))

        def add(session: Session) -> None:
            _require_free(session, name)
            session.run(ADD_PERSON, [row])
            _set_one_time(session, name, row[2] + _ONE_TIME)

        self._state.change(add)
        return password

    def require_free(self, name: str) -> None:
        """An error if no one could be added under this name."""
        _require_free(self._state, require_name(name))

    def find(self, name: str) -> Person:
        """Someone by name."""
        return _person(_known(self._state, name))

    def knows(self, name: str) -> bool:
        """Whether someone is called that."""
        return bool(self._state.rows(f"{_PEOPLE} WHERE name = ?", (name,)))

    def all(self) -> tuple[Person, ...]:
        """Everyone, by name."""
        return tuple(map(_person, self._state.rows(f"{_PEOPLE} ORDER BY name")))

    def locked_out(self) -> dict[str, dt.datetime]:
        """Who has to wait before they may try to sign in again, and until when."""
        waits = dict(self._state.rows("SELECT digest, until FROM attempts WHERE until > ?", (self._now(),)))
        return {one.name: _time(waits[_digest(one.name)]) for one in self.all() if _digest(one.name) in waits}

    def reset(self, name: str) -> str:
        """Another one-time password for someone. Their sessions and tokens end, and so does a lock-out."""
        password = one_time()
        kept, until = hashed(password), self._now() + _ONE_TIME

        def reset(session: Session) -> None:
            _known(session, name)
            _set_password(session, name, kept, must_change=True)
            _set_one_time(session, name, until)
            session.run("DELETE FROM sessions WHERE person = ?", [(name,)])
            end_tokens(session, name)
            session.run("DELETE FROM attempts WHERE digest = ?", [(_digest(name),)])

        self._state.change(reset)
        return password

    def change_password(self, name: str, old: str, new: str, *, tokens_end: bool = False) -> None:
        """Give someone who knows the old password another. All their sessions end, and their tokens if they wish."""
        require_strong(new, name)
        [(kept,)] = self._state.rows("SELECT password FROM people WHERE name = ?", (name,)) or [(None,)]
        if kept == NO_PASSWORD:
            raise BadInput("You have no password here.", hint="Change it where you sign in.")
        self._proved(name, old)
        if old == new:
            raise BadInput("The new password is the old one.", hint="Choose another.")
        self._set_own_password(name, new, tokens_end=tokens_end)

    def choose_password(self, token: str, new: str) -> None:
        """Give someone a password of their own in a session that they began with a one-time password.

        The session proves that they had it, and allows nothing else. Like any other it ends with the change.
        """
        signed = self.session(token)
        if signed is None or not signed.person.must_change:
            raise NotAllowed("Only someone with a one-time password can do this.", hint="Give your present password.")
        require_strong(new, signed.person.name)
        [(kept,)] = self._state.rows("SELECT password FROM people WHERE name = ?", (signed.person.name,))
        if matches(kept, new):
            raise BadInput("The new password is the one-time password.", hint="Choose another.")
        self._set_own_password(signed.person.name, new)

    def _set_own_password(self, name: str, new: str, *, tokens_end: bool = False) -> None:
        kept = hashed(new)

        def change(session: Session) -> None:
            _set_password(session, name, kept, must_change=False)
            session.run("DELETE FROM sessions WHERE person = ?", [(name,)])
            if tokens_end:
                end_tokens(session, name)

        self._state.change(change)

    def disable(self, name: str) -> None:
        """Keep someone out: their sessions and tokens end at once."""

        def disable(session: Session) -> None:
            person = _person(_known(session, name))
            stewards = "SELECT name FROM people WHERE role = ? AND disabled = 0"
            if not person.disabled and session.rows(stewards, (Role.STEWARD.value,)) == [(name,)]:
                raise BadInput("The last steward cannot be disabled.", hint="Add another steward first.")
            session.run("UPDATE people SET disabled = 1 WHERE name = ?", [(name,)])
            session.run("DELETE FROM sessions WHERE person = ?", [(name,)])
            end_tokens(session, name)

        self._state.change(disable)

    def enable(self, name: str) -> None:
        """Let someone in again."""

        def enable(session: Session) -> None:
            _known(session, name)
            session.run("UPDATE people SET disabled = 0 WHERE name = ?", [(name,)])

        self._state.change(enable)

    def sign_in(self, name: str, password: str) -> SignedIn:
        """Begin a session. Whatever is wrong, the answer is the same; after five failures there is a wait."""
        person = self._proved(name, password)
        text, now = token(32), self._now()
        self._state.change(lambda session: _begin(session, name, text, now))
        return _signed_in(person, text, now + _HOURS)

    def enter(self, identity: Identity, *, create: bool, days: int = TOKEN_DAYS) -> SignedIn:
        """Begin a session of someone whom a provider has signed in, in the role that it says.

        An identity that is new gets an account if ``create`` says so. Their tokens work for ``days`` from now.
        """
        text, now = token(32), self._now()

        def enter(session: Session) -> Person | str:
            name, refusal = admit(session, identity, create=create, now=now, until=now + days * _DAY)
            if refusal:
                return refusal
            _begin(session, name, text, now)
            return _person(_known(session, name))

        found = self._state.change(enter)
        if isinstance(found, str):
            hint = f"Ask a steward, and tell them the subject of your account at the provider: {identity.subject:.255}."
            raise NotAllowed(f"Your sign-in worked, but you have no access here: {found}.", hint=hint)
        return _signed_in(found, text, now + _HOURS)

    def link(self, name: str, identity: Identity) -> None:
        """Let an identity of a provider sign in as someone who is known here; it was no one else's from now on."""
        until = self._now() + TOKEN_DAYS * _DAY

        def link(session: Session) -> None:
            _known(session, name)
            keep_identity(session, identity, name, until)

        self._state.change(link)

    def of_identity(self, identity: Identity) -> Person | None:
        """Who signs in with this identity."""
        name = person_of(self._state, identity)
        return None if name is None else self.find(name)

    def linked(self) -> frozenset[str]:
        """Who signs in by a provider."""
        return frozenset(name for (name,) in self._state.rows("SELECT person FROM identities"))

    def session(self, token: str, *, used: bool = True) -> SignedIn | None:
        """The session with this token, unless it is over: after 12 hours, or an hour in which nothing was done.

        ``used`` counts this as something done: not so what a page asks by itself.
        """
        now, digest = self._now(), _digest(token)
        rows = self._state.rows(_OF_SESSION, (digest,))
        if not rows:
            return None
        person, (seen, until) = _person(rows[0]), rows[0][5:]
        if person.disabled or now >= until or now - seen >= _IDLE:
            return None
        if used and now - seen >= _NOTICE:
            self._state.change(
                lambda session: session.run("UPDATE sessions SET seen = ? WHERE digest = ?", [(now, digest)])
            )
        return _signed_in(person, token, until)

    def sign_out(self, token: str) -> None:
        """End a session."""
        digest = _digest(token)
        self._state.change(lambda session: session.run("DELETE FROM sessions WHERE digest = ?", [(digest,)]))

    def new_token(self, name: str, label: str, days: int = DAYS, scopes: Iterable[Scope] = SCOPES) -> ApiToken:
        """A token with which programs do what ``name`` may do, within its scopes, for some days. Told once."""
        text, id_ = PREFIX + token(32), SYSTEM.bytes(6).hex()
        made = new_token(name, label, days, scopes, id_=id_, text=text, now=self._now())

        def add(session: Session) -> None:
            if _person(_known(session, name)).disabled:
                raise BadInput(f"{name} is disabled.", hint="Enable the account first.")
            keep_token(session, made, _digest(text))

        self._state.change(add)
        return made

    def tokens(self, name: str | None = None) -> tuple[ApiToken, ...]:
        """The tokens that are valid, of someone or of everyone, newest first; without their texts."""
        return tuple(valid_tokens(self._state, self._now(), name))

    def revoke(self, id: str) -> None:
        """End a token."""
        self._state.change(lambda session: end_token(session, id))

    def by_token(self, text: str) -> tuple[Person, tuple[Scope, ...]] | None:
        """Whose token this is, and what for, if it is one and still valid."""
        return self.by_digest(_digest(text)) if text.startswith(PREFIX) else None

    def by_digest(self, digest: str) -> tuple[Person, tuple[Scope, ...]] | None:
        """As ``by_token``, for a token that was proved by its verifier and never sent."""
        now = self._now()
        rows = self._state.rows(_BEARER, (digest, now, now))
        person = _person(rows[0]) if rows else None
        return None if person is None or person.disabled else (person, scopes_of(rows[0][5]))

    def verifiers(self, name: str) -> dict[str, Verifier]:
        """Verifiers of someone's valid tokens, by digest; of a name that no one has none."""
        return verifiers(self._state, self._now(), name) if is_name(name) else {}

    def _now(self) -> int:
        return int(self._clock())

    def _proved(self, name: str, password: str) -> Person:
        """The person with this name and password; otherwise an error, the same whatever is wrong."""
        now = self._now()
        kept, person = self._state.change(lambda session: _attempt(session, name, now))
        if not matches(kept, password) or person is None or person.disabled:
            raise NotSignedIn("Name or password is wrong.", hint="Try again, or ask a steward for a new password.")
        if person.must_change and self._one_time_until(person) <= now:
            raise NotSignedIn("This one-time password has expired.", hint="Ask a steward for a new one.")
        again = hashed(password) if kept is not None and is_outdated(kept) else None

        def welcome(session: Session) -> None:
            session.run("DELETE FROM attempts WHERE digest = ?", [(_digest(name),)])
            if again is not None:
                session.run("UPDATE people SET password = ? WHERE name = ? AND password = ?", [(again, name, kept)])

        self._state.change(welcome)
        return person

    def _one_time_until(self, person: Person) -> int:
        rows = self._state.rows("SELECT until FROM one_time WHERE person = ?", (person.name,))
        return int(rows[0][0]) if rows else int(person.since.timestamp()) + _ONE_TIME


def csrf_of(token: str) -> str:
    """What a page that belongs to a session sends along: derived from its token, and of no use to get back to it."""
    return hmac.new(token.encode(errors="replace"), b"discreet csrf", hashlib.sha256).hexdigest()


def _begin(session: Session, name: str, text: str, now: int) -> None:
    """Write a new session down; those that are over go."""
    session.run("DELETE FROM sessions WHERE until <= ? OR seen <= ?", [(now, now - _IDLE)])
    row = (_digest(text), name, now, now + _HOURS)
    session.run("INSERT INTO sessions (digest, person, seen, until) VALUES (?, ?, ?, ?)", [row])


def _attempt(session: Session, name: str, now: int) -> tuple[str | None, Person | None]:
    """Count an attempt to sign in, before anyone knows how it ends; an error while there is a wait."""
    digest = _digest(name)
    rows = session.rows("SELECT failed, latest, until FROM attempts WHERE digest = ?", (digest,))
    failed, latest, until = rows[0] if rows else (0, now, 0)
    if until > now:
        raise TooMany(
            "Too many failed attempts to sign in under this name.",
            wait=until - now,
            hint=f"Wait {_spoken(until - now)}, or ask a steward for a new password.",
        )
    failed = failed + 1 if now - latest < _DAY else 1
    wait = min(_FIRST_WAIT << min(failed - _TRIES, 10), _LONGEST_WAIT) if failed >= _TRIES else 0
    session.run(
        "INSERT INTO attempts (digest, failed, latest, until) VALUES (?, ?, ?, ?) ON CONFLICT (digest) "
        "DO UPDATE SET failed = excluded.failed, latest = excluded.latest, until = excluded.until",
        [(digest, failed, now, now + wait)],
    )
    if not rows:
        _forget_strangers(session, now)
    row = _row(session, name)
    return (None, None) if row is None else (row[5], _person(row))


def _forget_strangers(session: Session, now: int) -> None:
    """Keep the count of attempts small: old ones go, and the oldest of names that are no one's."""
    session.run("DELETE FROM attempts WHERE latest <= ?", [(now - _DAY,)])
    [(count,)] = session.rows("SELECT COUNT(*) FROM attempts")
    if count > _MOST_STRANGERS:
        known = {_digest(name) for (name,) in session.rows("SELECT name FROM people")}
        oldest = session.rows("SELECT digest FROM attempts ORDER BY latest LIMIT ?", (len(known) + count // 10,))
        session.run("DELETE FROM attempts WHERE digest = ?", [row for row in oldest if row[0] not in known])


def _row(session: Queried, name: str) -> tuple[Any, ...] | None:
    if not is_name(name):
        return None
    rows = session.rows(f"{_PEOPLE} WHERE name = ?", (name,))
    return rows[0] if rows else None


def _require_free(session: Queried, name: str) -> None:
    if _row(session, name) is not None:
        raise BadInput(f"The user name {name} is taken.", hint="Choose another name.")


def _known(session: Queried, name: str) -> tuple[Any, ...]:
    row = _row(session, name)
    if row is None:
        raise NotFound(f"There is no user {name!r:.60}.", hint="discreet people list shows all users.")
    return row


def _person(row: tuple[Any, ...]) -> Person:
    name, role, since, disabled, must_change = row[:5]
    return Person(name, Role(role), _time(since), bool(disabled), bool(must_change))


def _set_password(session: Session, name: str, kept: str, *, must_change: bool) -> None:
    session.run("UPDATE people SET password = ?, must_change = ? WHERE name = ?", [(kept, int(must_change), name)])


def _set_one_time(session: Session, name: str, until: int) -> None:
    session.run(
        "INSERT INTO one_time (person, until) VALUES (?, ?) ON CONFLICT (person) DO UPDATE SET until = excluded.until",
        [(name, until)],
    )


def _signed_in(person: Person, token: str, until: int) -> SignedIn:
    return SignedIn(person, token, csrf_of(token), _time(until))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _time(seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def _spoken(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{seconds // 60} minutes"
