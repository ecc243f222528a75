"""Recovery of hidden itemsets: an attacker who knows the threshold looks just below it.

Hiding takes items out until a secret is no longer frequent, and most methods stop there: the secret is left with a
support just below the threshold, while all its parts are frequent still. Among the minimal infrequent itemsets (the
negative border) such a one stands out by its support. A safety margin, or unknowns in place of items, makes it harder.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from discreet.verbs.attack.finding import Array, Finding, failed_finding, share_finding

Itemset = frozenset[str]

_NAME = "hidden itemsets"


@dataclass(frozen=True)
class Suspect:
    """A minimal infrequent itemset, and its support."""

    itemset: Itemset
    support: int


def suspects(items: Sequence[str], bits: Array, rows: int, least: int, *, longest: int) -> list[Suspect]:
    """The minimal infrequent itemsets of two to ``longest`` items, the most suspicious first.

    ``bits`` has a row of 64-bit words an item, with a one for each of ``rows`` transactions that has it; ``least`` is
    the support of a frequent itemset. Of two with the same support, the one comes first that independent items would
    have more often: it has lost more.
    """
    supports = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    level: dict[tuple[int, ...], Array] = {(item,): bits[item] for item in np.flatnonzero(supports >= least).tolist()}
    found: list[tuple[tuple[int, ...], int]] = []
    for _ in range(2, longest + 1):
        level, border = _next_level(level, bits, least)
        found += border
    shares = supports / max(rows, 1)
    ranked = sorted(found, key=lambda one: (-one[1], -float(np.prod(shares[list(one[0])])), one[0]))
    return [Suspect(frozenset(items[code] for code in codes), support) for codes, support in ranked]


def guess_hidden(
    items: Sequence[str], bits: Array, rows: int, least: int, secrets: Collection[Collection[str]]
) -> Finding:
    """Share of the secrets found by an attacker who names as many itemsets as there are secrets.

    Then precision and recall are the same. Guessing is to name as many itemsets at random, of frequent items, and of
    two up to as many items as the longest secret has: what could be a secret to anyone who looks at nothing else.
    Secrets that are not among the suspects, such as those of which a part is not frequent either, cannot be named.
    """
    knows = (
        f"The attacker has the changed transactions, the threshold ({least:,}), and the number of secrets and the "
        "length of the longest."
    )
    wanted = {frozenset(secret) for secret in secrets}
    if not wanted:
        return failed_finding(_NAME, knows, "There are no secrets to guess.")
    longest = max(map(len, wanted))
    ranked = suspects(items, bits, rows, least, longest=longest)
    if not ranked:
        return failed_finding(_NAME, knows, "No itemset is just below the threshold.")
    named = {suspect.itemset for suspect in ranked[: len(wanted)]}
    there = sum(suspect.itemset in wanted for suspect in ranked)
    seen = int((np.bitwise_count(bits).sum(axis=1, dtype=np.int64) >= least).sum())
    candidates = sum(comb(seen, size) for size in range(2, longest + 1))
    return share_finding(
        _NAME,
        knows,
        np.array([float(secret in named) for secret in wanted]),
        min(1.0, len(wanted) / candidates),
        "Share of hidden itemsets that the attacker names when naming as many as there are; 0 is best, 1 "
        "means that hiding only marked them.",
        details={"suspects": len(ranked), "secrets": len(wanted), "secrets out of reach": len(wanted) - there},
    )


def _next_level(
    level: dict[tuple[int, ...], Array], bits: Array, least: int
) -> tuple[dict[tuple[int, ...], Array], list[tuple[tuple[int, ...], int]]]:
    """Itemsets with one item more whose parts are all frequent: those that are too, and those that are not."""
    frequent: dict[tuple[int, ...], Array] = {}
    border: list[tuple[tuple[int, ...], int]] = []
    last: dict[tuple[int, ...], list[int]] = {}
    for codes in level:
        last.setdefault(codes[:-1], []).append(codes[-1])
    for codes, held in level.items():
        after = [code for code in last[codes[:-1]] if code > codes[-1]]
        more = [code for code in after if all((*part, code) in level for part in combinations(codes, len(codes) - 1))]
        both = held & bits[more]
        counts = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
        for code, support, words in zip(more, counts.tolist(), both, strict=True):
            if support >= least:
                frequent[*codes, code] = words.copy()
            else:
                border.append(((*codes, code), support))
    return frequent, border
