"""Proofs as files: what ``--save`` writes and ``--check`` reads."""

from __future__ import annotations

from pathlib import Path

from discreet.core.document import dumps, loads
from discreet.errors import BadInput, NotFound
from discreet.verbs.prove.certificate import Certificate


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write a proof as JSON."""
    path.write_text(dumps(certificate.to_dict()), encoding="utf-8")


def read_certificate(path: Path) -> Certificate:
    """A proof that was written; whether it is one is for the checker to say."""
    try:
        return Certificate.from_dict(loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as text: {error}.") from None
