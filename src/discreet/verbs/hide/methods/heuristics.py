"""Heuristic hiding of itemsets, which exact hiding starts from: Atallah, MaxFIA, MinFIA, IGA, SWA, BBA and MaxMin.

Why nothing appears that was not there: items only leave, so that no support rises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import HIDING
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import TransactionEditor, shortest, until_hidden
from discreet.verbs.hide.mining.frequent import Itemset
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array


@declare(HIDING, "atallah", paper="Atallah and others 1999")
class Atallah:
    """The item that most have, out of the transaction where it touches fewest pairs.

    "Disclosure limitation of sensitive rules": a greedy walk through the lattice of itemsets. From the secret itemset
    go to that of its parts, with one item less, which most transactions have, and on until one item is left: of many,
    one fewer is missed least. This item leaves the transaction, of those that have the secret, where it is in fewest
    pairs that are frequent (and of these in fewest pairs at all). Again until the secret is hidden.
    """

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take one item out of one transaction at a time."""
        working = TransactionEditor(problem)
        friends: dict[str, list[str]] = {}
        for itemset, _ in problem.frequent:
            if len(itemset) == 2:
                for item in itemset:
                    friends.setdefault(item, []).extend(itemset - {item})

        def hide_one(secret: Secret) -> None:
            while working.excess(secret):
                item, path = _descended(working, secret)
                rows = working.after.rows_of(secret.whole)
                pairs = working.has(friends.get(item, []), rows).sum(axis=0)
                best = int(np.lexsort((rows, working.lengths[rows], pairs))[0])
                why = f"{path}; of {len(rows):,} transactions, this one costs fewest frequent pairs ({pairs[best]})"
                working.change(int(rows[best]), item, secret, why)

        return until_hidden(working, hide_one, progress)


def _descended(working: TransactionEditor, secret: Secret) -> tuple[str, str]:
    """The item at the end of the walk, and the walk in words. A rule's item is one of its consequent."""
    here, told = secret.whole, []
    while len(here) > 1:
        parts = [here - {item} for item in sorted(here, reverse=True) if (here - {item}) & secret.consequent]
        supports = [working.after.support(part) for part in parts]
        here = parts[int(np.argmax(supports))]
        told.append(f"{{{written(here)}}} has the largest support, {max(supports):,}")
    (item,) = here
    return item, ", then ".join(told) or "it is the only item"


@declare(HIDING, "maxfia", paper="Oliveira and Zaïane 2002")
class MaxFIA:
    """The victim is the item that most transactions have.

    "Privacy preserving frequent itemset mining": each secret gets a *victim*, one of its items, which leaves as many of
    its transactions as needed. Transactions with few secrets come first, since the others may be cleaned by other
    secrets' victims.
    """

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take each secret's victim out of as many transactions as needed."""
        return _sanitised(problem, progress, _extreme(problem, -1), "in the most transactions", most_secrets=False)


@declare(HIDING, "minfia", paper="Oliveira and Zaïane 2002")
class MinFIA:
    """The victim is the item that fewest transactions have."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take each secret's victim out of as many transactions as needed."""
        return _sanitised(problem, progress, _extreme(problem, 1), "in the fewest transactions", most_secrets=False)


@declare(HIDING, "iga", paper="Oliveira and Zaïane 2002")
class IGA:
    """The victim is an item that several secrets share, and the rarest if there is no such item.

    Item grouping: such an item is the victim of all of them, and transactions with most secrets come first, so that one
    item removed hides several.
    """

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take each group's victim out of as many transactions as needed."""
        return _sanitised(problem, progress, _grouped(problem), "in the most secrets", most_secrets=True)


def _supports(problem: HidingProblem) -> Mapping[str, int]:
    return dict(zip(problem.transactions.items, problem.transactions.supports.tolist(), strict=True))


def _extreme(problem: HidingProblem, sign: int) -> Mapping[Secret, str]:
    """A victim for each secret: its most (-1) or least (1) frequent item."""
    support = _supports(problem)
    return {one: min(one.consequent, key=lambda item: (sign * support[item], item)) for one in problem.secrets}


