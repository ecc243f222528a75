"""Drafts of several tables at once: which columns are keys of other tables, and whose rows they are.

A column refers to a key (a column of identifiers that no two rows share) if its name says so and nine in ten of its
values are there, counted on the engine. Cards have no field for that: two tables are about the same people if their
units have one name and one kind, and are checked together if they have one population. So the keys of people become
units, and tables that are linked with them get their population; all other links are told in comments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.draft import Draft, dump_drafts, rows_each, says_person, unit_question
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.markup import Markup, drawing, tag
from discreet.core.report import Picture
from discreet.core.text import words
from discreet.errors import NotFound

_INCLUDED = 0.9
_GENERIC = frozenset({"id", "nr", "no", "number", "nummer", "key", "code", "identifier", "numero"})
_SHEET = (
    "text{font:13px system-ui,sans-serif;fill:#222}.box,.link{fill:none;stroke:#667}.head{fill:#dde4f0}"
    ".role{fill:#667}.link{stroke:#0a58ca;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#eee}"
    ".head{fill:#333f55}.role{fill:#aab}.link{stroke:#7fb2ff}}"
)
_WIDE, _GAP, _LINE, _SHOWN = 230, 90, 22, 20
"""Size of a table in the picture, and the gap between two, in pixels; lines of a table that are shown."""


@dataclass(frozen=True)
class Link:
    """A column whose values are keys of another table."""

    table: str
    column: str
    parent: str
    key: str
    values: int
    """Different values of the column."""
    included: int
    """Those of them that are among the keys."""
    rows: str
    """How many rows each has, in words."""

    def __str__(self) -> str:
        some = "all" if self.included == self.values else f"{self.included:,} of"
        ends = f"{self.table}.{self.column} → {self.parent}.{self.key}"
        return f"{ends}: {some} {self.values:,} values are there; {self.rows}"


@dataclass(frozen=True)
class Drafts:
    """Drafts of several tables, and how they are linked."""

    tables: tuple[Draft, ...]
    links: tuple[Link, ...]

    def __getitem__(self, name: str) -> Draft:
        for one in self.tables:
            if one.card.name == name:
                return one
        raise NotFound(f"There is no draft of {name!r}; there are {', '.join(one.card.name for one in self.tables)}.")

    def to_toml(self) -> str:
        """The cards as TOML in one file, with the reasons as comments."""
        return dump_drafts(self.tables)

    __str__ = to_toml

    def picture(self) -> Picture:
        """The tables with their columns and roles, and a line from each column to the key that it refers to."""
        return _drawn(self)

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()


@dataclass(frozen=True)
class DraftedTable:
    """A draft and the rows that it was made from."""

    draft: Draft
    engine: Engine
    relation: exp.Query

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.draft.card.name

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Columns of identifiers that no two rows share."""
        names = [one.name for one in self.draft.card.having(Role.IDENTIFIER) if one.kind in (Kind.INTEGER, Kind.TEXT)]
        counts = [exp.Count(this=exp.Distinct(expressions=[sql.column(one)])) for one in names]
        found = sql.aggregates(self.engine, self.relation, counts)
        return tuple(name for name, count in zip(names, found, strict=True) if count == self.draft.rows > 0)


def link_drafts(parts: Sequence[DraftedTable]) -> Drafts:
    """Find keys and what refers to them, and give the tables their units and populations."""
    links = tuple(link for child in parts for parent in parts if child is not parent for link in _links(child, parent))
    people = _people(links)
    return Drafts(tuple(_with_people(part, links, people) for part in parts), links)


def _links(child: DraftedTable, parent: DraftedTable) -> Iterator[Link]:
    if child.engine is not parent.engine:
        return  # no query can see both
    for key in parent.keys:
        kind = parent.draft.card[key].kind
        for column in child.draft.card.columns:
            if column.kind is not kind or not _refers(column.name, parent.name, key):
                continue
            value = sql.column(column.name)
            values = exp.select(sql.named(value, "v")).distinct().from_(child.relation.subquery("t"))
            keys = exp.select(sql.named(sql.column(key), "k")).from_(parent.relation.subquery("t"))
            both = (
                exp.select(sql.column("v"), sql.column("k"))
                .from_(values.where(value.copy().is_(exp.null()).not_()).subquery("c"))
                .join(keys.subquery("p"), on=sql.column("v").eq(sql.column("k")), join_type="left")
            )
            counts = [sql.count_rows(), exp.Count(this=sql.column("k"))]
            different, included = sql.aggregates(child.engine, both, counts)
            if different and included >= _INCLUDED * different:
                rows = rows_each(child.engine, child.relation, column.name)
                yield Link(child.name, column.name, parent.name, key, different, included, rows)


