"""People with several rows: which of their rows leave, and whether those of one person stay linked.

Why this is private. The unit itself never leaves. Of one row a person, drawn at random, everything is true that is
true of a table with one row each; which row was drawn depends on the operating system's randomness alone. Where all
rows leave, whole people share their rows (``models/row_sets.py``), which is checked on what was written: with a
pseudonym by the rows that leave, which it links; without one, by the rows beside their units, of which those that
leave are found to be the very same. A pseudonym is a random number that is drawn afresh for every release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card
from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.families import PEOPLE
from discreet.core.holder_copy import LINK, HolderCopy
from discreet.core.identifiers import said_of_withheld
from discreet.core.release import Rows
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.files import open_file
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NoPromise
from discreet.models.check import SET_OF_ROWS, known_rows
from discreet.models.classes import Sizes, count_people
from discreet.models.model import check_all
from discreet.models.row_sets import RowSets, row_sets
from discreet.releases.facts import Facts, Opaque
from discreet.releases.method import Alternative, Bench, Made, Method
from discreet.releases.register import Entry
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.mask.values import Array
from discreet.verbs.publish.people_rows import draw_rows, join_people, link_rows, numbered_rows
from discreet.verbs.publish.recode import Recode, assumptions, caveats_of, column_losses, pictures, recipe_parameters
from discreet.verbs.publish.recoding import (
    Recoding,
    prepare,
    published_columns,
    recode_rows,
    require_table,
    unused_name,
)

_MOST = "Maximum number of rows per person; of those with more, that many are drawn at random."


@declare(PEOPLE, "one-row", rank=0)
class OneRow:
    """One row of each person, drawn at random, so that every method and every model applies."""

    name: ClassVar[str]


@declare(PEOPLE, "unlinked", rank=1)
class Unlinked(Checked):
    """All rows of everyone who is not suppressed, without a pseudonym: no one sees which belong together."""

    name: ClassVar[str]
    most: int | None = parameter(_MOST, default=None, least=1)


@declare(PEOPLE, "linked", rank=2, spelled="linked[ most={most}][ as {pseudonym}][ with {other}]", example="linked")
class Linked(Checked):
    """All rows of everyone who is not suppressed, linked by a fresh random pseudonym of each person;
    with another table of the same people, both are released, linked by it."""

    name: ClassVar[str]
    most: int | None = parameter(_MOST, default=None, least=1)
    pseudonym: str = parameter("Column of the pseudonym.", default="person")
    other: Table | None = parameter("File or table with one row per person, released as well.", default=None)


People: TypeAlias = OneRow | Unlinked | Linked


def joint_card(card: Card, people: object) -> Card:
    """The card of all that leaves: where another table does, too, with its columns."""
    if not isinstance(people, Linked) or people.other is None:
        return card
    more = [column for column in people.other.card.columns if column.name not in card]
    return replace(card, columns=(*card.columns, *more))


def prepare_other(people: People | None, named: set[str]) -> People | None:
    """The same treatment with another table of which only leaves what may; see ``prepare``."""
    if not isinstance(people, Linked) or people.other is None:
        return people
    require_table(people.other, "publish")
    return replace(people, other=prepare(people.other, named, quasi=True))


def require_people_option(people: object, method: object, earlier: Sequence[object]) -> None:
    """An error before any work is done, if a treatment of people with several rows does not go with other options."""
    if not isinstance(people, People):
        raise BadInput(f"{people!r} is not a treatment of people with several rows.", hint='Such as people="one-row".')
    if earlier:
        raise BadInput(
            "Releases of people with several rows cannot be checked together with earlier ones.",
            hint="Leave earlier out, and attack them jointly.",
        )
    if not isinstance(people, OneRow) and not isinstance(method, Generalize):
        raise BadInput(
            f"{type(method).__name__} treats rows one by one, but a person has several.",
            hint='Use Generalize (--method generalize), or publish one row of each: people="one-row".',
        )


# -- one row a person


@dataclass(frozen=True)
class DrawnRows(Method[Any]):
    """A method on one row of each person, drawn at random."""

    method: Method[Any]

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the method."""
        return self.method.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the method, and that rows were drawn."""
        return {**self.method.parameters, "people": "one-row"}

    def promise(self, card: Card) -> Statement:
        """What the method promises for one row of each person."""
        return self.method.promise(replace(card, rows_per_unit=1, groups_per_unit=None))

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """Draw, and run the method on what was drawn."""
        rows, number = numbered_rows(table)
        people, count = count_people(rows)
        drawn = draw_rows(rows, number, 1, bench.entropy)
        made = self.method.make(drawn, bench)
        numbers = drawn.engine.fetch(drawn.query(sql.column(number))).column(0).to_numpy()
        if made.holder is not None and made.holder.links is not None:
            links = numbers[made.holder.links]
        else:
            links = _numbers_of(recode_rows(drawn, made.context[2], [number]), number)
        unit = table.card.unit
        kept = f"One row of each {unit} was drawn at random: {people:,} of {count:,} rows."
        return replace(
            made,
            steps=(kept, *made.steps),
            caveats=(
                *made.caveats,
                f"{kept} An intruder who knows several rows of a person does not know which one is here.",
            ),
            holder=_links(links)
            if made.holder is None
            else replace(made.holder, kind="links", rows=_links(links).rows),
        )

    def recheck(self, made: Made[Any], written: Any, promised: Statement) -> Made[Any]:
        """As the method checks it."""
        return self.method.recheck(made, written, promised)

    def facts(self, made: Made[Any], table: Table) -> Facts:
        """None: which row of a person was drawn is no one's knowledge, and no figure over people."""
        return Opaque("one row of each person was drawn at random")