def _grouped(problem: HidingProblem) -> Mapping[Secret, str]:
    """A victim for each secret: the item that most secrets without one share; of several the rarest."""
    support = _supports(problem)
    victims: dict[Secret, str] = {}
    left = list(problem.secrets)
    while left:
        items = {item for one in left for item in one.consequent}
        victim = min(items, key=lambda item: (-sum(item in one.consequent for one in left), support[item], item))
        victims |= {one: victim for one in left if victim in one.consequent}
        left = [one for one in left if victim not in one.consequent]
    return victims


def _sanitised(
    problem: HidingProblem, progress: Progress, victims: Mapping[Secret, str], why: str, *, most_secrets: bool
) -> HidingResult:
    working = TransactionEditor(problem)

    def hide_one(secret: Secret) -> None:
        rows = working.after.rows_of(secret.whole)
        conflicts = working.after.holds([one.whole for one in problem.secrets], rows).sum(axis=0)
        order = np.lexsort((rows, working.lengths[rows], -conflicts if most_secrets else conflicts))
        for place in order[: working.excess(secret)].tolist():
            told = f"{why}, and the transaction has {conflicts[place]} of the secrets"
            working.change(int(rows[place]), victims[secret], secret, told)

    return until_hidden(working, hide_one, progress)


@declare(HIDING, "swa", paper="Oliveira and Zaïane 2003")
class SWA:
    """One pass over windows of transactions, with a quota for each secret.

    "Protecting sensitive knowledge by data sanitization": transactions are gone through once, a window of them at a
    time, so that they need not all be at hand. In each window every secret has its own quota: of its transactions seen
    so far the same share stays as may stay of all. From the others, the shortest first, leaves that item of the secret
    which is in most of the window's sensitive transactions: one that other secrets are likely to have too.

    Why the quotas suffice: of n transactions seen of a secret that all S have, at most ⌊n·L/S⌋ stay, and at the end,
    with n = S, that is the limit L.
    """

    name: ClassVar[str]
    window: int = parameter("Window size, transactions.", default=10_000, least=1)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Go through the transactions; once more only for a rule whose antecedent got rarer meanwhile."""
        working = TransactionEditor(problem)
        while visible := [one for one in problem.secrets if working.excess(one)]:
            self._passed(working, visible, progress)
        return working.outcome()

    def _passed(self, working: TransactionEditor, secrets: list[Secret], progress: Progress) -> None:
        having = {one: working.after.rows_of(one.whole) for one in secrets}
        total = {one: len(having[one]) for one in secrets}
        limit = {one: total[one] - working.excess(one) for one in secrets}
        seen, kept = dict.fromkeys(secrets, 0), dict.fromkeys(secrets, 0)
        items = sorted({item for one in secrets for item in one.whole})
        for start in range(0, working.before.rows, self.window):
            progress(start / working.before.rows, f"transaction {start:,}")
            here = {
                one: rows[slice(*np.searchsorted(rows, (start, start + self.window)))] for one, rows in having.items()
            }
            sensitive = np.unique(np.concatenate(list(here.values())))
            if not len(sensitive):
                continue
            often = dict(zip(items, working.has(items, sensitive).sum(axis=1).tolist(), strict=True))
            for secret, rows in here.items():
                seen[secret] += len(rows)
                quota = seen[secret] * limit[secret] // total[secret] - kept[secret]
                still = rows[working.has(sorted(secret.whole), rows).all(axis=0)]
                victim = max(sorted(secret.consequent), key=lambda item: often[item])
                why = f"{often[victim]:,} sensitive transactions of the window have it, and this one is short"
                surplus = max(0, len(still) - quota)
                for row in shortest(working, still)[:surplus].tolist():
                    working.change(row, victim, secret, why)
                kept[secret] += len(still) - surplus


class WatchedBorder:
    """The border itemsets that hiding one secret can touch: their supports, and which transactions have them."""

    def __init__(self, working: TransactionEditor, border: tuple[Itemset, ...], secret: Secret) -> None:
        self.working, self.secret = working, secret
        self.least = working.problem.least
        self.itemsets = [one for one in border if one & secret.consequent]
        self.rows = working.after.rows_of(secret.whole)
        self.live = np.ones(len(self.rows), bool)
        """Which of the transactions still have the secret."""
        self.held = working.after.holds(self.itemsets, self.rows)
        self.before = np.array([working.before.support(one) for one in self.itemsets], np.int64)
        self.now = np.array([working.after.support(one) for one in self.itemsets], np.int64)
        self.has = {item: np.array([item in one for one in self.itemsets], bool) for item in secret.consequent}

    def take(self, place: int, item: str, why: str) -> None:
        """Take an item out of a transaction, given by its place in ``rows``."""
        self.working.change(int(self.rows[place]), item, self.secret, why)
        lost = self.has[item] & self.held[:, place]
        self.now[lost] -= 1
        self.held[lost, place] = False
        self.live[place] = False

    def first(self, *harm: Array) -> int:
        """The transaction with the secret of least harm, the first measure counting most; then the shortest."""
        live = np.flatnonzero(self.live)
        rows = self.rows[live]
        order = np.lexsort((rows, self.working.lengths[rows], *(one[live] for one in reversed(harm))))
        return int(live[order[0]])


class _Border:
    """Change the cell that does least harm to the border of non-sensitive itemsets.

    All non-sensitive itemsets stay frequent if the largest of them do, the *border*: each other one is part of one
    of these and has at least its support. Harm to the border is counted differently by each method. Longer secrets
    come first, and of the same length the rarer: what they take may be enough for others.
    """

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Change one cell at a time, the one that does least harm to the border as it is then."""
        working = TransactionEditor(problem)
        supports = {one: problem.transactions.support(one.whole) for one in problem.secrets}
        order = sorted(problem.secrets, key=lambda one: (-len(one.whole), supports[one], str(one)))

        def hide_one(secret: Secret) -> None:
            watched = WatchedBorder(working, problem.border, secret)
            while working.excess(secret):
                self._step(watched)

        return until_hidden(working, hide_one, progress, order)

    @abstractmethod
    def _step(self, watched: WatchedBorder) -> None:
        """Take one item out of one transaction."""


