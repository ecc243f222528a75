"""A table: a card and a relation on an engine, lazy, Arrow on the way out; and whether its rows keep to the card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.core import markup, sql
from discreet.core.card import Card, Column, ExposurePolicy, Role
from discreet.core.edit_rules import known, named
from discreet.core.engine import Engine
from discreet.core.hierarchy.hierarchy import TOP, apply, unknown
from discreet.core.kind import Kind
from discreet.core.text import number
from discreet.errors import BadInput, DataError, HierarchyError, NotFound

if TYPE_CHECKING:
    import pyarrow as pa


REGISTER_SUFFIX = ".register.db"
"""How the name of a register beside a card ends."""


@dataclass(frozen=True, repr=False)
class Table:
    """Records about people: where they are stored, and the card that describes them.

    Nothing runs until rows or figures are asked for. The relation shows the card's columns and no others:
    what no one has declared is not there. A row stays its unit's, whatever is done to it.
    """

    card: Card
    engine: Engine
    relation: exp.Query
    unseen: tuple[str, ...] = ()
    """Columns of the source that the card does not declare."""
    withheld: tuple[str, ...] = ()
    """Columns that stay behind when something is made of this table: see ``core/identifiers.py``."""
    source: str = ""
    """Where the rows came from: a full path, or an address without its password; empty for rows in memory."""
    registers: tuple[str, ...] = ()
    """Places of the registers that list what was released of these people (``releases/register.py``)."""
    unchosen: exp.Query | None = None
    """The rows before any was left out by a condition; ``None`` if none was, or columns were changed since."""
    whole: exp.Query | None = None
    """The rows before the first condition, with the columns as they were then; ``None`` if there was none."""
    chosen: tuple[exp.Expr, ...] = ()
    """The conditions that chose the rows, those of a query that is their source included."""
    chosen_by: tuple[str, ...] = ()
    """Columns in them that everyone knows of everyone: quasi-identifiers, identifiers and the unit. They need not be
    among the columns any longer."""
    policy: ExposurePolicy = field(default_factory=ExposurePolicy)
    """What a release may give away together with those."""
    misfits: tuple[Violation, ...] = ()
    """Values that are not as the card says they are written, and were taken for missing as it says."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.card.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types the rows will have."""
        return self.engine.schema(self.relation)

    def fetch(self) -> pa.Table:
        """All rows, identifiers included: for the holder's eyes."""
        return self.engine.fetch(self.relation)

    def payload(self) -> pa.Table:
        """All rows without identifiers and unit: what a release may hold."""
        kept = [c.name for c in self.card.columns if c.role is not Role.IDENTIFIER and c.name != self.card.unit]
        if not kept:
            raise BadInput(f"Every column of {self.card.name} is an identifier: there is nothing to release.")
        return self.engine.fetch(self.query(*map(sql.column, kept)))

    def stream(self) -> pa.RecordBatchReader:
        """All rows, a batch at a time."""
        return self.engine.stream(self.relation)

    def head(self, rows: int = 10) -> pa.Table:
        """Some rows, in no particular order."""
        return self.engine.fetch(self.query(exp.Star()).limit(rows))

    def count(self) -> int:
        """How many rows there are."""
        counted = self.engine.fetch(self.query(sql.named(sql.count_rows(), "n")))
        return int(counted.column(0)[0].as_py())

    def query(self, *what: exp.Expr) -> exp.Select:
        """The query that selects ``what`` from the rows, to build on."""
        return exp.select(*what, copy=False).from_(self.relation.subquery("t"), copy=False)

    def select(self, *names: str) -> Table:
        """The same rows with these columns only; the unit must be among them, or a row would become a person."""
        columns = tuple(self.card[name] for name in names)
        if self.card.unit is not None and self.card.unit not in names:
            raise BadInput(
                f"The unit {self.card.unit!r} must be selected: it identifies the person of each row.",
                hint="Select it too; payload() leaves it out of what is released.",
            )
        card = replace(self.card, columns=columns, stable=tuple(one for one in self.card.stable if one in names))
        return replace(self, card=card, relation=self.query(*map(sql.column, names)), unchosen=None)

    def where(self, condition: exp.Expr | str) -> Table:
        """The rows for which ``condition`` holds: an expression, or a text such as ``"age < 79 AND sex = 'f'"``."""
        if isinstance(condition, str):
            found = known(condition, self.columns)
            if found is None:
                names = ", ".join(name for name in named(condition) if name not in self.columns)
                raise NotFound(f"{self.card.name} has no column {names}.", hint=f"It has {', '.join(self.columns)}.")
            condition = found
        condition = self._spelled(condition)
        before = self.relation if self.whole is None else self.unchosen
        kept = self.query(exp.Star()).where(condition)
        used = {column.name for column in condition.find_all(exp.Column)}
        public = (*self.card.having(Role.QUASI), *self.card.having(Role.IDENTIFIER))
        known_to_all = used & {self.card.unit, *(one.name for one in public)}
        return replace(
            self,
            relation=kept,
            unchosen=before,
            whole=self.whole or self.relation,
            chosen=(*self.chosen, condition.copy()),
            chosen_by=(*self.chosen_by, *sorted(known_to_all)),
        )

    def _spelled(self, condition: exp.Expr) -> exp.Expr:
        """A condition with the columns as the card spells them; an error if it names another."""
        spelled = {name.casefold(): name for name in self.columns}
        condition = condition.copy()
        for one in condition.find_all(exp.Column):
            if one.name.casefold() in spelled:
                one.set("this", exp.to_identifier(spelled[one.name.casefold()], quoted=True))
            elif condition.find(exp.Query) is None:
                raise NotFound(f"{self.card.name} has no column {one.name}.", hint=f"It has {', '.join(self.columns)}.")
        return condition

    def despite(self, reason: str | None) -> Table:
        """The same rows, to be released even if that exposes someone together with earlier releases.

        The statement and the register quote the reason; ``None`` withdraws it."""
        if reason is None:
            return self
        if not reason.strip(" ."):
            raise BadInput("Give the reason to release it anyway: the statement and the register quote it.")
        return replace(self, policy=replace(self.policy, despite=reason))

    def histogram(self, *names: str, levels: Mapping[str, int] | None = None) -> pa.Table:
        """The distinct value combinations of ``names`` (default: the quasi-identifiers) and how many rows have each.

        The count is the last column, ``n`` (``n_``, if a column has that name). With ``levels`` the values
        are generalised first. This is all that searches and checks see of the rows.
        """
        names = names or self.quasi()
        for name in levels or ():
            if name not in names:
                raise NotFound(f"{name!r} has no level here: the histogram is of {', '.join(names)}.")
        table = self.generalize(levels) if levels else self
        return self.engine.fetch(table.histogram_query(*names))

    def histogram_query(self, *names: str) -> exp.Select:
        """The query behind ``histogram``, to build larger ones on."""
        keys = [sql.column(self.card[name].name) for name in names]
        counted = sql.named(sql.count_rows(), count_name(names))
        return self.query(*keys, counted).group_by(*(key.copy() for key in keys))

    def generalize(self, levels: Mapping[str, int]) -> Table:
        """The same rows with each named column at its level of its hierarchy.

        A value that a hierarchy does not know is an error here, and not a NULL in the result.
        """
        shown: dict[str, exp.Expr] = {name: sql.column(name) for name in self.columns}
        shown |= {name: self._at_level(self.card[name], level) for name, level in levels.items()}
        require_known(self, [name for name, level in levels.items() if 0 < level < self._height(name)])
        columns = (
            Column(column.name, Kind.TEXT, column.role, note=column.note) if levels.get(column.name, 0) else column
            for column in self.card.columns
        )
        card = replace(self.card, columns=tuple(columns))
        return replace(self, card=card, relation=self.query(*shown.values()), unchosen=None)

    def store(self, name: str) -> Table:
        """The same rows as a table of the engine's own, so that later questions do not compute them again."""
        self.engine.store(name, self.relation)
        return replace(self, relation=exp.select(*map(sql.column, self.columns)).from_(sql.table(name)))

    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers; an error if the card declares none."""
        names = tuple(column.name for column in self.card.having(Role.QUASI))
        if not names:
            raise NotFound(
                f"The card of {self.card.name} declares no quasi-identifier.",
                hint='Declare role = "quasi" for the columns an outsider may know.',
            )
        return names

    def _height(self, name: str) -> int:
        hierarchy = self.card[name].hierarchy
        return hierarchy.height if hierarchy else 1

    def _at_level(self, column: Column, level: int) -> exp.Expr:
        value = sql.column(column.name)
        if isinstance(level, bool) or not isinstance(level, int):
            raise BadInput(f"The level of {column.name!r} is a whole number, not {level!r}.")
        if level == 0:
            return value
        if column.name == self.card.unit:
            raise BadInput(f"The unit {column.name!r} identifies people, and is not generalised.")
        if column.hierarchy is None:
            if level != 1:
                raise HierarchyError(f"Column {column.name!r} has no hierarchy: it can be kept (0) or suppressed (1).")
            return sql.named(exp.cast(exp.Literal.string(TOP), exp.DType.TEXT), column.name)
        return sql.named(apply(column.hierarchy, value, level, column.kind), column.name)

    def __str__(self) -> str:
        lines = [f"{self.card.name} on {self.engine.title}"]
        width = max(map(len, self.columns))
        for column in self.card.columns:
            line = f"  {column.name:<{width}}  {column.kind.value:<9}  {column.role.value:<10}  {column.declared}"
            lines.append(line.rstrip())
        lines += [f"  treated as missing: {one}" for one in self.misfits]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = ((c.name, c.kind.value, c.role.value, c.declared) for c in self.card.columns)
        return markup.table(
            ("column", "kind", "role", "declared"), cells, caption=f"{self.card.name} on {self.engine.title}"
        )


def count_name(names: Iterable[str]) -> str:
    """What the count of a histogram over ``names`` is called: ``n``, or ``n_`` if that is taken."""
    taken = {name.casefold() for name in names}
    name = "n"
    while name in taken:
        name += "_"
    return name


# -- whether rows keep to their card


@dataclass(frozen=True)
class Violation:
    """A column, how many of its rows (or units) break the card and in what way, and a few of the values."""

    column: str
    count: int
    what: str
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = f" (such as {', '.join(self.examples)})" if self.examples else ""
        return f"{self.column}: {self.what}{shown}"


@dataclass(frozen=True)
class _Test:
    column: str
    what: str
    broken: exp.Expr


def violations(table: Table) -> tuple[Violation, ...]:
    """Every way in which the rows break their card."""
    tests = [test for column in table.card.columns for test in _tests(column)]
    if table.card.unit is not None:
        tests.append(_Test(table.card.unit, "without a unit", sql.column(table.card.unit).is_(exp.null())))
    return (*_run(table, tests), *_crowded(table))


def require_valid(table: Table) -> None:
    """Raise an error that lists every violation, if there is any."""
    if found := violations(table):
        raise DataError(
            f"{table.card.name} does not fit its card:{_listed(found)}",
            hint="\nCorrect the data, or declare on the card what is true.",
        )


def require_known(table: Table, names: Iterable[str]) -> None:
    """Raise an error if a named column has values its hierarchy does not know."""
    found = _run(table, [test for name in names for test in _unknown(table.card[name])])
    if found:
        raise HierarchyError(
            f"Some values are not in their hierarchy:{_listed(found)}",
            hint='\nAdd them to the hierarchy, or declare other = "other" in it.',
        )


def _tests(column: Column) -> Iterable[_Test]:
    value = sql.column(column.name)
    if column.required:
        yield _Test(column.name, "without a value that is required", _missing(column))
    if column.max_length is not None:
        beyond = exp.GT(this=exp.Length(this=value.copy()), expression=sql.literal(column.max_length))
        yield _Test(column.name, f"longer than {column.max_length:,} characters", beyond)
    if column.categories is not None:
        allowed = [sql.literal(category) for category in column.categories]
        yield _Test(column.name, "outside the declared categories", exp.not_(exp.In(this=value, expressions=allowed)))
    if column.bounds is not None:
        low, high = map(sql.literal, column.bounds)
        outside = exp.or_(exp.LT(this=value.copy(), expression=low), exp.GT(this=value.copy(), expression=high))
        yield _Test(column.name, "outside the declared bounds", outside)
    yield from _unknown(column)


def _missing(column: Column) -> exp.Expr:
    """Whether there is no value; NaN is none."""
    missing = sql.column(column.name).is_(exp.null())
    if column.kind is not Kind.REAL:
        return missing
    return exp.or_(missing, sql.column(column.name).eq(exp.cast(sql.literal("NaN"), exp.DType.DOUBLE)))


def _unknown(column: Column) -> Iterable[_Test]:
    if column.hierarchy is None:
        return
    condition = unknown(column.hierarchy, sql.column(column.name), column.kind)
    if condition is not None:
        yield _Test(column.name, "unknown to the hierarchy", condition)


def _run(table: Table, tests: list[_Test]) -> tuple[Violation, ...]:
    counts = sql.aggregates(table.engine, table.relation, [sql.count_if(test.broken) for test in tests])
    return tuple(
        Violation(test.column, rows, f"{number(rows, 'row is', 'rows are')} {test.what}", _examples(table, test))
        for test, rows in zip(tests, counts, strict=True)
        if rows
    )


def _examples(table: Table, test: _Test) -> tuple[str, ...]:
    values = table.query(sql.column(test.column)).where(test.broken).distinct().limit(3)
    return tuple(sorted(repr(value) for value in table.engine.fetch(values).column(0).to_pylist()))


def _crowded(table: Table) -> Iterable[Violation]:
    """Units with more rows than the card allows."""
    unit, most = table.card.unit, table.card.rows_per_unit
    if unit is None or most is None:
        return
    rows = table.query(sql.named(sql.count_rows(), "n")).where(sql.column(unit).is_(exp.null()).not_())
    rows = rows.group_by(sql.column(unit))
    over = exp.select(sql.named(sql.count_rows(), "units")).from_(rows.subquery("u")).where(sql.column("n") > most)
    units = table.engine.fetch(over).column(0)[0].as_py()
    if units:
        yield Violation(unit, units, f"{number(units, 'unit has', 'units have')} more than the declared {most} rows")


def _listed(found: Iterable[Violation]) -> str:
    return "".join(f"\n  {violation}" for violation in found)
