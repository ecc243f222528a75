"""Protection requirements of a suppression pattern: for each sensitive cell and each insider, an interval."""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import NoPromise
from discreet.verbs.attack.intruder.network import Cut, Network, Reach, nothing
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.suppress.completion import unprotectable
from discreet.verbs.tabulate.suppress.linear import Linear
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_SHORT = 1e-7  # of the level; less is rounding
_TIMES = 8  # dear cells passed over when an inequality is made stronger


@dataclass(frozen=True)
class Demand:
    """That a cell can rise (side 1) or fall (side -1) by a level although some know the cells ``shut``."""

    cell: int
    side: int
    level: float
    shut: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Witness:
    """Changes that show that a demand is met wherever these cells are open by these shares."""

    cells: Numbers
    shares: Numbers


class OutOfTime(Exception):
    """The time for a search is over."""


class Demands:
    """The demands that hiding what is ``always`` hidden does not meet, and how an intruder looks at them.

    That is the sensitive cells and those that may be hidden and are ``free``: cost nothing.

    Hiding more never lets an intruder know more, so what is met by a pattern is met by every larger one. Insiders
    are looked at where they matter: the changes that show that a cell is safe from everyone else show that it is safe
    from each insider none of whose cells they need. From the (monotonic) time ``until`` on looking is over: it raises
    ``OutOfTime``.
    """

    def __init__(
        self,
        cells: Cells,
        protection: Protection,
        candidates: Numbers,
        free: Numbers,
        *,
        attacker: Network | Linear,
        until: float = np.inf,
    ) -> None:
        self.cells = cells
        values = cells.values.astype(np.float64)
        self.rise, self.fall = cells.upper - values, values - cells.lower
        may = candidates & ~protection.sensitive & ((self.rise > 0) | (self.fall > 0))
        self.always = protection.sensitive | (may & free)
        self.may = may & ~free
        self.attacker = attacker
        self.until = until
        self.quick = isinstance(attacker, Network)
        self.patience, self.pause = (400_000 // len(cells), 5) if self.quick else (40_000 // len(cells), 50)
        self.protection = protection
        self.every = _every(protection)
        for demand in self.every:
            if (self.rise if demand.side > 0 else self.fall)[demand.cell] < demand.level * (1 - _SHORT):
                raise self.refusal(demand)
        self.open = list(dict.fromkeys(demand for demand, _ in self.unmet(self.always.astype(float), self.every, {})))

    def unmet(
        self, share: Numbers, demands: Sequence[Demand], witnesses: MutableMapping[Demand, Witness]
    ) -> Iterator[tuple[Demand, Reach]]:
        """The demands not met if each cell is open by this share (1 hidden, 0 printed), each with what is lacking.

        A demand that is not met is given without those of insiders, which are not met either. Witnesses are used and
        replaced.
        """
        opened = self.attacker.opened(self.rise, self.fall, share)
        waiting = list(demands[::-1])
        seen = set()
        while waiting:
            if time.monotonic() > self.until:
                raise OutOfTime
            demand = waiting.pop()
            if demand in seen:
                continue
            seen.add(demand)
            witness = witnesses.get(demand)
            if witness is None or (share[witness.cells] < witness.shares).any():
                shut = np.array(demand.shut, np.int64) if demand.shut else None
                found = opened.reach(demand.cell, demand.side, demand.level, shut)
                if found.amount < demand.level * (1 - _SHORT):
                    yield demand, found
                    continue
                witness = witnesses[demand] = self._witness(demand, found)
            if not demand.shut:
                waiting += self._insiders(demand, witness)

    def _insiders(self, demand: Demand, witness: Witness) -> list[Demand]:
        """The same demand for the insiders whose cells the witness needs."""
        owners = self.protection.owners
        if not owners:
            return []
        some = dict.fromkeys(number for cell in witness.cells.tolist() for number in owners.get(cell, ()))
        spared = self.protection.spared.get(demand.cell, frozenset())
        known = [self.protection.insiders[number] for number in some if number not in spared]
        return [Demand(demand.cell, demand.side, demand.level, one) for one in known]

    def _witness(self, demand: Demand, found: Reach) -> Witness:
        room = np.where(found.by > 0, self.rise[found.moved], self.fall[found.moved])
        shares = np.abs(found.by) / np.minimum(room, demand.level)
        return Witness(found.moved, np.clip(shares - 1e-9, 1e-12, 1 - 1e-9))

    def refusal(self, demand: Demand) -> NoPromise:
        """What is said if nothing that may be hidden meets a demand."""
        whom = "the single respondent of another cell" if demand.shut else "an intruder"
        return unprotectable(self.cells, demand.cell, whom)

    def met(self, demand: Demand, hidden: Numbers) -> bool:
        """Whether a pattern meets a demand, insiders apart."""
        return self._alone(demand, hidden).amount >= demand.level * (1 - _SHORT)

    def despite(self, demand: Demand, hidden: Numbers, weights: Numbers) -> Reach:
        """What is lacking still if, besides what is hidden, cheap cells are hidden too, as many as do not help.

        The inequality this gives names dear cells only, one of which is needed.
        """
        hidden = hidden.copy()
        others = np.flatnonzero(self.may & ~hidden)
        others = others[np.argsort(weights[others], kind="stable")]
        found = self._alone(demand, hidden)
        for _ in range(_TIMES):
            least, most = 0, len(others)
            while least < most:
                middle = (least + most + 1) // 2
                wider = hidden.copy()
                wider[others[:middle]] = True
                tried = self._alone(demand, wider)
                if tried.amount < demand.level * (1 - _SHORT):
                    least, found = middle, tried
                else:
                    most = middle - 1
            hidden[others[:least]] = True
            others = others[least + 1 :]
            if not len(others):
                break
        return found

    def _alone(self, demand: Demand, hidden: Numbers) -> Reach:
        opened = self.attacker.opened(self.rise, self.fall, hidden.astype(float))
        shut = np.array(demand.shut, np.int64) if demand.shut else None
        return opened.reach(demand.cell, demand.side, demand.level, shut)

    def inequality(self, demand: Demand, cut: Cut) -> tuple[Numbers, Numbers]:
        """The capacity inequality that an unmet demand gives: cells and coefficients whose sum over what is hidden
        is 1 or more (Fischetti & Salazar 1999).

        What is always hidden takes is off the level, and no coefficient needs to be more than what is left: one
        cell with so much is enough.
        """
        room = cut.rises * _finite(self.rise[cut.cells], cut.rises)
        room += cut.falls * _finite(self.fall[cut.cells], cut.falls)
        always = self.always[cut.cells]
        left = demand.level - np.minimum(room[always], demand.level).sum()
        free = self.may[cut.cells] & (room > 0)
        if left <= demand.level * _SHORT:
            return nothing(), nothing()
        return cut.cells[free].astype(np.int32), np.minimum(room[free] / left, 1.0)


def _every(protection: Protection) -> list[Demand]:
    """One demand for each sensitive cell and side, insiders apart."""
    sides = ((1, protection.above), (-1, protection.below))
    return [
        Demand(int(cell), side, float(levels[cell]))
        for side, levels in sides
        for cell in np.flatnonzero(protection.sensitive & (levels > 0))
    ]


def _finite(room: Numbers, times: Numbers) -> Numbers:
    return np.where(times > 0, np.minimum(room, 1e300), 0.0)
