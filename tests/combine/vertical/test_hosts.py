"""A session across columns between hosts, and again from a journal."""

import asyncio
from dataclasses import replace

from tests.combine.net.sessions import identity, manifest
from tests.loops import run

from discreet.verbs.combine import bus
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.net import driver
from discreet.verbs.combine.vertical import session

NAMES = ("north", "south", "west")
HELD = {
    "north": {"id": range(60), "age": [number % 50 for number in range(60)]},
    "south": {"id": range(20, 80), "visits": [number**2 % 37 for number in range(60)]},
    "west": {"nothing": []},
}


def joined():
    shape = manifest(NAMES, deadline=20)
    return replace(
        shape,
        terms=replace(shape.terms, protocol="join", function="covariance key=id of=north/age:0:120,south/visits:0:50"),
    )


def part(agreed, name):
    return lambda crypto: session.play(agreed.terms, name, crypto, Data.from_value(HELD[name]))


def test_over_tls_it_gives_what_it_gives_in_one_process(tmp_path):
    agreed = joined()

    async def everybody():
        runs = (driver.run(agreed, identity(name), part(agreed, name), tmp_path / name) for name in NAMES)
        return await asyncio.gather(*runs)

    first, *others = run(everybody())
    alone = bus.play({name: part(agreed, name)(NumericCrypto(name.encode().ljust(32), b"session")) for name in NAMES})
    assert alone.results["west"] == first
    assert first.value["number of people"] == 40
    assert all(other == first for other in others)

    async def again():
        return await driver.run(agreed, identity("south"), part(agreed, "south"), tmp_path / "south")

    assert run(again()) == first, "from what lies on the disk"
