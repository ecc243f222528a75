"""Signing in by SCRAM-SHA-256 (RFC 5802, RFC 7677), with a token in place of a password.

The token is never sent, so that a program in between learns none, even if the client does not look at certificates.
Over TLS the exchange is bound to the certificate (tls-server-end-point, RFC 5929), if the client can do that: then a
program in between that has another certificate cannot pass the exchange on either.

A name without tokens goes through the same exchange and fails at its end, as a wrong token does.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.curator.people.scram import ITERATIONS, Verifier, salt_of
from discreet.noise.entropy import token
from discreet.service.postgres.messages import BadMessage

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_HASHES = {
    bytes.fromhex("2a864886f70d01010b"): "sha256",
    bytes.fromhex("2a864886f70d01010c"): "sha384",
    bytes.fromhex("2a864886f70d01010d"): "sha512",
    bytes.fromhex("2a8648ce3d040302"): "sha256",
    bytes.fromhex("2a8648ce3d040303"): "sha384",
    bytes.fromhex("2a8648ce3d040304"): "sha512",
}
"""By the algorithm that a certificate is signed with (RSA and ECDSA): what its digest is made with (RFC 5929)."""
_FIRST = re.compile(r"(?P<bind>n|y|p=tls-server-end-point),(?:a=[^,]*)?,(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]+))")
_FINAL = re.compile(r"(?P<bare>c=(?P<bind>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[A-Za-z0-9+/=]+)")


@dataclass
class Exchange:
    """One attempt of someone to sign in; ``binding`` is the digest of our certificate, if it has one."""

    person: str
    verifiers: Mapping[str, Verifier]
    """Of the person's tokens, by digest."""
    binding: bytes | None
    _header: str = field(default="", init=False)
    _so_far: str = field(default="", init=False)
    _nonce: str = field(default="", init=False)

    @property
    def mechanisms(self) -> list[str]:
        """What the client may choose from."""
        return [BOUND, PLAIN] if self.binding is not None else [PLAIN]

    def first(self, mechanism: str, said: bytes) -> bytes | None:
        """What is answered to the client's first message; ``None``: it fails."""
        found = _FIRST.fullmatch(_ascii(said))
        if found is None or mechanism not in self.mechanisms:
            raise BadMessage("it is no SCRAM message that can be answered")
        bound = found["bind"].startswith("p=")
        if bound != (mechanism == BOUND) or (found["bind"] == "y" and self.binding is not None):
            return None  # "y": the client could bind, and was told by someone in between that we cannot
        self._header = found[0].removesuffix(found["bare"])
        self._nonce = found["nonce"] + token(18)
        answer = f"r={self._nonce},s={base64.b64encode(salt_of(self.person)).decode()},i={ITERATIONS}"
        self._so_far = f"{found['bare']},{answer}"
        return answer.encode()

    def final(self, said: bytes) -> tuple[str, bytes] | None:
        """The digest of the token that the client knows, and our own proof; ``None``: it knows none."""
        found = _FINAL.fullmatch(_ascii(said))
        if found is None:
            raise BadMessage("it is no SCRAM message that can be answered")
        expected = self._header.encode() + (self.binding or b"" if self._header.startswith("p=") else b"")
        same = hmac.compare_digest(_decoded(found["bind"]), expected)
        same &= hmac.compare_digest(found["nonce"], self._nonce)
        exchange = f"{self._so_far},{found['bare']}".encode()
        proof, known = _decoded(found["proof"]), None
        for digest, verifier in self.verifiers.items():
            if verifier.accepts(proof, exchange):
                known = digest, b"v=" + base64.b64encode(verifier.signature(exchange))
        return known if same else None


def certificate_digest(chain: str) -> bytes | None:
    """What a client that binds the exchange to our certificate sends; ``None`` if there is no rule for it."""
    first = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", chain, re.DOTALL)
    if first is None:
        return None
    der = ssl.PEM_cert_to_DER_cert(first[0])
    name = next((name for oid, name in _HASHES.items() if b"\x06" + bytes([len(oid)]) + oid in der), None)
    return None if name is None else hashlib.new(name, der).digest()


def _ascii(said: bytes) -> str:
    try:
        return said.decode("ascii")
    except UnicodeDecodeError:
        raise BadMessage("it is no SCRAM message that can be answered") from None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadMessage("it is no SCRAM message that can be answered") from None