def _refers(column: str, parent: str, key: str) -> bool:
    """Whether a name of a column speaks of the key of a table: patient_id of patients.id, or one name in both."""
    said, keyed, of = (_singular(one) for one in (column, key, parent))
    if not said - _GENERIC:
        return False
    return said == keyed or (of <= said and bool(said & keyed or not keyed - _GENERIC))


def _singular(name: str) -> frozenset[str]:
    return frozenset(one.removesuffix("s") for one in words(name))


def _people(links: Sequence[Link]) -> tuple[str, str] | None:
    """The table and key of the people: what its name says, else what is referred to and refers to nothing."""
    parents = dict.fromkeys((link.parent, link.key) for link in links)
    children = {link.table for link in links}
    ranked = sorted(parents, key=lambda one: (not says_person(one[0]), not says_person(one[1]), one[0] in children))
    return ranked[0] if ranked else None


def _with_people(part: DraftedTable, links: Sequence[Link], people: tuple[str, str] | None) -> Draft:
    """The draft with the unit that its links speak for, and all of them in comments."""
    drafted = part.draft
    about = tuple(f"{link}." for link in links if part.name in (link.table, link.parent))
    if people is None or not about:
        return drafted
    name, key = people
    own = [link.column for link in links if link.table == part.name and (link.parent, link.key) == people]
    if part.name == name or own:
        unit = own[0] if own else key
        if unit != key:
            about += (f"Queries join tables whose units have the same name: rename {unit}, or {key} of {name}.",)
        whose: Mapping[str, tuple[str, ...]] = (
            {unit: unit_question(part.engine, part.relation, unit)}
            if own
            else {unit: (f"Other tables refer to {unit}, so it is taken as the unit, the person of each row.",)}
        )
        columns = tuple(
            replace(one, role=Role.IDENTIFIER, hierarchy=None, bounds=None, categories=None, from_data=())
            if one.name == unit
            else one
            for one in drafted.card.columns
        )
        card = replace(drafted.card, columns=columns, unit=unit, population=name)
        return replace(drafted, card=card, whose=whose, about=about)
    if any(link.table == part.name for link in links):
        through = next(link.parent for link in links if link.table == part.name)
        about += (
            f"The person of each row is only known by a join with {through}: add {key} of {name} to this table, and "
            "declare it as unit.",
        )
        return replace(drafted, card=replace(drafted.card, unit=None), whose={}, about=about)
    return replace(drafted, about=about)


def _drawn(drafts: Drafts) -> Picture:
    ends = {(link.table, link.column) for link in drafts.links} | {(link.parent, link.key) for link in drafts.links}
    places: dict[tuple[str, str], tuple[int, int]] = {}
    boxes: list[Markup] = []
    tallest = 0
    for number, one in enumerate(drafts.tables):
        left, name = number * (_WIDE + _GAP) + 1, one.card.name
        columns = sorted(one.card.columns, key=lambda column: (name, column.name) not in ends)[:_SHOWN]
        height = (len(columns) + 1) * _LINE + 8
        tallest = max(tallest, height)
        boxes.append(tag("rect", class_="head", x=left, y=1, width=_WIDE, height=_LINE + 4))
        boxes.append(tag("rect", class_="box", x=left, y=1, width=_WIDE, height=height))
        boxes.append(tag("text", name, x=left + 8, y=18, font_weight="bold"))
        for row, column in enumerate(columns, 1):
            middle = row * _LINE + 16
            places[name, column.name] = left, middle - 4
            boxes.append(tag("text", column.name[:20], x=left + 8, y=middle))
            boxes.append(tag("text", column.role.value, class_="role", x=left + _WIDE - 8, y=middle, text_anchor="end"))
    for link in drafts.links:
        (x1, y1), (x2, y2) = places[link.table, link.column], places[link.parent, link.key]
        x1, x2 = (x1, x2 + _WIDE) if x2 < x1 else (x1 + _WIDE, x2)
        bend = (x1 + x2) // 2
        boxes.append(tag("path", class_="link", d=f"M{x1} {y1}C{bend} {y1} {bend} {y2} {x2} {y2}"))
    width = len(drafts.tables) * (_WIDE + _GAP) - _GAP + 2
    said = "; ".join(map(str, drafts.links)) or "No table refers to another."
    return Picture(
        "Tables and keys", said, drawing(width, tallest + 2, "Tables and keys", boxes, said=said, sheet=_SHEET)
    )
