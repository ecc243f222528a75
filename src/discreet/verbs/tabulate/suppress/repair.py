"""From a pattern that may not protect to one that does, with nothing hidden that need not be."""

from __future__ import annotations

import time
from collections import ChainMap
from typing import Any

import numpy as np

from discreet.verbs.tabulate.suppress.demands import Demand, Demands, Witness
from discreet.verbs.tabulate.suppress.interval import Reach

_Numbers = np.ndarray[Any, Any]


def completed(demands: Demands, hidden: _Numbers, prices: _Numbers, witnesses: dict[Demand, Witness]) -> _Numbers:
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
    demands: Demands, hidden: _Numbers, printable: _Numbers, witnesses: dict[Demand, Witness], until: float = np.inf
) -> tuple[_Numbers, list[tuple[Demand, Reach]]]:
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
