"""Random things to hide in random transactions, and the best way by trying everything."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import chain, combinations

from discreet.verbs.hide.problem import HidingProblem
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions


def drawn_problem(
    seed: int, *, items: str = "abcdef", rows: int = 40, rules: bool = True, secrets: int = 3
) -> HidingProblem:
    """Some secrets, of which most are visible, with thresholds of their own.

    Every other confidence is just above one that there can be."""
    rng = random.Random(seed)  # noqa: S311
    held = Transactions.of([[item for item in items if rng.random() < 0.55] for _ in range(rows)], items)
    least, confidence = rng.randint(2, max(2, rows // 5)), Fraction(rng.randint(3, 8), 10)
    if seed % 2:
        confidence = rng.choice((Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(3, 4))) + Fraction(1, 10**7)
    found: dict[tuple[frozenset[str], frozenset[str]], Secret] = {}
    for _ in range(rng.randint(1, secrets)):
        whole = rng.sample(items, rng.randint(2, 3))
        left = frozenset(whole[:1]) if rules and rng.random() < 0.5 else frozenset()
        limit = max(1, least - rng.randint(0, 1))
        secret = Secret(left, frozenset(whole) - left, limit, confidence if left else None)
        found[secret.antecedent, secret.consequent] = secret
    return HidingProblem(held, tuple(found.values()), least, confidence)


def best_by_trying(problem: HidingProblem) -> tuple[int, int] | None:
    """The fewest non-sensitive itemsets lost, and with these the fewest items removed, over all that can be removed.

    None if nothing hides all secrets and keeps all that must stay. It counts by itself, with nothing that it tests.
    """
    rows = [frozenset(row) for row in problem.transactions.to_rows()]
    sensitive = [one.whole for one in problem.secrets if not one.is_rule and one.support <= problem.least]
    parts = {
        part for row in rows for size in range(1, len(row) + 1) for part in map(frozenset, combinations(row, size))
    }
    innocent = [
        part
        for part in parts
        if _support(rows, part) >= problem.least and not any(secret <= part for secret in sensitive)
    ]
    cells = [(row, item) for row, items in enumerate(rows) for item in items]
    found = []
    for taken in chain.from_iterable(combinations(cells, count) for count in range(len(cells) + 1)):
        after = [items - {item for number, item in taken if number == row} for row, items in enumerate(rows)]
        if any(_shows(after, one) for one in problem.secrets):
            continue
        if all(_support(after, one) >= problem.least for one in problem.keep):
            found.append((sum(_support(after, one) < problem.least for one in innocent), len(taken)))
    return min(found, default=None)


def _support(rows: list[frozenset[str]], itemset: frozenset[str]) -> int:
    return sum(itemset <= row for row in rows)


def _shows(rows: list[frozenset[str]], secret: Secret) -> bool:
    both = _support(rows, secret.antecedent | secret.consequent)
    if both < secret.support:
        return False
    return secret.confidence is None or Fraction(both, _support(rows, secret.antecedent)) >= secret.confidence
