"""Full-domain generalisation: every value of a column at one level of its hierarchy, at the least loss there is.

The best node of the lattice of levels is found by branch and bound over boxes. A box is all nodes between a finer one
(``low``) and a coarser one (``high``). Rows whose class breaks an absorbing model at ``high`` break it at every node of
the box, since their class is nowhere larger; so they are set aside once, and the box is bounded by what they lose
together with what all others lose at ``low``. Boxes are taken up in the order of their bounds. Its ends are tried;
levels that alone would cost too much are cut off the coarser end, or else the box is cut in two where its ends differ
most. When the least bound is no less than the best node found, that node is the optimum. Classes of a coarser node are
put together from those of a finer one, not from the tuples again. Nothing is ever computed for the lattice as a whole,
so it may be as large as it likes.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import QUALITIES, RECODERS
from discreet.core.table import Table
from discreet.errors import BadInput, NoPromise
from discreet.models.model import Model, parts_of, population_of, require_sound
from discreet.models.row_sets import has_several_rows, row_sets
from discreet.releases.method import Progress
from discreet.utility.quality import ByColumn, Granularity, Quality
from discreet.verbs.publish.lattice import Lattice, Node, NodeClasses, Score, Suppressed, score_of
from discreet.verbs.publish.people_lattice import PeopleLattice
from discreet.verbs.publish.recoding import Recoding, allowed_suppressions, require_levels, require_quasi
from discreet.verbs.publish.tuples import PruningRules, Tuples, coded_tuples, refusal, require_beside, tuples_of

Levels: TypeAlias = int | range | tuple[int, int]
"""One level, or the finest and the coarsest: ``range(1, 4)`` and ``(1, 3)`` are the same three."""


@declare(RECODERS, "generalize", rank=0, paper="Samarati 2001")
class Generalize(Checked):
    """Generalise whole columns and suppress whole rows, so that all models hold with the least information loss.

    Of all combinations of levels the best is found, and that is proved, for any models: not only for those that a
    coarser level can never break. Classes that break a model are suppressed, at most a share ``suppress`` of the rows;
    for models that compare a class with the whole table, which changes by that, until none breaks one any more. (To
    suppress only some of those that break such a model may need fewer rows, and is not tried.)
    ``levels`` limits the levels of some columns. With a ``time_limit`` in seconds the best found until then is taken;
    what could still be gained at most is stated. That is also done in lattices of more than ten million combinations,
    if the search is long. A recoding that would suppress all rows is none.

    Where people have several rows, classes are those of people who share all their rows, whole people are suppressed,
    and ``suppress`` is a share of the people (``people_lattice.py``).
    """

    own_labels: ClassVar[bool] = False
    suppress: Number = parameter("Maximum share of rows suppressed, such as 5%.", default=0, least=0, most=1)
    quality: Quality = parameter("Information loss to minimise.", default_factory=Granularity, family=QUALITIES)
    levels: Mapping[str, Levels] = parameter("Levels a column may have, such as age:1..3.", default_factory=dict)
    time_limit: float | None = parameter(
        "Time limit of the search, seconds; the best result so far is used.", default=None, least=0
    )

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The levels at which all models hold and least is lost; an error if there are none."""
        require_beside(parts_of(require), table.quasi())
        sensitive = sorted({*self.quality.sensitive, *(name for model in require for name in model.sensitive)})
        if not has_several_rows(table):
            return self.search(tuples_of(table, sensitive, population_of(require)), require, progress)
        if not isinstance(self.quality, ByColumn):
            raise BadInput(
                f"{self.quality} measures classes of rows, but here people have several rows.",
                hint="Choose a measure that adds up columns, such as granularity.",
            )
        sets = row_sets(table, sensitive)
        require_sound(sets.classes, require)
        rows = np.bincount(sets.tuples, sets.people[sets.owners], sets.labels.num_rows).astype(np.int64)
        tuples = coded_tuples(table, sets.labels, rows)
        return self._best(PeopleLattice(tuples, self._limits(tuples), sets), require, progress)

    def search(self, tuples: Tuples, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The best levels for the tuples of a table; no rows are needed."""
        return self._best(Lattice(tuples, self._limits(tuples)), require, progress)

    def _best(self, lattice: Lattice, require: Sequence[Model], progress: Progress | None) -> Recoding:
        members, _ = lattice.members
        limit = min(allowed_suppressions(self.suppress, members), max(members - 1, 0))
        several = isinstance(lattice, PeopleLattice)
        rules = PruningRules(require, limit, self.quality.sensitive, several=several)
        score = score_of(lattice, self.quality, rules.smallest)
        search = Search(lattice, rules, score, limit)
        found = search.run(self.time_limit, progress)
        if found is None:
            raise self._refusal(lattice, require, late=isfinite(search.bound))
        return self._result(lattice, rules, score, found, search.tried)

    def _limits(self, tuples: Tuples) -> dict[str, range]:
        require_quasi(self.levels, tuples.names)
        heights = dict(zip(tuples.names, tuples.heights, strict=True))
        found = {}
        for name, given in self.levels.items():
            found[name] = require_levels(name, given, _span(given), heights[name])
        return found

    def _result(self, lattice: Lattice, rules: PruningRules, score: Score, found: Found, tried: int) -> Recoding:
        tuples, levels = lattice.tuples, lattice.levels(found.node)
        lump, groups = lattice.coarsen(lattice.whole(rules.sensitive), found.node)
        kept = rules.settled(lump.classes)
        (members, noun), out = lattice.members, lattice.lost(lump.classes, kept)
        chosen = dict(zip(tuples.names, levels, strict=True))
        loss, bound = score.loss(found.score), score.loss(min(found.bound, found.score))
        ending = "and none of the others can lose less."
        if not found.optimal:
            ending = (
                "and the search stopped before the others were ruled out; one of them may lose up to "
                f"{loss - bound:.4g} less."
            )
        return Recoding(
            **lattice.recoded(found.node, lump, groups, kept),
            levels=chosen,
            loss=loss,
            parameters={
                "suppress": exact(self.suppress, "suppress"),
                "measure": str(self.quality),
                "limits": {name: [limit[0], limit[-1]] for name, limit in self._limits(tuples).items()},
                "time_limit": self.time_limit,
            },
            steps=(
                f"{lattice.nodes:,} combinations of levels were searched for the least loss ({self.quality}): "
                f"{tried:,} were tried, {ending}",
                "Levels: " + ", ".join(f"{name} {level}" for name, level in chosen.items()) + ".",
                f"{out:,} of {members:,} {noun} were suppressed, in classes that broke a model."
                if out
                else "No row was suppressed.",
            ),
            optimal=found.optimal,
            gap=loss - bound,
        )

    def _refusal(self, lattice: Lattice, require: Sequence[Model], *, late: bool) -> NoPromise:
        """The error that says why there is no recoding, and what would help."""
        tuples, noun = lattice.tuples, lattice.members[1]
        wanted = " and ".join(model.claim.text for model in require)
        if late:
            return NoPromise(
                f"No levels that make the table {wanted} were found within the time limit.", hint="Allow more time."
            )
        limits = self._limits(tuples)
        fixed = all(len(limits.get(name, ())) == 1 for name in tuples.names)
        helps = ["coarser levels"] if self.levels else []
        helps += [f"more suppressed {noun}"] if exact(self.suppress, "suppress") < Fraction(1) else []
        helps += ["weaker models"]
        several = isinstance(lattice, PeopleLattice)
        helps += ["fewer rows a person, drawn at random (most=1, most=2)"] if several else []
        return refusal(
            tuples,
            () if several else require,
            f"At {'these' if fixed else 'no'} levels {'the table is not' if fixed else 'is the table'} "
            f"{wanted} after suppressing the violating classes, at most {self.suppress} of the {noun}.",
            f"Allow {' or '.join(helps)}.",
        )


def _span(given: object) -> range | None:
    """The levels from the finest to the coarsest; ``None`` if they are not given as levels."""
    if isinstance(given, range):
        return given if given.step == 1 else None
    ends = given if isinstance(given, tuple) else (given, given)
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int) for end in ends):
        return None
    return range(ends[0], ends[1] + 1)


_LARGE_LATTICE_NODES = 10**7
"""Lattices of more nodes are not searched to the end, if that takes long."""
_LARGE_LATTICE_BOXES = 50_000
"""Boxes opened in a large lattice without a time limit."""
_REFORM_LOG_RATIO = 3.0
"""Log of the ratio of labels from which on the classes of a coarser node are formed."""
_SET_ASIDE_ONE_IN = 8
"""Suppressed classes are set aside when they are more than this fraction's share of all."""
_HELD_CLASSES = 30_000_000
"""Classes that waiting boxes may hold; those of other boxes are formed again when they are needed."""


@dataclass(frozen=True)
class Found:
    """The best node, its score, and the least score any other node may have."""

    node: Node
    score: float
    bound: float

    @property
    def optimal(self) -> bool:
        """Whether no node can be better."""
        return self.bound >= self.score


class _Rows(NamedTuple):
    """Rows as classes, and those that were set aside as suppressed."""

    lump: NodeClasses
    gone: Suppressed


class _Box(NamedTuple):
    """All nodes between ``low`` and ``high``, waiting to be searched."""

    low: Node
    high: Node
    gone: Suppressed
    """Rows that are suppressed at every node."""
    rows: _Rows | None
    """All rows, of which some that are gone were set aside; ``None``: to be formed again."""
    formed: Node
    """The node whose classes these are: ``low``, or a finer one."""
    tried: bool
    """Whether ``low`` was tried; then these are its classes."""


class Search:
    """A branch-and-bound search for the best node."""

    def __init__(self, lattice: Lattice, rules: PruningRules, score: Score, limit: int) -> None:
        """``limit``: number of rows that may be suppressed."""
        self._lattice, self._rules, self._score, self._limit = lattice, rules, score, limit
        self._tuples = lattice.whole(rules.watched)
        self._judged = lattice.whole(rules.sensitive) if rules.others and limit else None
        self._best: float = inf
        self._node: Node | None = None
        self._queue: list[tuple[float, int, _Box]] = []
        self._pushed = self._held = 0
        self.tried = 0
        """Number of nodes tried."""
        self.bound: float = inf
        """The least score a node may have that was not tried; infinite if there is none better."""

    def run(self, time_limit: float | None = None, progress: Progress | None = None) -> Found | None:
        """The best node; ``None`` if no node that is allowed was found."""
        began, large = time.monotonic(), self._lattice.nodes > _LARGE_LATTICE_NODES
        most = _LARGE_LATTICE_BOXES if large and time_limit is None else inf
        if self._rules.others:
            self._value(self._lattice.top)
        rows = _Rows(self._tuples, self._score.nothing)
        bottom, top = self._lattice.bottom, self._lattice.top
        self._narrow(-inf, _Box(bottom, top, self._score.nothing, rows, bottom, tried=False), rows)
        if large and self._queue:
            self._descend()
        first, opened = -inf, 0
        while self._queue:
            self.bound, _, box = heapq.heappop(self._queue)
            if self.bound >= self._best:
                break
            if opened >= most or (time_limit is not None and time.monotonic() - began >= time_limit):
                break
            first = self.bound if opened == 0 else first
            if progress is not None and opened % 64 == 0:
                progress(_progress_share(first, self.bound, self._best), f"{self.tried:,} combinations of levels tried")
            opened += 1
            self._open_box(self.bound, box)
        else:
            self.bound = inf
        return None if self._node is None else Found(self._node, self._best, self.bound)

    def _open_box(self, bound: float, box: _Box) -> None:
        """Try the finer end of a box, and cut in two what is left."""
        if box.rows is None:
            coarse, numbers = self._lattice.coarsen(self._tuples, box.high)
            lump = self._lattice.part(self._tuples, numbers, self._rules.absorbed(coarse.classes))
            rows = _Rows(self._lattice.coarsen(lump, box.formed)[0], box.gone)
        else:
            rows = box.rows
            self._held -= len(rows.lump.members)
        if not box.tried and self._worthwhile(box):
            rows = _Rows(self._lattice.coarsen(rows.lump, box.low)[0], rows.gone)
            bound = max(bound, self._score.between(box.high, rows.gone, rows.lump))
            if bound >= self._best or self._try(box.low, rows) <= bound:
                return
            box = _Box(box.low, box.high, box.gone, rows, box.low, tried=True)
            bound = max(bound, self._score.beyond(box.low, box.high, box.gone))
            if self._queue and bound > self._queue[0][0]:
                self._push(bound, box)
                return
        if box.low != box.high:
            self._cut_box(bound, box, rows)

    def _worthwhile(self, box: _Box) -> bool:
        """Whether to form the classes of the finer end: they may be far fewer, or are all that is left to try."""
        return box.low == box.high or self._score.exact or self._lattice.apart(box.formed, box.low) >= _REFORM_LOG_RATIO

    def _cut_box(self, bound: float, box: _Box, rows: _Rows) -> None:
        low, high, gone, _, formed, tried = box
        clipped = self._score.clip(low, high, gone, self._best)
        if clipped != high:  # what is left may well have a better bound
            self._narrow(bound, _Box(low, clipped, gone, rows, formed, tried), rows)
            return
        column = self._score.widest(low, high, gone)
        middle = (low[column] + high[column]) // 2
        self._narrow(bound, _Box(low, _with(high, column, middle), gone, rows, formed, tried), rows)
        self._push(bound, _Box(_with(low, column, middle + 1), high, gone, rows, formed, tried=False))

    def _push(self, bound: float, box: _Box) -> None:
        if box.tried:
            bound = max(bound, self._score.beyond(box.low, box.high, box.gone))
        else:
            bound = max(bound, self._score.floor(box.low, box.gone))
        if bound >= self._best:
            return
        held = 0 if box.rows is None else len(box.rows.lump.members)
        if self._held + held > _HELD_CLASSES:
            box = box._replace(rows=None)
        else:
            self._held += held
        self._pushed += 1
        heapq.heappush(self._queue, (bound, self._pushed, box))

    def _narrow(self, bound: float, box: _Box, rows: _Rows) -> None:
        """Find out what the coarser end of a box suppresses, and let the box wait; it is dropped if nothing in it will
        do. The coarser end is tried in passing."""
        merged, numbers = self._lattice.coarsen(rows.lump, box.high)
        kept = self._rules.absorbed(merged.classes)
        gone = rows.gone
        if not kept.all():
            out = self._lattice.lost(merged.classes, kept)
            if gone.rows + out > self._limit or self._score.least(box.low, gone, out) >= self._best:
                return
            tally, members = self._lattice.tally(rows.lump, numbers, kept)
            gone = self._score.more(gone, tally, out)
            if self._score.exact or members * _SET_ASIDE_ONE_IN > len(numbers):
                rows = _Rows(self._lattice.part(rows.lump, numbers, kept), gone)
        if self._rules.hopeless(merged.classes, kept):
            return
        if not self._rules.others:
            self.tried += 1
            self._record(box.high, self._score.worth(box.high, gone, merged.classes, kept))
            if box.low == box.high:
                return
        bound = max(bound, self._score.between(box.high, rows.gone, rows.lump))
        self._push(bound, _Box(box.low, box.high, gone, rows, box.formed, box.tried))

    def _try(self, node: Node, rows: _Rows) -> float:
        """Score of a node whose classes are given; infinite if it is not allowed."""
        self.tried += 1
        lump, gone = rows
        kept = self._rules.absorbed(lump.classes)
        out = self._lattice.lost(lump.classes, kept)
        if gone.rows + out > self._limit or self._score.least(node, gone, out) >= self._best:
            return inf
        if out:
            gone = self._score.more(gone, self._lattice.tally(lump, None, kept)[0], out)
        worth = self._score.worth(node, gone, lump.classes, kept)
        if self._rules.others and worth < self._best:
            worth = self._settle(node, lump)
        return self._record(node, worth)

    def _settle(self, node: Node, lump: NodeClasses) -> float:
        """Score of a node when models that do not absorb are judged too, which may depend on all rows."""
        if self._judged is not None:
            lump = self._lattice.coarsen(self._judged, node)[0]
        kept = self._rules.settled(lump.classes)
        out = self._lattice.lost(lump.classes, kept)
        if out > self._limit:
            return inf
        gone = self._score.more(self._score.nothing, self._lattice.tally(lump, None, kept)[0], out)
        return self._score.worth(node, gone, lump.classes, kept)

    def _record(self, node: Node, worth: float) -> float:
        if worth < self._best:
            self._best, self._node = worth, node
        return worth

    def _value(self, node: Node) -> float:
        """Score of a node, computed from the tuples."""
        return self._try(node, _Rows(self._lattice.coarsen(self._tuples, node)[0], self._score.nothing))

    def _descend(self) -> None:
        """Go down greedily from the top as long as that pays, to begin with a good node."""
        here = self._lattice.top
        while self._node == here:  # else not even the top will do
            for column, place in enumerate(here):
                if place:
                    self._value(_with(here, column, place - 1))
            if self._node == here:
                return
            here = self._node


def _with(node: Node, column: int, place: int) -> Node:
    return (*node[:column], place, *node[column + 1 :])


def _progress_share(first: float, bound: float, best: float) -> float:
    """Share of the way from the first bound to the best node that is done."""
    return 0.0 if not isfinite(best - first) or best <= first else min((bound - first) / (best - first), 1.0)