def _links(rows: Array) -> HolderCopy:
    return HolderCopy("links", pa.table({LINK: pa.array(rows, pa.int64())}))


def _numbers_of(rows: Table, name: str) -> Array:
    """The numbers of rows, in their order; -1 for a dummy."""
    found: Any = rows.engine.fetch(rows.relation).column(name)
    return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


# -- all rows of whole people


@dataclass(frozen=True)
class _Released:
    """What leaves of people with several rows, beside what says whose it is."""

    whose: Table
    """The recoded rows with their unit (or pseudonym), as they are stored; quasi-identifiers are labels."""
    card: Card
    """Of the payload."""
    other: Card | None
    """Of the other table."""
    before: RowSets
    found: Recoding
    there: str
    """The column that says whether a row is one of the table, where another is linked to it; or none."""


@dataclass(frozen=True, kw_only=True)
class RecodePeople(Recode):
    """Rows of people with several rows, generalised until models hold for classes of people who share all their rows.

    People are suppressed with all their rows, in both tables.
    """

    people: Unlinked | Linked

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the recoder, and what leaves of people."""
        told: dict[str, Any] = {"people": self.people.name, "most_rows": self.people.most}
        if isinstance(self.people, Linked):
            told |= {"pseudonym": self.people.pseudonym}
            told |= {"linked_table": self.people.other.card.name} if self.people.other is not None else {}
        return {**super().parameters, **told}

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """Search on the distinct sets of rows, recode, and link what belongs together."""
        people, unit = self.people, str(table.card.unit)
        rows, number = numbered_rows(table)
        count = rows.count()
        if people.most is not None:
            rows = draw_rows(rows, number, people.most, bench.entropy)
        drawn, there, recoder = rows.count(), "", cast("Generalize", self.recoder)
        other = people.other if isinstance(people, Linked) else None
        if other is not None:
            there = unused_name("there", [*rows.columns, *other.columns])
            rows = join_people(rows, other, there)
            if not rows.engine.fetch(rows.query(exp.Star()).where(exp.not_(sql.column(there))).limit(1)).num_rows:
                rows, there = _without(rows, there), ""  # no one is without rows
            else:
                recoder = replace(recoder, levels={**recoder.levels, there: 0})
        found = recoder.recode(rows, self.models, bench.progress)
        whose = recode_rows(rows, found, [unit, number]).store(rows.engine.new_name("recoded"))
        if isinstance(people, Linked):
            whose = link_rows(whose, unit, number, people.pseudonym, bench.entropy)
        else:
            whose = replace(whose, card=replace(whose.card, unit=unit))
        about = set() if other is None else {column.name for column in published_columns(other.card)}
        hidden = {number, there, *about, *(() if isinstance(people, Linked) else (unit,))}
        card = _only(whose.card, [name for name in whose.columns if name not in hidden], table.card.name)
        second = None if other is None else _only(whose.card, [str(whose.card.unit), *about], other.card.name)
        parameters = recipe_parameters(rows, found, drawn)
        told: dict[str, Any] = {
            name: {column: said for column, said in parameters[name].items() if column != there} for name in _BY_COLUMN
        }
        told |= {"quasi_identifiers": list(_without(rows, there).quasi())}
        kept = f"At most {people.most} rows of each {unit} were drawn at random: {drawn:,} of {count:,} rows."
        steps = () if people.most is None else (kept,)
        before = row_sets(rows)
        return Made(
            _visible(whose, card, there),
            {**parameters, **told, "units": int(before.people.sum())},
            (*steps, *found.steps, self._linked_step(unit)),
            assumes=assumptions(_without(rows, there), self.models),
            caveats=(*caveats_of(rows, self.models, found, None), *steps, *(said_of_withheld(other) if other else ())),
            holder=_links(_numbers_of(_visible(whose, whose.card, there), number)),
            title=f"{table.card.name}, published",
            context=_Released(whose, card, second, before, found, there),
            also=None if second is None else _people_rows(whose, second),
            others=() if other is None else (other,),
        )

    def _linked_step(self, unit: str) -> str:
        if isinstance(self.people, Unlinked):
            return f"Nothing in the release says which rows belong to the same {unit}."
        return f"{self.people.pseudonym} is a random number for each {unit}, drawn for this release alone."

    def recheck(self, made: Made[Any], written: pa.Table | Rows, promised: Statement) -> Made[Any]:
        """Check the models, whose rows these are and that none is lost, on the rows as they were written."""
        released: _Released = made.context
        if isinstance(self.people, Unlinked):
            out, wrong = released.whose, "" if _same_rows(written, released) else "has other rows"
        else:
            out, wrong = read(_source(written), released.card), ""
            if made.also is not None:
                try:
                    other = read(_source(made.also), cast("Card", released.other))
                    out = join_people(out, other, released.there or unused_name("there", released.whose.columns))
                except (BadInput, DataError) as error:
                    raise NoPromise(f"The result is not linked correctly: {error.message}") from error
        verdicts = check_all(out, self.models)
        broken = [verdict.claim.text for verdict in verdicts if not verdict.holds]
        after, found, before = row_sets(out), released.found, released.before
        rows = int((after.people * after.lengths).sum())
        wrong = wrong or (f"is not {' and not '.join(broken)}" if broken else "")
        if wrong or rows != int((before.people * before.lengths).sum()) - found.suppressed:
            raise NoPromise(
                f"The recoded {out.card.name} {wrong or 'does not have the expected rows'}. Nothing was released.",
                hint="This is a bug of the method, or the table changed meanwhile: try again.",
            )
        fewest, sizes = after.fewest_people(), _sizes(after)
        counted = {
            "released": _source_rows(written),
            "released_units": sizes.rows,
            "classes": sizes.count,
            "smallest_class": sizes.smallest,
            "known_rows": fewest,
        }
        if isinstance(self.people, Unlinked):
            said = (
                f"An intruder who knows a row of a person finds equal rows of at least {fewest['1'] or 0:,} "
                "people, of whom "
                f"none has more than {after.largest_share():.1%}. Nothing in the release says which rows "
                "belong to the "
                f"same person. An intruder who knew that would learn no more than this: {known_rows(fewest)} "
                f"{SET_OF_ROWS}"
            )
        else:
            said = f"Rows of one person are linked by {self.people.pseudonym}. {known_rows(fewest)} {SET_OF_ROWS}"
        first, *rest = made.caveats
        caveats = (first, said, *(caveat for verdict in verdicts for caveat in verdict.caveats), *rest)
        lost = {name: share for name, share in column_losses(found).items() if name != released.there}
        drawn = pictures(_sizes(before), sizes, lost, "people")
        return replace(made, parameters={**made.parameters, **counted}, caveats=caveats, pictures=drawn)

    def alternatives(self, made: Made[Any], table: Table, clashing: Sequence[Entry]) -> Iterator[Alternative[Any]]:
        """None: it is not checked together with others."""
        return iter(())

    def facts(self, made: Made[Any], table: Table) -> Facts:
        """None: figures are of people with one row each."""
        return Opaque("people have several rows in it, so its facts are not figures")


_BY_COLUMN = ("levels", "lost", "limits")
"""Parameters of a recipe with an entry for each column."""


def _without(rows: Table, name: str) -> Table:
    """The rows without a column, if there is one of that name."""
    return rows.select(*(one for one in rows.columns if one != name)) if name else rows


def _only(card: Card, names: Sequence[str], name: str) -> Card:
    """The card with some columns, in the order they have."""
    columns = tuple(column for column in card.columns if column.name in names)
    return replace(card, name=name, columns=columns, unit=card.unit if card.unit in names else None)


def _visible(rows: Table, card: Card, there: str) -> Table:
    """The columns of a card, of the rows that are the table's own."""
    found = exp.select(*(sql.column(column.name) for column in card.columns)).from_(rows.relation.subquery("t"))
    return Table(card, rows.engine, found.where(sql.column(there)) if there else found)


