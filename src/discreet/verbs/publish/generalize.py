"""Full-domain generalisation: every value of a column at one level of its hierarchy, some rows suppressed, at the
least loss there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import ClassVar, TypeAlias

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import QUALITIES, RECODERS
from discreet.core.table import Table
from discreet.errors import NoPromise
from discreet.models.model import Model, parts_of, population_of
from discreet.utility.quality import Granularity, Quality, figures
from discreet.verbs.publish.lattice import Found, Search
from discreet.verbs.publish.model_pruning import Rules
from discreet.verbs.publish.recoding import Progress, Recoding, allowed, require_levels, require_quasi
from discreet.verbs.publish.score import Score, score_of
from discreet.verbs.publish.space import Space
from discreet.verbs.publish.tuple_recoding import refusal, require_beside
from discreet.verbs.publish.tuples import Tuples, tuples_of

Levels: TypeAlias = int | range | tuple[int, int]
"""One level, or from one to another: ``range(1, 4)`` and ``(1, 3)`` are the same three."""


@declare(RECODERS, "generalize", rank=0, paper="Samarati 2001")
class Generalize:
    """Generalise whole columns and suppress whole rows, so that all models hold and least is lost.

    Of all combinations of levels the best is found, and that is proved, for any models: not only for those that a
    coarser level can never break. Classes that break a model are suppressed, at most a share ``suppress`` of the rows;
    for models that compare a class with the whole table, which changes by that, until none breaks one any more. (To
    suppress only some of those that break such a model may need fewer rows, and is not tried.)
    ``levels`` limits the levels of some columns. With a ``time_limit`` in seconds the best found until then is taken;
    what could still be gained at most is stated. That is also done in lattices of more than ten million combinations,
    if the search is long. A recoding that would suppress all rows is none.
    """

    own_labels: ClassVar[bool] = False
    suppress: Number = parameter("Largest share of the rows left out, such as 5%.", default=0, least=0, most=1)
    quality: Quality = parameter("Loss that is least.", default_factory=Granularity, family=QUALITIES)
    levels: Mapping[str, Levels] = parameter("Levels a column may have, such as age:1..3.", default_factory=dict)
    time_limit: float | None = parameter("Seconds to search; the best so far is taken.", default=None, least=0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The levels at which all models hold and least is lost; an error if there are none."""
        require_beside(parts_of(require), table.quasi())
        sensitive = {*self.quality.sensitive, *(name for model in require for name in model.sensitive)}
        return self.search(tuples_of(table, sorted(sensitive), population_of(require)), require, progress)

    def search(self, tuples: Tuples, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The same for the tuples of a table: rows are not needed."""
        space = Space(tuples, self._limits(tuples))
        limit = min(allowed(self.suppress, tuples.rows), max(tuples.rows - 1, 0))
        rules = Rules(require, limit, self.quality.sensitive)
        score = score_of(space, self.quality, rules.smallest)
        search = Search(space, rules, score, limit)
        found = search.run(self.time_limit, progress)
        if found is None:
            raise self._refusal(tuples, require, late=isfinite(search.bound))
        return self._result(space, rules, score, found, search.tried)

    def _limits(self, tuples: Tuples) -> dict[str, range]:
        require_quasi(self.levels, tuples.names)
        heights = dict(zip(tuples.names, tuples.heights, strict=True))
        found = {}
        for name, given in self.levels.items():
            found[name] = require_levels(name, given, _span(given), heights[name])
        return found

    def _result(self, space: Space, rules: Rules, score: Score, found: Found, tried: int) -> Recoding:
        tuples, levels = space.tuples, space.levels(found.node)
        lump, groups = space.coarsen(space.whole(rules.sensitive), found.node)
        sizes = lump.classes.sizes
        kept = rules.settled(lump.classes)
        gone = ~kept & (sizes > 0)
        suppressed = int(sizes[gone].sum())
        chosen = dict(zip(tuples.names, levels, strict=True))
        loss, bound = score.loss(found.score), score.loss(min(found.bound, found.score))
        return Recoding(
            levels=chosen,
            dropped=tuples.labels(lump.members[gone], levels) if gone.any() else None,
            mapping=None,
            suppressed=suppressed,
            loss=loss,
            quality=figures(tuples, np.asarray(levels), groups.astype(np.int64), kept),
            parameters=self._parameters(tuples),
            steps=(
                f"Of {space.nodes:,} combinations of levels, the one that loses least by {self.quality} was sought: "
                f"{tried:,} were tried, {_ending(found, loss - bound)}",
                "Levels: " + ", ".join(f"{name} {level}" for name, level in chosen.items()) + ".",
                f"{suppressed:,} of {tuples.rows:,} rows were suppressed, in classes that broke a model."
                if suppressed
                else "No row was suppressed.",
            ),
            optimal=found.optimal,
            gap=loss - bound,
        )

    def _parameters(self, tuples: Tuples) -> dict[str, object]:
        limits = {name: [levels[0], levels[-1]] for name, levels in self._limits(tuples).items()}
        return {
            "suppress": exact(self.suppress, "suppress"),
            "measure": str(self.quality),
            "limits": limits,
            "time_limit": self.time_limit,
        }

    def _refusal(self, tuples: Tuples, require: Sequence[Model], *, late: bool) -> NoPromise:
        """Why there is no recoding, and what would help."""
        wanted = " and ".join(model.claim.text for model in require)
        if late:
            return NoPromise(f"No levels were found in time at which the table is {wanted}.", hint="Allow more time.")
        limits = self._limits(tuples)
        fixed = all(len(limits.get(name, ())) == 1 for name in tuples.names)
        helps = ["coarser levels"] if self.levels else []
        helps += ["more suppressed rows"] if exact(self.suppress, "suppress") < Fraction(1) else []
        helps += ["models that ask for less"]
        return refusal(
            tuples,
            require,
            f"At {'these' if fixed else 'no'} levels {'the table is not' if fixed else 'is the table'} {wanted} when "
            f"the classes that are not are suppressed, and those are at most {self.suppress} of the rows.",
            f"Allow {' or '.join(helps)}.",
        )


def _span(given: object) -> range | None:
    """The levels from the finest to the coarsest; ``None`` if it is not said which."""
    if isinstance(given, range):
        return given if given.step == 1 else None
    ends = given if isinstance(given, tuple) else (given, given)
    if len(ends) != 2 or any(isinstance(end, bool) or not isinstance(end, int) for end in ends):
        return None
    return range(ends[0], ends[1] + 1)


def _ending(found: Found, gap: float) -> str:
    if found.optimal:
        return "all others ruled out: at no other is less lost."
    return f"and it was stopped before others were ruled out; one of them may lose up to {gap:.4g} less."
