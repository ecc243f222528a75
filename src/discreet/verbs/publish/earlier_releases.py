"""Earlier releases: check of what several releases about the same people reveal together.

Privacy models do not compose: two tables, each 2-anonymous, can single someone out between them. An intruder who can
tell which rows of two releases are the same person's (by a sensitive value, say) sees the labels of both; a row that is
missing from one of them tells that too. So the classes of everything that is out are those of the rows by all their
labels at once. This is the cautious reading: it takes for granted that rows can be matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.release import Release, with_rows
from discreet.core.sql import kind_of
from discreet.core.table import Table, count_name
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NoPromise, NotFound
from discreet.models.classes import Sizes
from discreet.models.model import Model, Verdict, check_all
from discreet.verbs.publish.people_rows import join_people
from discreet.verbs.publish.recoding import Labelled, Names, Recoding, on_recoding_engine, recode_rows, unused_name
from discreet.verbs.publish.tuples import keys_of

Earlier: TypeAlias = Release[Any] | tuple[Release[Any], str | Path]
"""A release, or a release with its holder's copy (the recoding of each combination of values)."""


@dataclass(frozen=True)
class Joint:
    """Verdicts of privacy models on several releases together."""

    releases: tuple[str, ...]
    """Titles of the earlier releases."""
    verdicts: tuple[Verdict, ...]
    """Verdict of each model, on the equivalence classes by the labels of all releases."""
    sizes: Sizes

    @property
    def holds(self) -> bool:
        """Whether every model still holds."""
        return all(verdict.holds for verdict in self.verdicts)

    def require(self) -> None:
        """A refusal with the figures, unless every model holds."""
        broken = [verdict for verdict in self.verdicts if not verdict.holds]
        if not broken:
            return
        said = "; ".join(
            f"{one.claim.text} would be broken for {one.exposed:,} of {one.rows:,} people "
            f"({100 * one.exposed / max(one.rows, 1):.1f} %)"
            for one in broken
        )
        raise NoPromise(
            f"Together with {_quoted_titles(self.releases)} this would reveal too much: {said}. {self._figures}",
            hint="Publish it at the levels of the earlier release, or coarser; or do not publish it.",
        )

    def __str__(self) -> str:
        claims = " and ".join(verdict.claim.text for verdict in self.verdicts)
        titles = _quoted_titles(self.releases)
        return f"Checked together with {titles}: their combination is {claims}. {self._figures}"

    @property
    def _figures(self) -> str:
        alone = self.sizes.classes.get(1, 0)
        return (
            f"The smallest joint equivalence class has {self.sizes.smallest:,}; {alone:,} of "
            f"{self.sizes.rows:,} people are unique."
        )


def check_together(table: Table, recoding: Recoding, given: Sequence[Earlier], require: Sequence[Model]) -> Joint:
    """Verdicts on the earlier releases ``given`` of ``table`` together with a new recoding."""
    if any(model.reference is not None for model in require):
        raise BadInput(
            "Models with a population cannot be checked over several releases.",
            hint="Leave out that model, or the earlier releases.",
        )
    table = on_recoding_engine(table)
    names = table.quasi()
    everything, labels, present = table, list[Column](), list[str]()
    for place, one in enumerate([*(_recoding_of(table, release) for release in given), recoding]):
        labelled = Labelled.of(everything, one, f"discreet_{place}_")
        new = [labelled.labels[name] for name in names]
        everything = _with_labels(everything, labelled, new)
        labels += new
        present.append(labelled.kept)
    newest = dict(zip(names, labels[-len(names) :], strict=True))
    looked_at = sorted({name for model in require for name in model.sensitive})
    shown = [sql.named(sql.column(newest[name].name if name in newest else name), name) for name in looked_at]
    known = [*labels, *(Column(name, Kind.BOOLEAN) for name in present)]
    columns = (
        *(replace(newest.get(name, table.card[name]), name=name, role=Role.SENSITIVE) for name in looked_at),
        *(replace(column, role=Role.QUASI) for column in known),
    )
    rows = everything.query(*shown, *(sql.column(column.name) for column in known))
    seen = Table(table.card.without_unit(columns), table.engine, rows.where(exp.or_(*map(sql.column, present))))
    titles = tuple((one[0] if isinstance(one, tuple) else one).title for one in given)
    return Joint(titles, tuple(check_all(seen, require)), Sizes.of(seen))


def _with_labels(table: Table, labelled: Labelled, labels: Sequence[Column]) -> Table:
    """The table with the labels of a release in additional columns; NULL for rows not released."""
    kept = sql.column(labelled.kept)
    masked = [sql.named(exp.case().when(kept.copy(), sql.column(label.name)), label.name) for label in labels]
    held = map(sql.column, table.columns)
    relation = exp.select(*held, *masked, kept.copy()).from_(labelled.relation.subquery("l"))
    added = (*(replace(label, role=Role.OTHER) for label in labels), Column(labelled.kept, Kind.BOOLEAN))
    return Table(replace(table.card, columns=(*table.card.columns, *added)), table.engine, relation)


