"""Where the service listens, and with which certificate.

A certificate is tried out before anyone is let near it: a client and the service shake hands in memory. Whether the
key fits, whether today is within its dates and whether it is for the right names is found out by the library that will
serve it, so that what is tried is what people will meet.

A certificate is renewed while the service runs: who connects from then on meets the new one.
"""

from __future__ import annotations

import datetime as dt
import errno
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import BadInput
from discreet.service.settings import Settings

_WHY = {
    errno.EADDRINUSE: ("is taken", "Is it running already? Choose another port: --port 8641"),
    errno.EADDRNOTAVAIL: (
        "is not an address of this computer",
        "Give one that it has: --host 127.0.0.1, or 0.0.0.0 for all of them.",
    ),
    errno.EACCES: ("is only for administrators", "Choose a port from 1024 up: --port 8640"),
}


def listening(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say; an error if someone else does."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        socket.getaddrinfo(settings.host, settings.port)
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except socket.gaierror:
        raise BadInput(
            f"Unknown host name {settings.host}.",
            hint="Give an address of this one: --host 127.0.0.1, or 0.0.0.0 for all of them.",
        ) from None
    except OSError as error:
        said, hint = _WHY.get(error.errno or 0, (f"cannot be used to listen: {error.strerror or error}", ""))
        raise BadInput(f"{settings.host}, port {settings.port}, {said}.", hint=hint) from None


def server_context(cert: Path, key: Path) -> ssl.SSLContext:
    """What the service speaks TLS with; an error if the files cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for what, file in (("certificate", cert), ("key", key)):
        if not file.is_file():
            raise BadInput(f"There is no {what} at {file}.", hint="Give the path of a PEM file.")
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except PermissionError as error:
        raise BadInput(f"{error.filename or key} cannot be read by the user who runs the service.") from None
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise BadInput(f"The key in {key} does not belong to the certificate in {cert}.") from None
        raise BadInput(
            f"{cert} and {key} are not a readable certificate and key.", hint="Both must be PEM files."
        ) from None
    return context


class Certificate:
    """What the service speaks TLS with, which ``renew`` takes from the same files again."""

    def __init__(self, cert: Path, key: Path, names: Sequence[str] = ()) -> None:
        self._cert, self._key, self._names = cert, key, names
        self._newest = self.context = server_context(cert, key)
        self.chain = cert.read_text(encoding="ascii", errors="ignore")
        """What was read last, as PEM."""
        self.context.sni_callback = self._choose

    @classmethod
    def of(cls, settings: Settings) -> Certificate | None:
        """The certificate that settings name; ``None`` without TLS."""
        if settings.cert is None or settings.key is None:
            return None
        return cls(settings.cert, settings.key, settings.names)

    def renew(self) -> dt.datetime:
        """Take what is in the files now, and say until when it is good; an error if it is not, and nothing changes."""
        until = min(good_until(self._cert, self._key, name) for name in self._names or (None,))
        self._newest = server_context(self._cert, self._key)
        self.chain = self._cert.read_text(encoding="ascii", errors="ignore")
        return until

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Called when a client says hello, with or without a name: it meets the newest certificate."""
        connection.context = self._newest


def good_until(cert: Path, key: Path, name: str | None = None) -> dt.datetime:
    """When a certificate expires; an error if today is not within its dates, or it is not for ``name``."""
    server = server_context(cert, key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = name is not None
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN  # anyone who signed it is not what is tried here
    client.load_verify_locations(cafile=cert)
    try:
        found = _handshake(client, server, name)
    except ssl.SSLCertVerificationError as error:
        raise _error_text(error, cert, name) from None
    return dt.datetime.fromtimestamp(ssl.cert_time_to_seconds(str(found["notAfter"])), dt.UTC)


def _handshake(client: ssl.SSLContext, server: ssl.SSLContext, name: str | None) -> dict[str, object]:
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there, server_hostname=name)
    serving = server.wrap_bio(there, back, server_side=True)
    shaken = False
    while not shaken:
        shaken = all([_step(asking), _step(serving)])
    return dict(asking.getpeercert() or {})


def _step(side: ssl.SSLObject) -> bool:
    """Whether a side has finished its handshake; if not, it waits for the other."""
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _error_text(error: ssl.SSLCertVerificationError, cert: Path, name: str | None) -> BadInput:
    """The message for an error number of OpenSSL."""
    said = {9: "is not valid yet", 10: "has expired", 62: f"is not for {name}", 64: f"is not for {name}"}
    return BadInput(f"The certificate in {cert} {said.get(error.verify_code, f'is not good: {error.verify_message}')}.")


def _no_password() -> str:
    raise BadInput("The key has a password.", hint="Use a key without a password, in a file that only you can read.")
