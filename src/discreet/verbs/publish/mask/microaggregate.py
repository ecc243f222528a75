"""Microaggregation: records in groups of at least k that lie together, and in every group one record for all.

What is lost is the sum of squares within the groups. Groups that lose least are NP-hard to find in two or more columns
(Oganian and Domingo-Ferrer 2001), so they are found by MDAV, V-MDAV or CBFS and bettered by a search. One column is
grouped best of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.card import Card
from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import MASKING
from discreet.core.kind import Kind
from discreet.core.sql import content_order
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.diversity import PSensitivity
from discreet.models.model import Model, parse
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.masker import Masked, columns_to_mask
from discreet.verbs.publish.mask.micro.coordinates import Coordinate, aggregate, aggregate_name, coordinates, embed
from discreet.verbs.publish.mask.micro.grouping import (
    MOST_IMPROVED,
    Confidential,
    Diversity,
    Grouping,
    confidential,
    form_groups,
    missing_patterns,
)
from discreet.verbs.publish.mask.values import Array, Cells, with_column


@declare(MASKING, "microaggregate", example="microaggregate k=5", paper="Domingo-Ferrer and Torra 2005")
class Microaggregate:
    """Groups of at least k similar records; every record gets the values of the centre of its group.

    ``algorithm``: ``optimal`` is for one column at a time. ``blocks``: columns are grouped this many at a time, or in
    these blocks, each by itself; by default all together.
    ``diverse``: what every group must hold of a confidential column, a model or its text (``l=3 on illness``).
    ``improve``: how often, for each group, a few groups are put together anew to lose less (1,000 is thorough).
    ``gamma``: by v-mdav, a record joins a group if it is nearer to it than ``gamma`` times to any other. ``median``
    of numbers instead of the mean. Distances are between standardised values, or else values ``as_is``. ``at_once`` is
    the largest number of rows grouped together: more are divided, and no group crosses a border.

    Why this is private: if all that is known of people is masked in one block, every masked record is that of k people
    or more, so that no one can be singled out by it (k-anonymity: Domingo-Ferrer and Torra 2005). In several blocks
    that holds for each of them alone. Nothing else is promised: members of a group are alike, and what stands for all
    of them says about what each of them is.
    """

    name: ClassVar[str]
    k: int = parameter("Minimum number of records in a group.", least=2)
    columns: Sequence[str] = parameter("Columns to mask; default: all quasi-identifiers.", default=(), clause="on")
    algorithm: Literal["mdav", "v-mdav", "cbfs", "optimal"] = parameter("Grouping algorithm.", default="mdav")
    blocks: int | Sequence[Sequence[str]] | None = parameter("Number of columns grouped at a time.", default=None)
    diverse: Diversity | str | None = parameter("Model that every group must satisfy.", default=None, python=True)
    improve: int = parameter("Improvements tried for each group; 1,000 is thorough.", default=0, least=0)
    gamma: float = parameter("For v-mdav: threshold gamma for extending a group.", default=0.2, least=0)
    median: bool = parameter("Whether numbers become the median instead of the mean.", default=False)
    as_is: bool = parameter("Whether distances use values that are not standardised.", default=False)
    at_once: int = parameter("Maximum number of rows grouped at once; more are partitioned.", default=250_000, least=8)

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.at_once < 4 * self.k:
            raise BadInput(f"at-once must be a whole number, at least 4 k = {4 * self.k}, got {self.at_once}.")
        if self.improve and self.k > MOST_IMPROVED:
            raise BadInput(f"Groups of up to {MOST_IMPROVED} can be improved, not of {self.k}.", hint="Leave it out.")
        if self.algorithm == "optimal" and (self.improve or self.diverse):
            raise BadInput(
                "The optimal algorithm supports neither improvement nor diversity.", hint="Use mdav instead."
            )

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        """All rows at once. What is missing stays so; where too few rows lack the same values, more is left out.

        Records that are equally near count in the order of what they hold, so that the order of the rows tells nothing.
        """
        card, rng = table.card, generator(seed)
        rows = table.payload()
        order = content_order(rows)
        rows = rows.take(order)
        names = columns_to_mask(card, self.columns, frozenset(Kind), self.name)
        model: Model | None = parse(self.diverse, card) if isinstance(self.diverse, str) else self.diverse
        if isinstance(model, PSensitivity) and model.k > self.k:
            raise BadInput(f"Groups of {self.k} are not {model.claim.text}.", hint=f"Choose k={model.k}.")
        held = confidential(card, rows, model, names)
        told = []
        for block in self._blocks(names):
            columns = coordinates(card, rows, block)
            if self.algorithm == "optimal" and (len(columns) > 1 or columns[0].nominal):
                named = ", ".join(block)
                raise BadInput(f"The optimal algorithm needs one ordered column, not {named}.", hint="Use mdav.")
            found = self._group_block(columns, rows.num_rows, held, rng)
            for column, cells in zip(columns, found.cells(columns, self.median), strict=True):
                rows = with_column(rows, column.column.name, cells)
            told.append(found.told(columns, self.median))
        return Masked(
            rows.take(np.argsort(order)),
            self._parameters(names, told, model),
            self._steps(told, model),
            self._not_promised(card, len(told)),
        )

    def _blocks(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        if self.blocks is None:
            return [names] if self.algorithm != "optimal" else [(name,) for name in names]
        if isinstance(self.blocks, int):
            if isinstance(self.blocks, bool) or self.blocks < 1:
                raise BadInput(f"A block has one column or more, not {self.blocks!r}.")
            return [names[at : at + self.blocks] for at in range(0, len(names), self.blocks)]
        if isinstance(self.blocks, str) or any(isinstance(block, str) for block in self.blocks):
            raise BadInput(f"Blocks are lists of names, or how many columns each has, not {self.blocks!r}.")
        blocks = [tuple(block) for block in self.blocks]
        if sorted(name for block in blocks for name in block) != sorted(names) or not all(blocks):
            raise BadInput(
                f"Blocks hold every column that is masked once; those are {', '.join(names)}.",
                hint="Name the columns that are to be masked, too.",
            )
        return blocks

    def _group_block(
        self, columns: Sequence[Coordinate], rows: int, held: Confidential | None, rng: Generator
    ) -> _BlockGroups:
        from discreet.verbs.publish.mask.micro.diverse import NO_RULE

        there = np.stack([column.there for column in columns], axis=1)
        found = _BlockGroups(np.zeros(rows, np.int64), np.zeros_like(there))
        way = Grouping(self.k, self.algorithm, self.gamma, self.improve, self.at_once, NO_RULE, None)
        if held is not None:
            way = replace(way, rule=held.rule, broken=held.broken)

        def enough(members: Array) -> bool:
            alone = np.zeros(len(members), np.int64)
            return len(members) >= self.k and (held is None or not held.broken(members, alone).any())

        for shape, members in missing_patterns(there, enough):
            points = embed([c for c, has in zip(columns, shape, strict=True) if has], members, not self.as_is)
            of = form_groups(points, members, held.codes[members] if held else np.zeros(0, np.int64), way, rng)
            found.kept[members] = shape
            found.of[members] = found.groups + of
            found.add(points, of)
        found.left_out = int((there & ~found.kept).sum())
        return found

    def _parameters(self, names: Sequence[str], told: Sequence[dict[str, Any]], model: Model | None) -> dict[str, Any]:
        said: dict[str, Any] = {
            "columns": list(names),
            "blocks": [block["columns"] for block in told],
            "k": self.k,
            "algorithm": self.algorithm,
            "standardised": not self.as_is,
            "improve": self.improve,
            "at_once": self.at_once,
            "found": list(told),
        }
        if self.algorithm == "v-mdav":
            said["gamma"] = self.gamma
        if model is not None:
            said["diverse"] = model.claim.text
        return said

    def _steps(self, told: Sequence[dict[str, Any]], model: Model | None) -> tuple[str, ...]:
        steps = []
        for block in told:
            steps.append(
                f"{', '.join(block['columns'])}: {block['groups']:,} groups of {block['smallest']:,} to "
                f"{block['largest']:,} records were formed by {self.algorithm}, and every record got its "
                f"group's centroid; {block['loss']:.2%} of the variance was lost."
            )
            if block["left_out"]:
                steps.append(f"{block['left_out']:,} values were removed so that enough rows lack the same ones.")
        if told[0]["rows"] > self.at_once and self.algorithm != "optimal":
            steps.append(f"At most {self.at_once:,} rows were grouped at once: larger sets were split at medians.")
        if model is not None:
            steps.append(f"Every group is {model.claim.text}.")
        return tuple(steps)

    def _not_promised(self, card: Card, blocks: int) -> tuple[str, ...]:
        said = ["Members of a group are similar: the centroid is close to each of them."]
        if self.diverse is None:
            said.append("Sensitive values are not protected: all members of a group may share one.")
        if blocks > 1:
            said.append(
                f"Columns were grouped in {blocks} blocks: their combination may still be unique to one person."
            )
        if card.unit is not None and card.rows_per_unit != 1:
            said.append(f"Groups are of {self.k} rows: a {card.unit} with several may be in one more than once.")
        said.append("An intruder who knows the method can rule out most groups for a person.")
        return tuple(said)


@dataclass
class _BlockGroups:
    """The groups of one block of columns, and what they cost."""

    of: Array
    kept: Array
    """For each row and column whether it has a value in the end."""
    groups: int = 0
    within: float = 0.0
    total: float = 0.0
    left_out: int = 0

    def add(self, points: Array, of: Array) -> None:
        """Count the groups of some rows, and what their points lose."""
        sizes = np.bincount(of)
        self.groups += len(sizes)
        for values in points.T:
            around = values - values.sum() / len(values)
            apart = values - (np.bincount(of, values) / sizes)[of]
            self.total += float(around @ around)
            self.within += float(apart @ apart)

    def cells(self, columns: Sequence[Coordinate], median: bool) -> list[Cells]:
        """Each column with what stands for the groups."""
        return [aggregate(column, self.of, kept, median) for column, kept in zip(columns, self.kept.T, strict=True)]

    def told(self, columns: Sequence[Coordinate], median: bool) -> dict[str, Any]:
        """Public figures of the block. The loss has three digits: all of them would give small groups away."""
        sizes = np.bincount(self.of, minlength=self.groups)
        return {
            "columns": [column.column.name for column in columns],
            "stands": {column.column.name: aggregate_name(column, median) for column in columns},
            "rows": len(self.of),
            "groups": self.groups,
            "smallest": int(sizes.min(initial=len(self.of))),
            "largest": int(sizes.max(initial=0)),
            "sizes": {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)},
            "loss": float(f"{self.within / self.total:.3g}") if self.total else 0.0,
            "left_out": self.left_out,
        }
