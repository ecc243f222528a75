"""Identity keys of parties: Ed25519 keys, whose public halves the others know beforehand.

There is no authority. A public key stands in the manifest, and anyone who proves to have the private half is that
party; people compare fingerprints once, by phone. The certificate that TLS asks for is only a wrapper: it is made of
the name and the public key alone, so that everyone can make everyone's, byte by byte, and a certificate that differs is
no one's. Its signature is by a key that all the world knows and proves nothing; TLS makes the other side sign the
handshake with the key inside, which does.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from discreet.core.document import flush_name, write
from discreet.core.optional import extra
from discreet.errors import BadInput, NotFound
from discreet.noise.entropy import SYSTEM
from discreet.verbs.combine.terms import checked_name

with extra("combine"):
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
    from cryptography.x509.oid import NameOID

_KEY_PREFIX = "ed25519:"
_PUBLIC_SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(32))
_VALID_FROM, _VALID_UNTIL = dt.datetime(2020, 1, 1), dt.datetime(9999, 1, 1)


@dataclass(frozen=True)
class Identity:
    """A party's name and its private key."""

    name: str
    private: bytes
    """32 bytes."""

    def __repr__(self) -> str:
        return f"Identity({self.name!r}, {self.fingerprint})"

    @classmethod
    def new(cls, name: str) -> Identity:
        """Make a fresh key for the party of this name."""
        return cls(checked_name(name), SYSTEM.bytes(32))

    @classmethod
    def load(cls, path: Path | str) -> Identity:
        """Load the identity that ``save`` wrote as NAME.key."""
        path = Path(path)
        if not path.is_file():
            raise NotFound(f"There is no key {path}.", hint=f"Make one: discreet combine keys {path.stem}")
        if path.stat().st_mode & 0o077:
            raise BadInput(f"Others can read the key {path}.", hint=f"Run: chmod 600 {path}")
        try:
            key = load_pem_private_key(path.read_bytes(), None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise BadInput(f"{path} is not a key that discreet wrote.")
        return cls(checked_name(path.stem), key.private_bytes_raw())

    def save(self, folder: Path | str) -> Path:
        """Write NAME.key, for its owner alone, and NAME.pub, for the others; gives the path of NAME.key."""
        folder = Path(folder)
        place, public = folder / f"{self.name}.key", folder / f"{self.name}.pub"
        for path in (place, public):
            if path.exists():
                raise BadInput(f"{path} exists.", hint="A key that is overwritten is lost; move it away first.")
        pem = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write(place, pem, private=True)
        public.write_text(f"{self.name} {self.public}\n")
        flush_name(place)
        return place

    @property
    def public(self) -> str:
        """The public key, as it stands in the manifest."""
        return public_text(self._key.public_key().public_bytes_raw())

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the public key, which people compare by phone."""
        return fingerprint(self.public)

    def sign(self, data: bytes) -> bytes:
        """Ed25519 signature, 64 bytes."""
        return self._key.sign(data)

    def pem(self) -> bytes:
        """Certificate and private key in PEM, for TLS."""
        return (
            certificate(self.name, self.public).public_bytes(Encoding.PEM)
            + self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )  # fmt: skip

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private)


def read_public(path: Path | str) -> tuple[str, str]:
    """Read the name and the public key in a file NAME.pub."""
    path = Path(path)
    if not path.is_file():
        raise NotFound(f"There is no public key {path}.", hint=f"Ask {path.stem} for the file {path.name}.")
    words = path.read_text().split()
    if len(words) != 2:
        raise BadInput(f"{path} should hold a name and a public key.")
    public_bytes(words[1])
    return checked_name(words[0]), words[1]


def public_text(raw: bytes) -> str:
    """A public key as it stands in the manifest."""
    return _KEY_PREFIX + base64.b64encode(raw).decode()


def public_bytes(text: str) -> bytes:
    """The 32 bytes of a public key in the manifest."""
    try:
        raw = base64.b64decode(text.removeprefix(_KEY_PREFIX), validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != 32 or public_text(raw) != text:
        raise BadInput(f"{text!r} is not a public key: {_KEY_PREFIX} and 44 letters.")
    return raw


@lru_cache
def verifier(text: str) -> Ed25519PublicKey:
    """Verifier of signatures by this public key."""
    return Ed25519PublicKey.from_public_bytes(public_bytes(text))


def fingerprint(text: str) -> str:
    """Fingerprint of a public key: 128 bits of its digest, in groups that can be read out."""
    digest = hashlib.sha256(public_bytes(text)).hexdigest()[:32]
    return " ".join(digest[place : place + 4] for place in range(0, 32, 4))


@lru_cache
def certificate(name: str, public: str) -> x509.Certificate:
    """The one certificate of a party, the same wherever it is made."""
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateBuilder(called, called, verifier(public), 1, _VALID_FROM, _VALID_UNTIL)
    return made.sign(_PUBLIC_SIGNER, None)
