"""Secondary suppression of minimum weight, proven (Fischetti & Salazar 1999, 2001), and repair of patterns."""

from __future__ import annotations

import time
from collections import ChainMap

import numpy as np

from discreet.errors import DiscreetError, EngineError, NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.attack.intruder.network import Network, Reach
from discreet.verbs.tabulate.method import Pattern, Protection
from discreet.verbs.tabulate.suppress.demands import Demand, Demands, OutOfTime, Witness
from discreet.verbs.tabulate.suppress.fast import fast
from discreet.verbs.tabulate.suppress.linear import Linear
from discreet.verbs.tabulate.suppress.master import Master, whole
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_Inequality = tuple[Numbers, Numbers]
_START_SHARE = 0.2
"""Share of the time for a first pattern."""
_START_SECONDS = 20.0
"""Time for a first pattern in any case, seconds: without it there may be none when the time is over."""
_STALL_ROUNDS = 20
"""Rounds in which the bound must close a thousandth of the gap."""


def optimal(
    cells: Cells,
    protection: Protection,
    weights: Numbers,
    candidates: Numbers,
    *,
    seconds: float,
    gap: float = 0.0,
    progress: Progress = silent,
) -> Pattern:
    """The pattern of least weight that protects, or the best found in the time with how far off it may be.

    Of all patterns that hide the sensitive cells and any ``candidates``, it is one whose weight is at most ``gap`` (a
    share of it) above the least. Patterns are compared by inequalities: each says that one of the patterns seen does
    not protect, and why (what an intruder computes: a linear program over the reals, whose dual is the inequality).
    The least weight under the inequalities found so far is below that of every pattern that protects; when the
    cheapest choice protects, it is the best. What is returned has been looked at by the intruder once more or, if
    there was no time for that, when it was found.
    """
    until = time.monotonic() + seconds
    weights = np.asarray(weights, np.float64)
    network = Network.of(cells.relations)
    if network is not None:
        demands = Demands(cells, protection, candidates, weights <= 0, attacker=network)
        return _pattern(_Search(demands, weights, gap, until, progress), protection, demands.always)
    start = _start(cells, protection, weights, candidates, seconds)
    limit = until if start is not None else np.inf
    begin = protection.sensitive if start is None else start
    search: _Search | None = None
    try:
        attacker = Linear(cells.relations)
        demands = Demands(cells, protection, candidates, weights <= 0, attacker=attacker, until=limit)
        search = _Search(demands, weights, gap, until, progress)
        return _pattern(search, protection, begin)
    except (OutOfTime, EngineError):
        if start is None:
            raise
        best, bound = (begin, 0.0) if search is None or np.isinf(search.weight) else (search.best, search.bound)
        weight = float(weights[best & ~protection.sensitive].sum())
        return Pattern(best, weight, min(weight, bound), "optimal")


def _pattern(search: _Search, protection: Protection, start: Numbers) -> Pattern:
    """What the search finds, looked at by the intruder once more."""
    demands = search.demands
    if demands.open:
        search.run(start)
    hidden = search.printed_free(protection.sensitive)
    for demand, _ in demands.unmet(hidden.astype(float), demands.every, {}):
        raise DiscreetError(f"The pattern found does not protect the cell {demands.cells.name(demand.cell)}.")
    weight = float(search.weights[hidden & ~protection.sensitive].sum())
    return Pattern(hidden, weight, min(weight, search.bound), "optimal")


def _start(
    cells: Cells, protection: Protection, weights: Numbers, candidates: Numbers, seconds: float
) -> Numbers | None:
    """A pattern that protects, to begin with where looking at one is slow: boxes, if there are such."""
    try:
        return fast(cells, protection, weights, candidates, seconds=max(_START_SHARE * seconds, _START_SECONDS)).hidden
    except NoPromise:
        return None


