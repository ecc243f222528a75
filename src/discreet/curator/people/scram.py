"""Verifiers of tokens for SCRAM-SHA-256 (RFC 5802, RFC 7677), the sign-in of PostgreSQL's protocol.

A client proves that it knows a token without sending it, and the service proves that it knows the token's verifier. So
anyone in between who pretends to be the service learns no token.

A verifier opens nothing by itself: to find the token that it was made of, 256 random bits have to be guessed. So it is
kept beside the token's digest, and lives as long. Salt and iterations slow down guessing of passwords, which tokens are
not; the salt follows from the name, so that the service says the same of a person who has tokens, of one who has none
and of one who does not exist.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Self

ITERATIONS = 4096
"""Iterations of PBKDF2, the fewest that clients accept (RFC 7677)."""
_SALT_BYTES = 16


@dataclass(frozen=True)
class Verifier:
    """What the service stores of a token, to check a client's proof and to give its own."""

    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, token: str, person: str) -> Self:
        """The verifier of a person's token."""
        salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt_of(person), ITERATIONS)
        client_key = hmac.digest(salted, b"Client Key", "sha256")
        return cls(hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256"))

    def accepts(self, proof: bytes, exchange: bytes) -> bool:
        """Whether a client that sent this proof, after this exchange of messages, knows the token."""
        signature = hmac.digest(self.stored_key, exchange, "sha256")
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        return hmac.compare_digest(hashlib.sha256(client_key).digest(), self.stored_key)

    def signature(self, exchange: bytes) -> bytes:
        """The service's proof to the client that it knows the verifier."""
        return hmac.digest(self.server_key, exchange, "sha256")


def salt_of(person: str) -> bytes:
    """The salt of all tokens of a user name; there is one for names without an account, too."""
    return hashlib.sha256(b"discreet scram " + person.encode(errors="replace")).digest()[:_SALT_BYTES]
