"""Small sessions for tests: keys, free ports, a manifest, and parties that add vectors."""

from __future__ import annotations

import socket

import numpy as np

from discreet.core.families import SUM_PROTOCOLS
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.manifest import Endpoint, Manifest
from discreet.verbs.combine.protocols.protocol import Party
from discreet.verbs.combine.terms import Terms

NAMES = ("north", "south", "east", "west")
GROUP = ModularGroup(64)


def identity(name):
    """A party's key, always the same: for tests alone."""
    return Identity(name, name.encode().ljust(32, b"."))


def ports(count):
    """Free ports of this machine."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


def manifest(names=NAMES, *, at=None, text="shares", threshold=0, deadline=5, nonce="0123456789abcdef", **also):
    """A session of these parties on this machine."""
    places = at or [f"127.0.0.1:{port}" for port in ports(len(names))]
    people = tuple(Endpoint(name, place, identity(name).public) for name, place in zip(names, places, strict=True))
    terms = Terms(parties=tuple(names), protocol=text, threshold=threshold)
    return Manifest(terms, people, nonce=nonce, deadline=deadline, **{"start_within": 20, **also})


def value(name, length):
    """What a party brings."""
    return GROUP.vector([sum(name.encode()) * (index + 1) for index in range(length)])


def total(names, length):
    """What comes out."""
    return GROUP.reduce(sum((value(name, length) for name in names), start=np.zeros(length, np.uint64)))


def part(session, name, length=3, bring=None):
    """What a party plays."""

    def begin(crypto):
        terms = session.terms
        me = Party(name, terms.parties, GROUP, length, crypto, "sum 1/", terms.threshold, terms.adder)
        return SUM_PROTOCOLS.parse(terms.protocol).play(me, value(name, length) if bring is None else bring)

    return begin
