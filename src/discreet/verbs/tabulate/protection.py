"""Protection levels: which cells are sensitive by some rule, how far each must seem to reach, and who are insiders."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, pairwise
from typing import Literal

import numpy as np

from discreet.core.exact import Number, exact
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.attack.intruder.sparse import components, sparse
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.rules import Request, Rule, RuleInput, Zero, has
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Numbers


def protect(
    cells: Cells,
    rules: Sequence[Rule],
    *,
    share: Number = "1/10",
    negative: Literal["refuse", "absolute"] = "refuse",
) -> Protection:
    """The cells, totals included, that are sensitive by any of the ``rules``, and their protection levels.

    A cell must seem to reach as far as the most demanding of its rules asks, and at least a unit; ``share`` of its
    value where a rule does not say how far. No one can be made to believe that a figure is negative if everyone
    knows that none is, so below a cell no more is asked for than everyone holds possible. Rules on the largest
    contributions are for such that are not negative; with ``negative="absolute"`` absolute values are taken for
    them. With sampling weights one or two respondents stand for many, and could tell their figures all the same:
    the cell is then taken as one contribution.

    Anyone who is alone in a cell knows its figure even if it is hidden: ``insiders`` has every cell someone is alone
    in, sensitive or not, since any may be hidden in the end. Without a unit on the card no one can tell whether two
    cells of linked tables have the same respondent, unless the tables share a cell that they are alone in. Totals
    over such a cell need not be kept from anyone who is alone in it (``within``): rules on contributions are
    subadditive, so what others have there together gives no one away unless one of the other parts does, which is
    sensitive itself. This does not hold for cells that are sensitive by request or because they are empty.
    """
    part = exact(share, "share")
    if not 0 < part <= 1:
        raise BadInput(f"share must be above 0 and at most 1, got {share}.")
    if negative not in ("refuse", "absolute"):
        raise BadInput(f'negative must be "refuse" or "absolute", got {negative!r}.')
    _require_there(cells, rules)
    below, above = np.zeros(len(cells)), np.zeros(len(cells))
    why = np.zeros((len(rules), len(cells)), bool)
    for table, places in zip(cells.tables, cells.places, strict=True):
        seen = _seen(table, part, negative)
        for number, rule in enumerate(rules):
            found = rule.find(seen)
            at = places[found.cells]
            why[number, at] = True
            below[at] = np.maximum(below[at], found.below.astype(np.float64))
            above[at] = np.maximum(above[at], found.above.astype(np.float64))
    sensitive = np.asarray(why.any(axis=0))
    below = np.minimum(below, cells.values - cells.lower)
    insiders = _insiders(cells)
    reasons = _reasons(rules, why, sensitive)
    asked = [number for number, rule in enumerate(rules) if isinstance(rule, Request | Zero)]
    told = sensitive & ~why[asked].any(axis=0)
    return Protection(sensitive, below, above, reasons, insiders, _within(cells, insiders, told))


def _seen(table: CrossTable, share: Fraction, negative: str) -> RuleInput:
    known = table.contributions
    values = table.values.ravel()
    if known is None:
        return RuleInput(table, values, None, None, None, values, "", share)
    largest = None if known.largest is None else known.largest.reshape(table.size, -1).T
    refused = ""
    if known.absolute is None and (values.min(initial=0) < 0 or (largest is not None and largest.min(initial=0) < 0)):
        refused = f"some of {table.what} are negative, and the sums of absolute ones (a column, absolute) are not known"
    elif known.absolute is not None and negative != "absolute":
        refused = f"some of {table.what} are negative"
    totals = values if known.absolute is None else known.absolute.ravel()
    counts = known.counts.ravel()
    told = None if known.known is None else known.known.ravel()
    return RuleInput(table, values, counts, _of_few(largest, counts, totals, told), told, totals, refused, share)


def _of_few(largest: Numbers | None, counts: Numbers, totals: Numbers, known: Numbers | None) -> Numbers | None:
    """The largest contributions, where one or two respondents are there that stand for others the whole as one."""
    if largest is None:
        return None
    ranks = len(largest) if known is None else known
    few = (counts > 0) & (counts <= np.minimum(ranks, 2)) & (largest[:2].sum(axis=0) < totals)
    if not few.any():
        return largest
    whole = np.zeros_like(largest)
    whole[0] = totals
    return np.where(few, whole, largest)


def _reasons(rules: Sequence[Rule], why: Numbers, sensitive: Numbers) -> dict[int, tuple[str, ...]]:
    """For each sensitive cell the reasons; cells with the same ones share them."""
    cells = np.flatnonzero(sensitive)
    kinds, which = np.unique(why[:, cells], axis=1, return_inverse=True)
    said = [tuple(rule.reason for rule, applies in zip(rules, kind, strict=True) if applies) for kind in kinds.T]
    return {cell: said[kind] for cell, kind in zip(cells.tolist(), which.ravel().tolist(), strict=True)}


def _insiders(cells: Cells) -> tuple[tuple[int, ...], ...]:
    """For each respondent who is alone somewhere: where. Numbers that stand for the same cell are one respondent."""
    where, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for table, places in zip(cells.tables, cells.places, strict=True):
        if table.contributions is not None and table.contributions.sole is not None:
            sole = table.contributions.sole.ravel()
            where.append(places[sole >= 0])
            numbers.append(sole[sole >= 0])
    at, (known, number) = np.concatenate(where), np.unique(np.concatenate(numbers), return_inverse=True)
    group = components(at, len(cells) + number, len(cells) + len(known))
    alone = np.unique(at)
    alone = alone[np.argsort(group[alone], kind="stable")]
    starts = np.flatnonzero(np.diff(group[alone], prepend=-1)).tolist()
    listed = alone.tolist()
    return tuple(tuple(listed[start:end]) for start, end in pairwise([*starts, len(listed)]))


def _within(cells: Cells, insiders: Sequence[Sequence[int]], sensitive: Numbers) -> tuple[tuple[int, ...], ...]:
    """For each insider the sensitive totals over the cells they are alone in, at every level, these cells left out."""
    lib = sparse()
    relations = cells.relations
    to_total = (relations < 0).T.astype(np.int32) @ (relations > 0).astype(np.int32)
    starts = np.cumsum([0, *map(len, insiders)])
    flat = np.fromiter(chain.from_iterable(insiders), np.int64, starts[-1])
    known = lib.csr_array((np.ones(len(flat), np.int32), flat, starts), shape=(len(insiders), len(cells)))
    over, reached = known, known
    while over.nnz:
        over = over @ to_total
        over.data[:] = 1
        reached = reached + over
    reached.sort_indices()
    found = []
    for number, own in enumerate(insiders):
        totals = reached.indices[reached.indptr[number] : reached.indptr[number + 1]]
        found.append(tuple(cell for cell in totals[sensitive[totals]].tolist() if cell not in own))
    return tuple(found)


def _require_there(cells: Cells, rules: Sequence[Rule]) -> None:
    """Every cell that is asked for by its codes must be in a table."""
    for rule in rules:
        for codes in rule.cells if isinstance(rule, Request) else ():
            if not any(has(table, codes) for table in cells.tables):
                known = [code for table in cells.tables for side in table.dimensions for code in side.codes]
                near = "".join(meant(code, known) for code in codes if code not in known)
                sides = ", ".join(side.name for side in cells.tables[0].dimensions)
                raise BadInput(
                    f"There is no cell {', '.join(codes)}{near}.", hint=f"A cell needs a code for each of {sides}."
                )