@declare(HIDING, "bba", paper="Sun and Yu 2005")
class BBA(_Border):
    """The cell with the least sum of weights of border itemsets.

    "A border-based approach for hiding sensitive frequent itemsets": a weight grows as the support of its itemset gets
    near the threshold, and jumps when it is lost.
    """

    name: ClassVar[str]

    def _step(self, watched: WatchedBorder) -> None:
        gone = watched.before - watched.now
        room = np.maximum(watched.before - watched.least, 1)
        near = (gone + 1) / room
        weight = np.where(watched.now > watched.least, near, len(watched.itemsets) + gone)
        weight[watched.now < watched.least] = 0.0  # lost already, and no harm can be done any more
        best = None
        for item in sorted(watched.secret.consequent):
            harm = (weight * watched.has[item]) @ watched.held
            place = watched.first(harm)
            if best is None or harm[place] < best[0]:
                best = (float(harm[place]), place, item)
        assert best is not None  # noqa: S101  # a secret has items
        watched.take(best[1], best[2], f"its removal costs the border the least weight, {best[0]:.3g}")


@declare(HIDING, "maxmin", paper="Moustakides and Verykios 2008")
class MaxMin(_Border):
    """The item whose most endangered border itemset is the most frequent.

    "A maxmin approach for hiding frequent itemsets": it leaves a transaction that does not have this itemset, or else
    the one that has fewest of the endangered.
    """

    name: ClassVar[str]

    def _step(self, watched: WatchedBorder) -> None:
        alive = watched.now >= watched.least
        best: tuple[float, str, Array] | None = None
        for item in sorted(watched.secret.consequent):
            mine = watched.has[item] & alive
            low = float(watched.now[mine].min()) if mine.any() else np.inf
            if best is None or low > best[0]:
                best = (low, item, mine)
        assert best is not None  # noqa: S101  # a secret has items
        low, item, mine = best
        endangered = (mine & (watched.now == low)) @ watched.held.astype(np.int64)
        touched = mine @ watched.held.astype(np.int64)
        said = f"its rarest border itemset is in {low:,.0f} transactions" if np.isfinite(low) else "no border has it"
        watched.take(watched.first(endangered, touched), item, f"{said}, more than those of other items")