def _recoding_of(table: Table, earlier: Earlier) -> Recoding:
    """The recoding of an earlier release: its levels, or the mapping in its holder's copy."""
    release, key = earlier if isinstance(earlier, tuple) else (earlier, None)
    names = table.quasi()
    payload = with_rows(release).payload
    if not isinstance(payload, pa.Table):
        raise BadInput(f"{release.title!r} is not a published table.", hint="Give releases that publish made.")
    class_sizes = _sizes(payload, names, release.title)
    _require_same_quasi(release, names)
    levels = release.recipe.parameters.get("levels")
    if key is not None:
        found = Recoding(mapping=_read_mapping(key, names))
    elif isinstance(levels, dict) and set(levels) == set(names):
        counted = table.histogram(levels=levels)
        gone = pa.array([key not in class_sizes for key in keys_of(counted, names)], pa.bool_())
        found = Recoding(levels=levels, dropped=counted.filter(gone).select(list(names)))
    else:
        raise _unknown_recoding(release)
    again = recode_rows(table, found).histogram()
    there = _counts(again, names, count_name(names))
    dummies = bool(release.recipe.parameters.get("dummies"))
    if there != class_sizes and not (dummies and all(class_sizes.get(key, 0) >= size for key, size in there.items())):
        raise BadInput(
            f"{release.title!r} was not made from the current {table.card.name}: its classes differ.",
            hint="Give the table that it was made from.",
        )
    return found


def _read_mapping(key: str | Path, names: Sequence[str]) -> pa.Table:
    if not Path(key).is_file():
        raise NotFound(f"There is no file {key}.")
    try:
        with pq.ParquetFile(key) as file:
            found = file.read()
    except pa.ArrowException as error:
        raise DataError(f"{key} cannot be read: {error}.") from error
    called = Names.of(names)
    expected, there = {*names, *called.new.values(), called.kept}, set(found.column_names)
    if missing := expected - there:
        raise DataError(f"{key} is not the holder's copy of a release: it has no column {min(missing)!r}.")
    if unknown := there - expected:
        raise DataError(f"{key} is not the holder's copy of this release: it has a column {min(unknown)!r}.")
    return found


def _unknown_recoding(release: Release[Any]) -> BadInput:
    return BadInput(
        f"The recoding of {release.title!r} cannot be recovered from it.",
        hint="If each class got its own labels, also give its holder's copy: (release, key).",
    )


def _require_same_quasi(release: Release[Any], names: Sequence[str]) -> None:
    """An error if the release shows a column that is not a quasi-identifier now: it would not be counted."""
    said = release.recipe.parameters.get("quasi_identifiers")
    if not isinstance(said, list | tuple):
        raise _unknown_recoding(release)
    hint = "Earlier releases must have the same quasi-identifiers: restore that column's role."
    if gone := set(said) - set(names):
        wrong = f"{release.title!r} was published with {min(gone)!r} as a quasi-identifier, which it is not now."
        raise BadInput(wrong, hint=hint)
    if fresh := set(names) - set(said):
        wrong = f"{min(fresh)!r} is a quasi-identifier now, but was not when {release.title!r} was published."
        raise BadInput(wrong, hint=hint)


def _sizes(rows: pa.Table, names: Sequence[str], title: str) -> dict[tuple[Any, ...], int]:
    if missing := set(names) - set(rows.column_names):
        raise BadInput(
            f"{title!r} has no column {min(missing)!r}, which is a quasi-identifier now.",
            hint="Earlier releases must have the same quasi-identifiers.",
        )
    counted = rows.group_by(list(names)).aggregate([([], "count_all")])
    return _counts(counted, names, "count_all")


def _counts(rows: pa.Table, names: Sequence[str], count: str) -> dict[tuple[Any, ...], int]:
    sizes: list[Any] = rows.column(count).to_pylist()
    return dict(zip(keys_of(rows, names), sizes, strict=True))


def _quoted_titles(titles: Sequence[str]) -> str:
    return " and ".join(f"“{title}”" for title in titles)


def read_release(folder: str | Path, card: Card) -> Table:
    """Rows of a published release, verified against their hashes, with the roles that ``card`` gives them.

    Quasi-identifiers are what the release shows of them: labels, of whatever kind.
    """
    release = Release.load(folder)
    place = Path(folder) / "payload.parquet"
    if not place.is_file():
        raise BadInput(f"{release.title!r} is not a published table.", hint="Look at it with `discreet show`.")
    said = release.recipe.parameters
    if card.unit is not None and card.rows_per_unit != 1 and said.get("people") not in ("linked", "one-row"):
        raise BadInput(
            f"A {card.unit} has several rows, and {release.title!r} does not link them, so its people cannot "
            "be counted.",
            hint="Its models were checked when it was made: see its statement with `discreet show`.",
        )
    kinds = {field.name: kind_of(field.type) for field in pq.read_schema(place)}
    columns = [
        Column(one.name, kinds[one.name] or one.kind, Role.QUASI) if one.role is Role.QUASI else one
        for one in card.columns
        if one.name in kinds
    ]
    if said.get("people") != "linked":
        return read(place, card.without_unit(columns))
    person = Column(said["pseudonym"], Kind.INTEGER, Role.IDENTIFIER)
    table = read(place, replace(card.without_unit((person, *columns)), unit=person.name))
    return table if release.also is None else _joined(table, release, person)


def _joined(table: Table, release: Release[Any], person: Column) -> Table:
    """The rows of a release with those of the table that is linked to it, by the roles that its recipe tells."""
    also, quasi = cast("pa.Table", release.also), release.recipe.parameters["quasi_identifiers"]
    columns = [
        Column(field.name, kind_of(field.type) or Kind.TEXT, Role.QUASI if field.name in quasi else Role.OTHER)
        for field in also.schema
        if field.name != person.name
    ]
    other = read(also, Card(release.recipe.parameters["linked_table"], (person, *columns), unit=person.name))
    return join_people(table, other, unused_name("there", [*table.columns, *other.columns]))
