import hashlib
from collections import Counter, defaultdict
from itertools import combinations, product

import numpy as np
import pytest

from discreet.errors import Aborted, BadInput, NoPromise
from discreet.verbs.combine import bus
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.vertical.products import ProductParty, dealer, product_group, products, withstands

LAYOUTS = [
    (("north", "south", "west"), {"north": 3, "south": 2}),
    (("west", "south", "north"), {"north": 3, "south": 2}),
    (("north", "south", "west"), {"north": 1, "south": 2, "west": 3}),
    (("north", "south", "east", "west"), {"north": 1, "south": 2, "east": 2}),
    (("north", "south", "east", "west"), {"north": 1, "south": 2, "east": 1, "west": 1}),
]


def numeric(name):
    return NumericCrypto(hashlib.sha256(name.encode()).digest(), b"session")


def multiplied(parties, widths, rows, group, crypto=numeric, **more):
    count = len(next(iter(rows.values())))
    plays = {}
    for name in parties:
        mine = group.vector(rows[name].reshape(-1)).reshape(rows[name].shape) if name in rows else None
        plays[name] = products(ProductParty(name, parties, widths, count, group, crypto(name)), mine)
    return bus.play(plays, **more)


@pytest.mark.parametrize(("parties", "widths"), LAYOUTS)
@pytest.mark.parametrize("largest", [1, 1000, 10**9, 10**12])
def test_products_are_exact(parties, widths, largest):
    draws = np.random.default_rng(1)
    rows = {name: draws.integers(0, largest, (20, width), endpoint=True) for name, width in widths.items()}
    rows["north"][:] = largest
    played = multiplied(parties, widths, rows, product_group(20, [largest]))
    assert not played.aborted
    for name in parties:
        assert len(played.results[name]) == len(widths) * (len(widths) - 1) / 2
        for (a, b), block in played.results[name].items():
            assert (block.astype(object) == rows[a].astype(object).T @ rows[b].astype(object)).all()


def test_the_same_again():
    rows = {"north": np.ones((2, 1), int), "south": np.ones((2, 1), int)}
    once, again = (multiplied(*LAYOUTS[0][:1], {"north": 1, "south": 1}, rows, ModularGroup(64)).messages for _ in "ab")
    assert once == again


def test_two_parties_are_refused():
    with pytest.raises(NoPromise, match="third party"):
        dealer(("north", "south"), ("north", "south"), ("north", "south"))


def test_the_dealer_has_no_data_if_possible():
    parties = ("north", "south", "east", "west")
    assert dealer(parties, ("north", "south", "east"), ("south", "east")) == "west"
    assert dealer(parties, parties, ("north", "east")) == "south"


def test_who_may_put_what_together():
    assert withstands(("north", "south", "west"), ("north", "south")) == (("north", "south"), ("west",))
    assert withstands(("north", "south", "west"), ("north", "south", "west")) == (("north",), ("south",), ("west",))
    assert ("north", "east") not in withstands(("north", "south", "east", "west"), ("north", "south", "east", "west"))


class Counted:
    """Tools whose every random bit is one of a list, so that all of them can be tried."""

    def __init__(self, bits, given, name):
        self.bits, self.given, self.name, self.seen = bits, given, name, {}

    def secret(self, label):
        return f"{self.name}: {label}".encode().ljust(32)

    def mask(self, seed, label, group, length):
        if (seed, label) not in self.given:
            self.given[seed, label] = np.array([next(self.bits) for _ in range(length)], np.uint64)
        self.seen[seed, label] = self.given[seed, label].tobytes()
        return self.given[seed, label]


def views(parties, widths, inputs, bits):
    """What each party has seen at the end, for one choice of all random bits."""
    source, given, crypto = iter(bits), {}, {}
    for name in parties:
        crypto[name] = Counted(source, given, name)
    played = multiplied(parties, widths, inputs, ModularGroup(1), crypto.__getitem__)
    assert not list(source)
    assert not played.aborted
    blocks = tuple(block.tobytes() for block in played.results[parties[0]].values())
    seen = {}
    for name in parties:
        got = tuple((m.of, m.kind, tuple(m.body.items())) for m in played.messages if name in m.to)
        seen[name] = got, tuple(sorted(crypto[name].seen.items()))
    return seen, blocks


