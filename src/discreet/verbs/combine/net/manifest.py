"""Manifest of a session: one file with the terms, the parties, their addresses and their public keys.

Its digest is the session: it is in every signature and every key derivation, so that nothing said in one session means
anything in another, and two parties with different files find out before anything else is said.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.errors import BadInput, DiscreetError, NotFound
from discreet.noise.entropy import token
from discreet.verbs.combine.net.keys import fingerprint, public_bytes, read_public
from discreet.verbs.combine.terms import NAME, NAMES, Terms

DEADLINE_SECONDS = 60
"""Default time limit of a step."""
START_SECONDS = 600
"""Default time to wait until all parties are there."""
LARGEST_MEGABYTES = 64
"""Default size limit of a message."""
FIRST_PORT = 8650
"""Port of the first party of a session on one computer; the next ones follow."""
_NONCE_LETTERS = 24
MAX_ATTEMPTS = 20
"""Most attempts at a session under one manifest."""
_RELAY = "relay:"
_ATTEMPT = " attempt "
"""What the nonce of a later attempt ends with, before its number."""
_MANIFEST_BYTES = 1_000_000
"""Size limit of a manifest."""
_HINT = "The author of the file should make a new one: discreet combine new"


@dataclass(frozen=True)
class Endpoint:
    """A party's name, address and public key."""

    name: str
    address: str
    """``host:port``, or ``relay:host:port`` of the relay where it waits for callers."""
    key: str
    """``ed25519:`` and the key in base64."""

    @property
    def relayed(self) -> bool:
        """Whether the address is that of a relay."""
        return self.address.startswith(_RELAY)

    @property
    def place(self) -> tuple[str, int]:
        """The host and the port."""
        return read_place(self.address.removeprefix(_RELAY))

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the public key, which people compare by phone."""
        return fingerprint(self.key)


@dataclass(frozen=True)
class Manifest:
    """Manifest of a session. Later parties call earlier ones, so one that cannot be reached should come last."""

    terms: Terms
    parties: tuple[Endpoint, ...]
    """In the order of the terms."""
    name: str = "session"
    nonce: str = field(default_factory=lambda: token(_NONCE_LETTERS))
    """Makes this session different from all others with the same terms."""
    deadline: int = DEADLINE_SECONDS
    """Time limit of a step, seconds."""
    start_within: int = START_SECONDS
    """Time to wait for all parties at the start, seconds."""
    largest: int = LARGEST_MEGABYTES
    """Size limit of a message, megabytes."""

    def __post_init__(self) -> None:
        if problems := [*self._problems()]:
            raise BadInput("\n  ".join(["The manifest has problems:", *problems]), hint=_HINT)

    def _problems(self) -> Any:
        if tuple(party.name for party in self.parties) != self.terms.parties:
            yield "The parties do not match those of the terms, in order."
        for what in ("key", "address"):
            owners: dict[str, str] = {}
            for party in self.parties:
                value = getattr(party, what)
                if value in owners and not (what == "address" and party.relayed):
                    yield f"{owners[value]} and {party.name} have the same {what}."
                owners[value] = party.name
        for party in self.parties:
            if not NAME.fullmatch(party.name):
                yield f"{party.name!r} is not a party's name: {NAMES}"
            try:
                _ = party.place
            except BadInput as error:
                yield f"{party.name}: {error.message}"
            try:
                public_bytes(party.key)
            except BadInput as error:
                yield f"{party.name}: {error.message} It is in {party.name}.pub."
        if not NAME.fullmatch(self.name):
            yield f"{self.name!r} is not a session's name: {NAMES}"
        nonce, later, number = self.nonce.partition(_ATTEMPT)
        if not 16 <= len(nonce) <= 100:
            yield "The nonce must have 16 to 100 letters, different for each session."
        if later and not (number.isdecimal() and 1 < int(number) <= MAX_ATTEMPTS):
            yield f"The nonce names attempt {number!r}; attempts are numbered up to {MAX_ATTEMPTS}."
        for what, most in (("deadline", 86_400), ("start_within", 604_800), ("largest", 4_000)):
            if not 1 <= getattr(self, what) <= most:
                yield f"{what} must be between 1 and {most:,}."

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the manifest, which identifies the session."""
        text = json.dumps(_plain(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(b"discreet combine manifest 1\n" + text.encode()).digest()

    @property
    def attempt(self) -> int:
        """Number of the attempt at this session: 1 as it was agreed on."""
        return int(self.nonce.partition(_ATTEMPT)[2] or 1)

    def at_attempt(self, number: int) -> Manifest:
        """The same terms for another attempt: a session of its own, in which nothing of the others is valid."""
        nonce = self.nonce.partition(_ATTEMPT)[0]
        return replace(self, nonce=nonce if number == 1 else f"{nonce}{_ATTEMPT}{number}")

    @property
    def most_bytes(self) -> int:
        """Size limit of a message, bytes."""
        return self.largest * 1_000_000

    def party(self, name: str) -> Endpoint:
        """The party of this name."""
        for party in self.parties:
            if party.name == name:
                return party
        raise BadInput(f"{name} is not a party of {self.name}.", hint=f"Parties: {', '.join(self.terms.parties)}.")

    def others(self, name: str) -> tuple[Endpoint, ...]:
        """Everyone but this party."""
        return tuple(party for party in self.parties if party.name != name)


def new_manifest(
    name: str,
    terms: Terms,
    keys: Path,
    at: Sequence[str] = (),
    *,
    deadline: int = DEADLINE_SECONDS,
    start_within: int = START_SECONDS,
) -> Manifest:
    """Make a manifest with the public keys from NAME.pub files; parties without an address in ``at`` are local."""
    addresses = _addresses(at, terms.parties)
    if missing := [party for party in terms.parties if not (keys / f"{party}.pub").is_file()]:
        raise NotFound(
            f"In {keys.resolve()} there is no {', '.join(f'{party}.pub' for party in missing)}.",
            hint=f"Each makes its own with: discreet combine keys {missing[0]}. Put the .pub file here.",
        )
    parties = []
    for number, party in enumerate(terms.parties):
        called, key = read_public(keys / f"{party}.pub")
        if called != party:
            raise BadInput(f"{keys / f'{party}.pub'} is the key of {called}.", hint=f"Ask {party} for its own.")
        parties.append(Endpoint(party, addresses.get(party, f"127.0.0.1:{FIRST_PORT + number}"), key))
    return Manifest(terms, tuple(parties), name, deadline=deadline, start_within=start_within)


def dump(manifest: Manifest) -> str:
    """Write the manifest as TOML, from which ``parse`` makes an equal one."""
    plain = _plain(manifest)
    parties, terms = plain.pop("parties"), plain.pop("terms")
    blocks = [
        "# Parties that compute together: the same file, byte by byte in meaning, for all of them.",
        *_lines(plain),
    ]
    blocks += ["", "[terms]", *_lines(terms)]
    for party in parties:
        blocks += ["", "[[parties]]", *_lines(party)]
    return "\n".join(blocks) + "\n"


def load(path: Path | str) -> Manifest:
    """Load the manifest in a file."""
    path = Path(path)
    if not path.is_file():
        raise NotFound(f"There is no manifest {path}.", hint="Ask the organiser of the session for the file.")
    if path.stat().st_size > _MANIFEST_BYTES:
        raise BadInput(f"{path} is too long to be a manifest.")
    try:
        return parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text.", hint=_HINT) from None
    except BadInput as error:
        raise BadInput(f"{path}: {error.message}", hint=error.hint) from None


def parse(text: str) -> Manifest:
    """Parse a manifest from TOML."""
    try:
        data = tomllib.loads(text, parse_float=Fraction)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise BadInput(f"The manifest is not TOML: {error}.", hint=_HINT) from None
    problems: list[str] = []
    own = {spec.name: spec.type for spec in fields(Manifest) if spec.name not in ("terms", "parties")}
    listed = data.pop("parties", None)
    terms_block = data.pop("terms", {})
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        problems.append("There must be a [[parties]] block for each party.")
        listed = []
    if not isinstance(terms_block, dict):
        problems.append("There must be a block [terms].")
        terms_block = {}
    made = _read(data, own, {"name", "nonce"}, "The manifest", problems)
    plan = {spec.name: spec.type for spec in fields(Endpoint)}
    parties = [_read(item, plan, set(plan), f"Party {index}", problems) for index, item in enumerate(listed, 1)]
    wanted = {spec.name: spec.type for spec in fields(Terms) if spec.name != "parties"}
    terms = _read(terms_block, wanted, {"protocol", "function"}, "The block [terms]", problems)
    if not problems:
        try:
            agreed = Terms(parties=tuple(party["name"] for party in parties), **terms)
        except DiscreetError as error:
            problems.append(error.message)
        else:
            return Manifest(terms=agreed, parties=tuple(Endpoint(**party) for party in parties), **made)
    raise BadInput("\n  ".join(["The manifest has problems:", *problems]), hint=_HINT)


def read_place(text: str) -> tuple[str, int]:
    """The host and the port of host:port."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise BadInput(f"{text!r} is not an address: host:port, with a port up to 65535.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _read(
    data: Mapping[str, Any], kinds: Mapping[str, Any], needed: set[str], what: str, problems: list[str]
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    problems += [f"{what} has no {name}." for name in sorted(needed - set(data))]
    for name, value in data.items():
        if name not in kinds:
            problems.append(f"{what} has an unknown field {name}.")
            continue
        convert, wanted = _KINDS[str(kinds[name])]
        try:
            made[name] = convert(value)
        except (TypeError, ValueError, ZeroDivisionError):
            problems.append(f"{what}: {name} must be {wanted}.")
    return made


def _exactly(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError
        return value

    return convert


def _number(value: Any) -> Fraction:
    if isinstance(value, bool) or (isinstance(value, str) and len(value) > 1000):
        raise TypeError
    return Fraction(value)


_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "int": (_exactly(int), "a whole number"),
    "str": (_exactly(str), "a text"),
    "Fraction": (_number, 'a number, such as 0.5 or "1/3"'),
    "Fraction | None": (_number, 'a number, such as 0.5 or "1/3"'),
}


def _plain(manifest: Manifest) -> dict[str, Any]:
    """Manifest as plain data, without unset terms."""
    plain = asdict(manifest)
    terms = {
        name: str(value) if isinstance(value, Fraction) else value
        for name, value in plain["terms"].items()
        if value is not None and name != "parties"
    }
    return {**plain, "terms": terms, "parties": list(plain["parties"])}


def _lines(plain: Mapping[str, Any]) -> list[str]:
    """Keys and values as lines of TOML, whose basic strings are those of JSON."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]


def _addresses(at: Sequence[str], parties: Sequence[str]) -> dict[str, str]:
    addresses = {}
    for text in at:
        party, equals, address = text.partition("=")
        if not equals or party not in parties:
            raise BadInput(f"{text!r} is not the address of a party.", hint=f"Write --at {parties[0]}=host:port")
        addresses[party] = address
    return addresses
