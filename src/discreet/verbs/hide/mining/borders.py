"""Positive and negative borders of the frequent itemsets (Mannila and Toivonen 1997).

The positive border are the maximal frequent itemsets: whatever is frequent is part of one. The negative border are the
minimal itemsets that are not frequent: whatever is not frequent contains one. Each tells the other, and both tell which
itemsets are frequent. Hiding moves the border; the ones to watch are at it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from discreet.errors import BadInput
from discreet.verbs.hide.mining.frequent import Frequent, Itemset


@dataclass(frozen=True)
class Borders:
    """The maximal itemsets that are (or should stay) frequent, and the minimal ones that are not (or should not be)."""

    positive: tuple[Itemset, ...]
    negative: tuple[Itemset, ...]


def borders(frequent: Frequent, items: Iterable[str]) -> Borders:
    """Both borders of frequent itemsets among all ``items``."""
    from discreet.verbs.hide.mining import kernels

    _require_all(frequent)
    names = frequent.names
    pairs = kernels.joined(frequent.nodes, len(frequent.items), frequent.deepest)
    rare = [frozenset((item,)) for item in items if item not in set(frequent.items)]
    negative = (*rare, *(names[one] | names[other] for one, other in pairs.tolist()))
    return Borders(tuple(itemset for itemset, _ in frequent.keep("maximal")), negative)


def revised(frequent: Frequent, secrets: Iterable[Collection[str]]) -> Borders:
    """The borders as hiding should leave them: what contains a secret is no longer frequent, and all else still is.

    The negative border here are the minimal secrets: other itemsets that were not frequent cannot become so by taking
    items out.
    """
    _require_all(frequent)
    hidden = minimal(map(frozenset, secrets))
    stays = [itemset for itemset, _ in frequent.keep("all") if not any(secret <= itemset for secret in hidden)]
    return Borders(maximal(stays), hidden)


def maximal(itemsets: Iterable[Itemset]) -> tuple[Itemset, ...]:
    """Those that are part of no other. All parts of an itemset are expected to be among them, or it is slow."""
    found = set(itemsets)
    covered = {itemset - {item} for itemset in found for item in itemset}
    left = found - covered
    if all(itemset - {item} in found for itemset in found if len(itemset) > 1 for item in itemset):
        return tuple(sorted(left, key=by_size))
    return tuple(sorted((one for one in left if not any(one < other for other in left)), key=by_size))


def minimal(itemsets: Iterable[Itemset]) -> tuple[Itemset, ...]:
    """Those that no other is part of."""
    found = set(itemsets)
    return tuple(sorted((one for one in found if not any(other < one for other in found)), key=by_size))


def _require_all(frequent: Frequent) -> None:
    """An error if itemsets may be missing: with one as long as they may be, there may be longer ones."""
    if frequent.longest is not None and frequent.deepest >= frequent.longest:
        raise BadInput(
            f"Itemsets of more than {frequent.longest} items were not mined, but the border may contain them.",
            hint="Mine without longest.",
        )


def by_size(itemset: Itemset) -> tuple[int, list[str]]:
    """Sort key: small itemsets first, then by name."""
    return len(itemset), sorted(itemset)
