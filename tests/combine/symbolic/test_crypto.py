"""Tools on symbols do what tools on numbers do; and what a coalition knows follows from the terms it saw."""

from __future__ import annotations

import pytest

from discreet.errors import BadInput
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.symbolic.leakage import known_sums
from discreet.verbs.combine.symbolic.symbols import Digest, LinearForm, Mask, Secret, Seed, SymbolicCrypto, Value

GROUP = ModularGroup(8)
PARTIES = ("north", "south", "east")


@pytest.fixture(params=["numbers", "symbols"])
def two(request):
    if request.param == "numbers":
        return NumericCrypto(b"n" * 32, b"session"), NumericCrypto(b"s" * 32, b"session")
    return SymbolicCrypto("north"), SymbolicCrypto("south")


def test_two_parties_agree_on_a_seed_and_its_masks(two):
    one, other = two
    mine, theirs = one.secret("key"), other.secret("key")
    seed = one.agree(mine, one.public(theirs))
    assert seed == other.agree(theirs, other.public(mine))
    mask = one.mask(seed, "mask", GROUP, 3)
    assert one.digest(GROUP, mask, "x") == other.digest(GROUP, other.mask(seed, "mask", GROUP, 3), "x")
    assert one.digest(GROUP, mask) != one.digest(GROUP, one.mask(seed, "another", GROUP, 3))
    assert one.fits(mask, GROUP, 3)
    assert not one.fits("text", GROUP, 3)


def test_enough_shares_give_the_secret(two):
    one, other = two
    secret = one.secret("key")
    shares = one.split(secret, "shares", PARTIES, 2)
    assert other.join({name: shares[name] for name in ("north", "east")}, 2) == secret
    with pytest.raises(BadInput, match="2 different ones are needed"):
        other.join({"east": shares["east"]}, 2)
    with pytest.raises(BadInput, match="not shared among 3"):
        one.split(secret, "shares", PARTIES, 4)


def test_shares_of_two_secrets_do_not_mix():
    one = SymbolicCrypto("north")
    shares = [one.split(one.secret(label), f"shares of {label}", PARTIES, 2) for label in "ab"]
    with pytest.raises(BadInput, match="not all of the same secret"):
        one.join({"north": shares[0]["north"], "east": shares[1]["east"]}, 2)


def test_a_label_serves_one_purpose():
    one = SymbolicCrypto("north")
    assert one.draw("r", GROUP, 1) == one.draw("r", GROUP, 1)
    for again in (
        lambda: one.draw("r", GROUP, 2),
        lambda: one.secret("r"),
        lambda: one.split(one.secret("key"), "r", PARTIES, 2),
    ):
        with pytest.raises(BadInput, match="for two purposes"):
            again()


def knows(seen, seed, *coalition):
    """Whether a coalition that saw these terms, and east's value behind a mask of the seed, has the value."""
    behind = LinearForm.sum([Value("east"), Mask(seed, "mask")])
    return {Value("east"): 1} in known_sums([behind, *seen], set(coalition), ("east",), 8)


def test_who_knows_a_seed_sees_through_its_mask():
    key, other = Secret("east", "key"), Secret("north", "key")
    seed = Seed(frozenset({key, other}))
    assert not knows([], seed, "south")
    assert knows([], seed, "north")
    assert knows([seed], seed, "south")
    assert knows([{"told": (key,)}], seed, "south")
    assert knows([Digest((key, "text"))], seed, "south")
    assert not knows([SymbolicCrypto("east").public(key), b"bytes", None, 3], seed, "south")


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_enough_shares_of_one_sharing_are_as_good_as_the_secret(threshold):
    east = SymbolicCrypto("east")
    key = east.secret("key")
    one, two = (list(east.split(key, label, PARTIES, threshold).values()) for label in ("one", "two"))
    assert knows(one[:threshold], key, "south")
    assert not knows(one[: threshold - 1] * 2, key, "south")
    assert not knows([*one[: threshold - 1], *two[: threshold - 1]], key, "south")
    seed = Seed(frozenset({key, Secret("west", "key")}))
    assert knows(one[:threshold], seed, "south")


def test_what_cannot_be_understood_is_not_taken_for_harmless():
    with pytest.raises(BadInput, match="A message has a float"):
        known_sums([{"vector": 0.5}], {"south"}, ("east",), 8)