def _people_rows(rows: Table, card: Card) -> Table:
    """The columns of the other table, a row for each person."""
    columns = [sql.column(column.name) for column in card.columns]
    found = exp.select(*columns).from_(rows.relation.subquery("t")).distinct()
    return Table(card, rows.engine, found.order_by(sql.column(str(card.unit))))


def _source(written: Any) -> Any:
    return written.path if isinstance(written, Rows) else written


def _source_rows(written: pa.Table | Rows) -> int:
    import pyarrow.parquet as pq

    return pq.read_metadata(written.path).num_rows if isinstance(written, Rows) else written.num_rows


def _same_rows(written: pa.Table | Rows, released: _Released) -> bool:
    """Whether the rows that were written are those of the people they are said to be of, each as often."""
    engine, names = released.whose.engine, [sql.column(column.name) for column in released.card.columns]
    if isinstance(written, Rows):
        shown = open_file(written.path, None, cast("DuckDB", engine))[1]
    else:
        shown = engine.lend(written)
    mine = exp.select(*names).from_(released.whose.relation.subquery("a"))
    theirs = exp.select(*(name.copy() for name in names)).from_(shown.subquery("b"))
    apart = [exp.except_(a.copy(), b.copy(), distinct=False) for a, b in ((mine, theirs), (theirs, mine))]
    return not any(engine.fetch(one.limit(1)).num_rows for one in apart)


def _sizes(sets: RowSets) -> Sizes:
    """Number of classes of people of each size."""
    sizes, counts = np.unique(sets.people, return_counts=True)
    return Sizes(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
