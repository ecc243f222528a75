"""Random things to hide in random transactions, and the best way by trying everything."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import chain, combinations

from discreet.hide.methods.exact import cost
from discreet.hide.problem import Problem
from discreet.hide.secrets import Secret
from discreet.hide.transactions import Transactions


def drawn_problem(seed: int, *, items: str = "abcdef", rows: int = 40, rules: bool = True, secrets: int = 3) -> Problem:
    """Some secrets, of which most are visible, with thresholds of their own."""
    rng = random.Random(seed)  # noqa: S311
    held = Transactions.of([[item for item in items if rng.random() < 0.55] for _ in range(rows)], items)
    least, confidence = rng.randint(2, max(2, rows // 5)), Fraction(rng.randint(3, 8), 10)
    found: dict[tuple[frozenset[str], frozenset[str]], Secret] = {}
    for _ in range(rng.randint(1, secrets)):
        whole = rng.sample(items, rng.randint(2, 3))
        left = frozenset(whole[:1]) if rules and rng.random() < 0.5 else frozenset()
        limit = max(1, least - rng.randint(0, 1))
        secret = Secret(left, frozenset(whole) - left, limit, confidence if left else None)
        found[secret.antecedent, secret.consequent] = secret
    return Problem(held, tuple(found.values()), least, confidence)


def best_by_trying(problem: Problem) -> tuple[int, int]:
    """The fewest innocent itemsets lost, and with these the fewest items taken out, over all that can be taken out."""
    cells = [(row, item) for row, items in enumerate(problem.transactions.to_rows()) for item in items]
    every = chain.from_iterable(combinations(cells, count) for count in range(len(cells) + 1))
    tried = (problem.transactions.without(taken) for taken in every)
    return min(cost(problem, after) for after in tried if not problem.visible(after) and not problem.lost(after))