class _Search:
    """What is known so far: the best pattern, its weight, and a bound that no pattern is below."""

    def __init__(self, demands: Demands, weights: Numbers, gap: float, until: float, progress: Progress) -> None:
        self.demands = demands
        self.weights = weights
        self.gap = gap
        self.until = until
        self.progress = progress
        self.master = Master(weights, demands.may, np.minimum(demands.rise, demands.fall))
        self.best = demands.always
        self.weight = 0.0
        self.bound = 0.0
        self.witnesses: dict[Demand, Witness] = {}

    def run(self, start: Numbers) -> None:
        """Shares first, then whole cells, until the cheapest choice protects; the first is made of ``start``."""
        self.weight = np.inf
        cuts = self.offer(self.demands.always | start, self.weights)
        self.master.admit(np.flatnonzero(self.best & self.demands.may))
        self.master.require(cuts, lasting=True)
        self.root()
        while not self.over():
            share, bound = whole(self.master, self.best, self.weight, self.gap, self.until)
            self.raise_bound(bound)
            if share is None:
                break
            hidden = self.demands.always | (share > 0.5)
            protects = not self.learn(hidden)
            self.master.require(self.offer(hidden, self.weights), lasting=True)
            if protects:
                break
            self.root()

    def learn(self, hidden: Numbers) -> bool:
        """Add inequalities that say why a pattern does not protect; false if it does."""
        unmet = list(self.demands.unmet(hidden.astype(float), self.demands.open, self.witnesses))
        hardest = sorted(unmet, key=lambda one: -one[0].level)[: self.demands.patience]
        for demand, _ in hardest:
            if time.monotonic() > self.until:
                break
            unmet.append((demand, self.demands.despite(demand, hidden, self.weights)))
        self.master.require(self.inequalities(unmet), lasting=True)
        return bool(unmet)

    def over(self) -> bool:
        """Whether the best pattern is good enough, or the time is over."""
        return self.weight - self.bound <= max(self.gap, 1e-9) * self.weight or time.monotonic() > self.until

    def raise_bound(self, bound: float) -> None:
        """No pattern has a smaller weight than this; whole weights have a whole sum."""
        if self.master.integral:
            bound = np.ceil(bound - 1e-6 * max(1.0, abs(bound) * 1e-3))
        self.bound = min(max(self.bound, bound), self.weight)
        done = self.bound / self.weight if self.weight > 0 else 1.0
        self.progress(done, f"suppressed weight {self.weight:g}, lower bound {self.bound:g}")

    def root(self) -> None:
        """Add inequalities until the best shares between 0 and 1 violate none, or the bound hardly moves."""
        bounds: list[float] = []
        while not self.over():
            share = self.master.solve()
            share[self.demands.always] = 1.0
            bound, costs = self.master.reduced()
            self.raise_bound(bound)
            bounds.append(bound)
            worth = self.demands.may & (costs < -1e-9 * self.weight) & (self.master.column < 0) & self.master.may
            cuts = self.separate(share)
            slow = len(bounds) > _STALL_ROUNDS and bounds[-1] - bounds[-_STALL_ROUNDS] < 1e-3 * (
                self.weight - bounds[-1]
            )
            last = slow or not (cuts or worth.any())
            self.master.admit(np.flatnonzero(worth))
            self.master.require(cuts)
            hidden = self.demands.always | (share > 0.5)
            if last:
                self.learn(hidden)
            if last or len(bounds) % self.demands.pause == 0:
                self.master.require(self.offer(hidden, self.weights * (1 - share)), lasting=True)
            if last:
                self.master.exclude(np.flatnonzero(self.master.may & (bound + costs > self.weight * (1 + 1e-9))))
                return
            self.master.forget()

    def separate(self, share: Numbers) -> list[_Inequality]:
        """Inequalities that these shares violate, for each demand that is not met."""
        unmet = []
        for one in self.demands.unmet(share, self.demands.open, self.witnesses):
            unmet.append(one)
            if time.monotonic() > self.until:
                break
        found = self.inequalities(unmet)
        return [(which, by) for which, by in found if by @ share[which] < 1 - 1e-4]

    def inequalities(self, unmet: list[tuple[Demand, Reach]]) -> list[_Inequality]:
        """Each inequality once."""
        found: dict[bytes, _Inequality] = {}
        for demand, reach in unmet:
            for cut in reach.cuts:
                which, by = self.demands.inequality(demand, cut)
                if len(which):
                    found[which.tobytes() + by.tobytes()] = which, by
        return list(found.values())

    def offer(self, hidden: Numbers, prices: Numbers) -> list[_Inequality]:
        """Make a pattern that protects of this one and keep it if it is the best; why it needs each of its cells."""
        witnesses: dict[Demand, Witness] = {}
        hidden = completed(self.demands, hidden, prices, witnesses)
        extra = np.flatnonzero(hidden & self.demands.may)
        order = extra[np.argsort(-self.weights[extra], kind="stable")]
        hidden, needed = cleaned(self.demands, hidden, order, witnesses, self.until)
        weight = float(self.weights[hidden & self.demands.may].sum())
        if weight >= self.weight:
            return []
        self.best, self.weight = hidden, weight
        self.raise_bound(self.bound)
        return self.inequalities(needed)

    def printed_free(self, sensitive: Numbers) -> Numbers:
        """The best pattern without the cells that cost nothing and help nothing."""
        witnesses: dict[Demand, Witness] = {}
        for _ in self.demands.unmet(self.best.astype(float), self.demands.every, witnesses):
            return self.best
        free = np.flatnonzero(self.best & ~sensitive & ~self.demands.may)
        return cleaned(self.demands, self.best, free, witnesses)[0]


