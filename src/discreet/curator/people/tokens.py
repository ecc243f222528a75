"""Tokens for programs: what each may do, for how long, and how they are kept.

A token never does more than the person whose it is, and less if its scopes say so. It hands out no other way in: with a
token no one makes a token, sets a password or adds a person, so that a stolen one is worth no more than its scopes and
its days. It is kept as its SHA-256: its text has 256 random bits, which no one can guess.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from discreet.budget.entries import require_name
from discreet.budget.store import Queried, Session
from discreet.curator.people.person import SCOPES, Scope
from discreet.curator.people.scram import Verifier
from discreet.errors import BadInput, NotFound

PREFIX = "dct_"
"""How tokens begin, so that they are known when they turn up where they should not."""
_MOST_DAYS = 366
_DAY_SECONDS = 24 * 3600
_LONGEST_LABEL = 60
TABLES = (
    "CREATE TABLE IF NOT EXISTS tokens (id text PRIMARY KEY, digest text UNIQUE NOT NULL, person text NOT NULL, "
    "label text NOT NULL, made bigint NOT NULL, until bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS token_scopes (token text PRIMARY KEY, scopes text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS token_verifiers (token text PRIMARY KEY, stored_key text NOT NULL, "
    "server_key text NOT NULL)",
)
_TOKENS = (
    "SELECT id, label, person, made, until, scopes FROM tokens LEFT JOIN token_scopes ON token = id WHERE until > ?"
)
_VERIFIERS = (
    "SELECT digest, stored_key, server_key FROM tokens JOIN token_verifiers ON token = id "
    "WHERE person = ? AND until > ? ORDER BY made DESC, id"
)


@dataclass(frozen=True)
class ApiToken:
    """A token for programs. ``text`` is known when it is made, and never again."""

    id: str
    label: str
    person: str
    made: dt.datetime
    until: dt.datetime
    scopes: tuple[Scope, ...] = SCOPES
    text: str = field(default="", repr=False)


def new_token(
    person: str, label: str, days: int, scopes: Iterable[Scope], *, id_: str, text: str, now: int
) -> ApiToken:
    """A token that can be kept; an error if there is no such token."""
    if len(require_name(label, "A token")) > _LONGEST_LABEL:
        raise BadInput(f"A token's label must have at most {_LONGEST_LABEL} characters.")
    if type(days) is not int or not 1 <= days <= _MOST_DAYS:
        raise BadInput(f"A token's lifetime must be 1 to {_MOST_DAYS} days.")
    chosen = set(scopes)
    if not chosen:
        raise BadInput("A token needs a scope.", hint=f"Choose among {', '.join(one.value for one in Scope)}.")
    in_order = tuple(one for one in Scope if one in chosen)
    return ApiToken(id_, label, person, _time(now), _time(now + days * _DAY_SECONDS), in_order, text)


def keep_token(session: Session, token: ApiToken, digest: str) -> None:
    """Write a new token down; those that have expired, and the scopes of those that are gone, go."""
    made, until = int(token.made.timestamp()), int(token.until.timestamp())
    session.run("DELETE FROM tokens WHERE until <= ?", [(made,)])
    for one in ("token_scopes", "token_verifiers"):
        session.run(f"DELETE FROM {one} WHERE token NOT IN (SELECT id FROM tokens)", [()])  # noqa: S608
    session.run(
        "INSERT INTO tokens (id, digest, person, label, made, until) VALUES (?, ?, ?, ?, ?, ?)",
        [(token.id, digest, token.person, token.label, made, until)],
    )
    scopes = " ".join(one.value for one in token.scopes)
    session.run("INSERT INTO token_scopes (token, scopes) VALUES (?, ?)", [(token.id, scopes)])
    verifier = Verifier.of(token.text, token.person)
    session.run(
        "INSERT INTO token_verifiers (token, stored_key, server_key) VALUES (?, ?, ?)",
        [(token.id, verifier.stored_key.hex(), verifier.server_key.hex())],
    )


def valid_tokens(session: Queried, now: int, person: str | None = None) -> list[ApiToken]:
    """The tokens that have not expired, of someone or of everyone, newest first."""
    sql, values = (_TOKENS, [now]) if person is None else (f"{_TOKENS} AND person = ?", [now, person])
    return [_token(row) for row in session.rows(f"{sql} ORDER BY made DESC, id", values)]


def verifiers(session: Queried, now: int, person: str) -> dict[str, Verifier]:
    """Verifiers of a person's valid tokens, by the digest of each token. One made by an earlier discreet has none."""
    return {
        digest: Verifier(bytes.fromhex(stored_key), bytes.fromhex(server_key))
        for digest, stored_key, server_key in session.rows(_VERIFIERS, (person, now))
    }


def end_token(session: Session, id_: str) -> None:
    """End a token; an error if there is none."""
    if not session.rows("SELECT id FROM tokens WHERE id = ?", (id_,)):
        raise NotFound("There is no such token.")
    session.run("DELETE FROM tokens WHERE id = ?", [(id_,)])


def end_tokens(session: Session, person: str) -> None:
    """End all of someone's tokens."""
    session.run("DELETE FROM tokens WHERE person = ?", [(person,)])


def _token(row: tuple[Any, ...]) -> ApiToken:
    id_, label, person, made, until, scopes = row
    return ApiToken(id_, label, person, _time(made), _time(until), scopes_of(scopes))


def scopes_of(text: str | None) -> tuple[Scope, ...]:
    """The scopes of a token, as they are kept."""
    return SCOPES if text is None else tuple(Scope(one) for one in text.split())


def _time(seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
