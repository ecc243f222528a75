"""Does the data keep to its card? Asked of the engine in one pass, answered for the holder's eyes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.hierarchy.expression import unknown
from discreet.core.kind import Kind
from discreet.core.text import number
from discreet.errors import DataError, HierarchyError

if TYPE_CHECKING:
    from discreet.core.table import Table


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
        tests.append(_Test(table.card.unit, "nobody's", sql.column(table.card.unit).is_(exp.null())))
    return (*_run(table, tests), *_crowded(table))


def require_valid(table: Table) -> None:
    """Raise an error that lists every violation, if there is any."""
    if found := violations(table):
        raise DataError(
            f"{table.card.name} does not keep to its card:{_listed(found)}",
            hint="\nMend the data, or declare on the card what is true.",
        )


def require_known(table: Table, names: Iterable[str]) -> None:
    """Raise an error if a named column has values its hierarchy does not know."""
    found = _run(table, [test for name in names for test in _unknown(table.card[name])])
    if found:
        raise HierarchyError(
            f"Some values have no place in their hierarchy:{_listed(found)}",
            hint='\nAdd them to the hierarchy, or declare other = "other" in it.',
        )


def _tests(column: Column) -> Iterable[_Test]:
    value = sql.column(column.name)
    if column.required:
        yield _Test(column.name, "without a value that is required", _missing(column))
    if column.longest is not None:
        beyond = exp.GT(this=exp.Length(this=value.copy()), expression=sql.literal(column.longest))
        yield _Test(column.name, f"longer than {column.longest:,} characters", beyond)
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
    if not tests:
        return ()
    counts = [sql.named(sql.count_if(test.broken), f"c{i}") for i, test in enumerate(tests)]
    counted = table.engine.fetch(table.query(*counts))
    return tuple(
        Violation(test.column, rows, f"{number(rows, 'row is', 'rows are')} {test.what}", _examples(table, test))
        for test, rows in zip(tests, counted.to_pylist()[0].values(), strict=True)
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