def tells_more(parties, widths, count, rows=1):
    """Every coalition, and whether its view depends on more than its own inputs and the products."""
    holders = [name for name in parties if name in widths]
    coalitions = [some for many in range(1, len(parties)) for some in combinations(parties, many)]
    laws = {some: defaultdict(dict) for some in coalitions}
    for values in product((0, 1), repeat=rows * len(holders)):
        inputs = {name: np.array(values[i * rows : (i + 1) * rows]).reshape(rows, 1) for i, name in enumerate(holders)}
        law = {some: Counter() for some in coalitions}
        for bits in product((0, 1), repeat=count):
            seen, blocks = views(parties, widths, inputs, bits)
            for some in coalitions:
                law[some][tuple(seen[name] for name in some)] += 1
        for some in coalitions:
            known = tuple(inputs[name].tobytes() for name in some if name in inputs), blocks
            laws[some][known][values] = law[some]
    return {
        some: any(law != next(iter(same.values())) for same in known.values() for law in same.values())
        for some, known in laws.items()
    }


@pytest.mark.parametrize(
    ("parties", "widths", "bits", "rows"),
    [
        (("north", "south", "west"), {"north": 1, "south": 1}, 5, 2),
        (("north", "south", "east", "west"), {"north": 1, "south": 1, "east": 1}, 6, 1),
    ],
)
def test_views_depend_on_nothing_else_exactly_for_the_coalitions_promised(parties, widths, bits, rows):
    """Modulo 2, over all randomness: the law of what a coalition sees, for all inputs that it may not tell apart."""
    promised = withstands(parties, tuple(name for name in parties if name in widths))
    for some, more in tells_more(parties, widths, bits, rows).items():
        assert more != any(set(some) <= set(safe) for safe in promised), some


@pytest.mark.slow
def test_views_when_each_deals_for_two_others():
    parties = ("north", "south", "west")
    for some, more in tells_more(parties, dict.fromkeys(parties, 1), 9).items():
        assert more == (len(some) > 1), some


def test_a_group_that_holds_all():
    assert product_group(100_000, [10**7, 50]) == ModularGroup(64)
    assert product_group(1, [0]) == ModularGroup(8)
    assert product_group(2, [2**31]).modulus > 2 * 2**62


def test_whoever_leaves_ends_it():
    rows = {"north": np.ones((2, 1), int), "south": np.ones((2, 1), int)}
    parties, widths = ("north", "south", "west"), {"north": 1, "south": 1}
    played = multiplied(
        parties,
        widths,
        rows,
        ModularGroup(64),
        leaves=lambda name, effect: name == "south" and getattr(effect, "kind", "") == "part",
    )
    assert not played.results
    assert played.aborted["north"].culprits == ("south",)


def test_rows_belong_to_holders():
    party = ProductParty(
        "west", ("north", "south", "west"), {"north": 1, "south": 1}, 1, ModularGroup(8), numeric("west")
    )
    with pytest.raises(BadInput, match="and only then"):
        next(products(party, np.ones((1, 1), np.uint64)))


@pytest.mark.parametrize(
    ("kind", "body"), [("seed", {"seed": b"short"}), ("rows", {"rows": bytes(3)}), ("part", {"part": b""})]
)
def test_matrices_of_the_wrong_size_end_it(kind, body):
    group, parties, widths = ModularGroup(64), ("north", "south", "west"), {"north": 1, "south": 1}
    rows = np.ones((2, 1), np.uint64)
    right = {"seed": {"seed": bytes(32)}, "rows": {"rows": bytes(16)}, "part": {"part": bytes(8)}}
    play = products(ProductParty("north", parties, widths, 2, group, numeric("north")), rows)
    given = None
    with pytest.raises(Aborted) as ended:
        while True:
            effect = play.send(given)
            asked = getattr(effect, "of", None)
            given = (body if effect.kind == kind else right[effect.kind]) if asked else None
    assert ended.value.culprits == (("west",) if kind == "seed" else ("south",))