def completed(demands: Demands, hidden: Numbers, prices: Numbers, witnesses: dict[Demand, Witness]) -> Numbers:
    """The pattern with cells hidden besides until every demand is met, each time those that cost little.

    ``prices`` is what each cell costs; what is hidden already costs nothing. Refuses if a demand cannot be met.
    """
    hidden = hidden.copy()
    usable = hidden | demands.may
    rise, fall = np.where(usable, demands.rise, 0.0), np.where(usable, demands.fall, 0.0)
    lacking = sorted((demand for demand, _ in demands.unmet(hidden.astype(float), demands.open, witnesses)), key=_order)
    while lacking:
        for demand in lacking:
            if demands.met(demand, hidden):
                continue
            shut = np.array(demand.shut, np.int64)
            price = np.where(hidden, 0.0, prices)
            found = demands.attacker.cheapest(demand.cell, demand.side, demand.level, rise, fall, price, shut)
            if found is None:
                raise demands.refusal(demand)
            hidden[found] = True
        lacking = [demand for demand, _ in demands.unmet(hidden.astype(float), demands.open, witnesses)]
    return hidden


def cleaned(
    demands: Demands, hidden: Numbers, printable: Numbers, witnesses: dict[Demand, Witness], until: float = np.inf
) -> tuple[Numbers, list[tuple[Demand, Reach]]]:
    """The pattern with every cell printed that need not be hidden, and what is lacking without each of the others.

    ``printable`` are the cells to try, in order, until that (monotonic) time. Only demands whose witness needs the
    cell are looked at again. The witnesses must be those of the pattern, and become those of the new one.
    """
    needed = []
    share = hidden.astype(float)
    users: dict[int, set[Demand]] = {}
    for demand, witness in witnesses.items():
        for cell in witness.cells.tolist():
            users.setdefault(cell, set()).add(demand)
    for cell in printable[hidden[printable]].tolist():
        if time.monotonic() > until:
            break
        share[cell] = 0.0
        fresh: dict[Demand, Witness] = {}
        touched = sorted(users.get(cell, ()), key=_order)
        if lacking := next(demands.unmet(share, touched, ChainMap(fresh, witnesses)), None):
            share[cell] = 1.0
            needed.append(lacking)
            continue
        for demand, witness in fresh.items():
            for one in witnesses[demand].cells.tolist() if demand in witnesses else ():
                users[one].discard(demand)
            for one in witness.cells.tolist():
                users.setdefault(one, set()).add(demand)
        witnesses.update(fresh)
    return share > 0, needed


def _order(demand: Demand) -> tuple[float, int, int, tuple[int, ...]]:
    """The hardest first; the same in every run."""
    return -demand.level, demand.cell, demand.side, demand.shut
