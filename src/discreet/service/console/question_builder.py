"""Questions without SQL: the choices of the question builder, and the SQL that they stand for.

All choices come from the table's card: columns, categories, bounds. Nothing is taken from the data. Names and values
enter the question as sqlglot nodes, which quote them, so none of them can become a part of the SQL around it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from math import ceil, floor, log10
from typing import Any

from sqlglot import exp

from discreet.core import sql as trees
from discreet.core.card import Card, Column, Role
from discreet.core.kind import MOMENTS, NUMBERS, Kind, Scalar
from discreet.errors import BadInput
from discreet.service.console.suggest import needs_quotes
from discreet.verbs.ask.postprocess import ERROR

ROWS, PEOPLE = "rows", "people"
AMOUNTS = {"average": "Average of", "total": "Sum of", "median": "Median of"}
"""Figures of a column, by how the builder calls them."""
ORDERS = {"": "in table order", "down": "largest first", "up": "smallest first"}
TRUTHS = {"true": True, "false": False}
NO_VALUE = ("missing", "present")
"""Comparisons that need no value."""
MOST_FIGURES, MOST_GROUPINGS, MOST_CONDITIONS = 3, 2, 8
"""Most figures, groupings and conditions of one question."""
_MOST = MOST_FIGURES, MOST_GROUPINGS, MOST_CONDITIONS
_BINS = (3, 60)
"""Fewest and most bins that are offered."""
_USUAL_BINS = 10
_BIN = "bin "
_FEW = 40
"""Longest list of values that an example groups by."""
_LINE = 90
"""Longest line of the SQL, characters."""
_CUT = {"quarter": "quarter", "month": "month", "day": "day"}
_PARTS = {"year": "YEAR", "month of the year": "MONTH", "weekday (1 is Monday)": "ISODOW", "hour of the day": "HOUR"}
_SUFFIXES = {"MONTH": "month_of_year", "ISODOW": "weekday"}
_AGGREGATES = {"average": exp.Avg, "total": exp.Sum, "median": exp.Median}
_IN_LIST = {"in": "is", "not in": "is not"}
_OF_NUMBERS = {"=": "equals", ">=": "at least", "<=": "at most", ">": "above", "<": "below"}
_OF_MOMENTS = {">=": "from", "<": "before"}
_OF_TEXTS = {"=": "is", "<>": "is not", "begins": "begins with"}
_OPERATORS = {"=": exp.EQ, "<>": exp.NEQ, ">=": exp.GTE, "<=": exp.LTE, ">": exp.GT, "<": exp.LT}


@dataclass(frozen=True)
class Measure:
    """A figure to ask for: a count, or an aggregate of a column."""

    figure: str = ROWS
    column: str = ""


@dataclass(frozen=True)
class Grouping:
    """A column to group by, in steps: a part of a date, bins of a width, or each value."""

    column: str
    step: str = ""


@dataclass(frozen=True)
class Condition:
    """A condition on a column. Values are texts, as they are typed or listed."""

    column: str
    comparison: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choices:
    """Everything that is chosen in the builder."""

    table: str
    measures: tuple[Measure, ...] = (Measure(),)
    groupings: tuple[Grouping, ...] = ()
    conditions: tuple[Condition, ...] = ()
    order: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Any) -> Choices:
        """The choices in plain data, which may come from anywhere; ``BadInput`` if it has another shape or too many."""
        try:
            found = cls(
                _text(fields["table"]),
                tuple(Measure(_text(one["figure"]), _text(one["column"])) for one in fields["measures"]),
                tuple(Grouping(_text(one["column"]), _text(one["step"])) for one in fields["groupings"]),
                tuple(
                    Condition(_text(one["column"]), _text(one["comparison"]), tuple(map(_text, one["values"])))
                    for one in fields["conditions"]
                ),
                _text(fields["order"]),
            )
        except (KeyError, TypeError):
            raise BadInput("These are not the choices of a question.") from None
        counts = len(found.measures), len(found.groupings), len(found.conditions)
        if any(count > most for count, most in zip(counts, _MOST, strict=True)):
            raise BadInput("These are too many choices for one question.")
        return found


def examples(table: str, card: Card) -> list[tuple[str, Choices]]:
    """Questions that a table's card allows, each with what it asks."""
    count = Measure(next(iter(figures(card))))
    found = [(_figure_title(count, table), Choices(table, (count,)))]
    rows = count if ROWS not in figures(card) else Measure()
    listed_ = [one.name for one in _open(card) if 0 < len(listed(one)) <= _FEW]
    dates = [one for one in _open(card) if one.kind in MOMENTS and one.bounds is not None]
    found += [(f"{table} by {name}", Choices(table, (rows,), (Grouping(name),))) for name in listed_[:1]]
    for date in dates[:1]:
        step = next(iter(steps(date)))
        found.append((f"{table} by {step}", Choices(table, (rows,), (Grouping(date.name, step),))))
    for name in amounts(card)[:1]:
        found.append((f"Average {name}", Choices(table, (Measure("average", name),))))
        found.append((f"Median {name}", Choices(table, (Measure("median", name),))))
    if len(listed_) > 1:
        pair = tuple(Grouping(name) for name in listed_[:2])
        found.append((f"{table} by {listed_[0]} and {listed_[1]}", Choices(table, (rows,), pair)))
    return found


def figures(card: Card) -> dict[str, str]:
    """The figures that a card allows: counts, and of numbers with declared bounds their average, sum and median."""
    counts = {ROWS: "Number of rows"}
    if card.unit is not None:
        people = {PEOPLE: "Number of people"}
        counts = people if card.rows_per_unit == 1 else people | counts
    return counts | (AMOUNTS if amounts(card) else {})


def amounts(card: Card) -> list[str]:
    """The columns that can be averaged and added up: numbers with bounds or categories."""
    found = (one for one in _open(card) if one.kind in NUMBERS)
    return [one.name for one in found if one.bounds is not None or one.categories is not None]


def groups(card: Card) -> list[str]:
    """The columns that can be grouped by."""
    return [one.name for one in _open(card) if steps(one)]


def filters(card: Card) -> list[str]:
    """The columns that conditions can be on."""
    return [one.name for one in _open(card)]


def steps(column: Column) -> dict[str, str]:
    """The steps that a column can be grouped in, the usual one first."""
    if column.kind in MOMENTS:
        hours = column.kind is Kind.TIMESTAMP
        parts = [name for name in _PARTS if hours or _PARTS[name] != "HOUR"]
        usual = ["year", "month"] if _spans_decades(column) else ["month", "year"]
        return {name: name for name in [*usual, "quarter", "day", *parts[1:]]}
    whole = {"": "each value"}
    if column.kind in NUMBERS and column.bounds is not None:
        bins = {f"{_BIN}{width}": f"bins of {width:,}" for width in _widths(column)}
        if column.kind is not Kind.INTEGER:
            return bins
        many = column.bounds[1] - column.bounds[0] > _BINS[1]  # type: ignore[operator]
        return bins | whole if many else whole | bins
    return {} if column.kind in (Kind.REAL, Kind.DECIMAL) and column.categories is None else whole


def comparisons(column: Column) -> dict[str, str]:
    """The comparisons that a condition on a column can make."""
    if listed(column):
        found = _IN_LIST
    elif column.kind in MOMENTS:
        found = _OF_MOMENTS
    else:
        found = _OF_NUMBERS if column.kind in NUMBERS else _OF_TEXTS
    return found if column.required else found | {"present": "has a value", "missing": "has no value"}


def listed(column: Column) -> tuple[str, ...]:
    """The values of a column that its card lists, as texts; none if it lists none."""
    return tuple(TRUTHS) if column.kind is Kind.BOOLEAN else tuple(map(str, column.categories or ()))


def column_of(card: Card, name: str) -> Column:
    """A column that can be chosen; ``BadInput`` if the card has none of this name."""
    for one in _open(card):
        if one.name == name:
            return one
    raise BadInput(f"There is no column {name!r} to choose.", hint=f"Choose among {', '.join(filters(card))}.")


def sql_of(choices: Choices, card: Card) -> str:
    """The SQL of a question; ``BadInput`` says what is still to be chosen, or is no such value."""
    if not choices.measures:
        raise BadInput("Nothing to compute is chosen.", hint="Add a figure, such as the number of rows.")
    names = _Names()
    keys = [_key(one, column_of(card, one.column)) for one in choices.groupings]
    if len({key.group.sql() for key in keys}) < len(keys):
        raise BadInput("The same grouping is chosen twice.", hint="Remove one of the two.")
    shown = [_named(key.shown, names.own(key.name)) for key in keys]
    measured = [(_aggregate(one, card), names.own(_figure_name(one), error=True)) for one in choices.measures]
    conditions = [_condition(one, column_of(card, one.column)) for one in choices.conditions]
    order = []
    if choices.order and keys:
        order = [exp.Ordered(this=_identifier(measured[0][1]), desc=choices.order == "down")]
    return "\n".join(
        [
            *_clause("SELECT", [*shown, *(_named(*one) for one in measured)], ", "),
            f"FROM {_written(_identifier(choices.table))}",
            *_clause("WHERE", conditions, " AND "),
            *_clause("GROUP BY", [key.group for key in keys], ", "),
            *_clause("HAVING", [one for key in keys for one in key.having], " AND "),
            *_clause("ORDER BY", order, ", "),
        ]
    )


def title_of(choices: Choices) -> str:
    """A question in a few words."""
    parts = [_figure_title(one, choices.table) for one in choices.measures]
    said = parts[0] + "".join(f", {part[0].lower()}{part[1:]}" for part in parts[1:])
    if choices.groupings:
        said += " by " + " and ".join(_step_title(one) for one in choices.groupings)
    if choices.conditions:
        said += " where " + " and ".join(_condition_title(one) for one in choices.conditions)
    return said


@dataclass(frozen=True)
class _Key:
    group: exp.Expr
    """What rows are grouped by."""
    shown: exp.Expr
    """What the answer shows of it."""
    name: str
    having: tuple[exp.Expr, ...] = ()
    """Groups that can hold someone: a card's bounds leave the bins outside of them empty."""


class _Names:
    """Names of an answer's columns, each its own: neither another's, nor that of another's error."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def own(self, name: str, *, error: bool = False) -> str:
        """``name``, or with a number where it is taken; with ``error`` its error bar gets a column too."""
        number = 1
        while True:
            found = name if number == 1 else f"{name}_{number}"
            wanted = {found.casefold(), *([f"{found}{ERROR}".casefold()] if error else [])}
            if not wanted & self._taken:
                self._taken |= wanted
                return found
            number += 1


def _open(card: Card) -> list[Column]:
    return [one for one in card.columns if one.role is not Role.IDENTIFIER and one.name != card.unit]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=needs_quotes(name))


def _column(name: str) -> exp.Column:
    return exp.Column(this=_identifier(name))


def _named(shown: exp.Expr, name: str) -> exp.Expr:
    if isinstance(shown, exp.Column) and shown.name == name:
        return shown
    return exp.Alias(this=shown, alias=_identifier(name))


def _written(tree: exp.Expr) -> str:
    return tree.sql(dialect="duckdb")


def _clause(head: str, parts: Sequence[exp.Expr], between: str) -> list[str]:
    """A clause in a line, or with each part in a line of its own; nothing without parts."""
    texts = [_written(part) for part in parts]
    line = f"{head} {between.join(texts)}"
    if len(line) <= _LINE or len(texts) == 1:
        return [line] if texts else []
    if between == ", ":
        return [head, *(f"  {text}," for text in texts[:-1]), f"  {texts[-1]}"]
    return [f"{head} {texts[0]}", *(f" {between}{text}" for text in texts[1:])]


def _aggregate(measure: Measure, card: Card) -> exp.Expr:
    if measure.figure == ROWS:
        return exp.Count(this=exp.Star())
    if measure.figure == PEOPLE and card.unit is not None:
        return exp.Count(this=exp.Distinct(expressions=[_column(card.unit)]))
    if measure.figure not in _AGGREGATES:
        raise BadInput("Nothing to compute is chosen.", hint="Add a figure, such as the number of rows.")
    if measure.column not in amounts(card):
        raise BadInput(
            f"{AMOUNTS[measure.figure]} which column?", hint="Choose a column whose bounds are declared on the card."
        )
    return _AGGREGATES[measure.figure](this=_column(measure.column))


def _figure_name(measure: Measure) -> str:
    if measure.figure in _AGGREGATES:
        return f"{measure.figure}_{measure.column}"
    return "people" if measure.figure == PEOPLE else "n"


def _key(grouping: Grouping, column: Column) -> _Key:
    if grouping.step not in steps(column):
        raise BadInput(f"{column.name} cannot be grouped like that.", hint="Choose another step, or another column.")
    place, step = _column(column.name), grouping.step
    if step in _PARTS:
        part = _PARTS[step]
        made = exp.Extract(this=exp.var(part), expression=place)
        return _Key(made, made.copy(), f"{column.name}_{_SUFFIXES.get(part, part.lower())}")
    if step in _CUT:
        cut = exp.Anonymous(this="DATE_TRUNC", expressions=[exp.Literal.string(step), place])
        return _Key(cut, cut.copy(), f"{column.name}_{step}")
    if step.startswith(_BIN):
        return _bins(column, Decimal(step.removeprefix(_BIN)))
    return _Key(place, place.copy(), column.name)


def _bins(column: Column, width: Decimal) -> _Key:
    """Equal bins over the bounds, shown by where they begin. The last one ends above the upper bound."""
    low, high = _ends(column)
    start = floor(low / width) * width
    count = floor((high - start) / width) + 1
    ends = [_number(start), _number(start + count * width), exp.Literal.number(count)]
    place = exp.Anonymous(this="WIDTH_BUCKET", expressions=[_column(column.name), *ends])
    before = exp.Paren(this=exp.Sub(this=place.copy(), expression=exp.Literal.number(1)))
    edge: exp.Expr = exp.Mul(this=before, expression=_number(width)) if width != 1 else before
    if start:
        edge = (exp.Add if start > 0 else exp.Sub)(this=edge, expression=_number(abs(start)))
    digits = trees.scale_of(width)
    if digits:
        edge = exp.Round(this=edge, decimals=exp.Literal.number(digits))
    inside = (
        exp.GTE(this=place.copy(), expression=exp.Literal.number(1)),
        exp.LTE(this=place.copy(), expression=exp.Literal.number(count)),
    )
    return _Key(place, edge, f"{column.name}_from", inside)


def _spans_decades(column: Column) -> bool:
    low, high = column.bounds or (None, None)
    return isinstance(low, dt.date) and isinstance(high, dt.date) and high.year - low.year > _USUAL_BINS


def _widths(column: Column) -> list[Decimal]:
    """Widths 1, 2 or 5 times a power of ten that make a fair number of bins; the one that makes about ten first."""
    low, high = _ends(column)
    reach = high - low
    least = Decimal(2) if column.kind is Kind.INTEGER else Decimal(0)
    powers = range(floor(log10(reach / _BINS[1])), ceil(log10(reach)) + 1)
    sizes = [Decimal(digit).scaleb(power) for power in powers for digit in (1, 2, 5)]
    plain = [Decimal(f"{size:f}") for size in sizes if size >= least and _BINS[0] <= reach / size <= _BINS[1]]
    return sorted(plain, key=lambda size: (abs(reach / size - _USUAL_BINS), size))


def _ends(column: Column) -> tuple[Decimal, Decimal]:
    low, high = column.bounds or (0, 0)
    return Decimal(str(low)), Decimal(str(high))


def _number(value: Decimal) -> exp.Expr:
    """A number without an exponent, and without needless zeros."""
    text = f"{abs(value):f}"
    made = exp.Literal.number(text.rstrip("0").rstrip(".") if "." in text else text)
    return exp.Neg(this=made) if value < 0 else made


def _condition(condition: Condition, column: Column) -> exp.Expr:
    place, how = _column(column.name), condition.comparison
    if how not in comparisons(column):
        raise BadInput(f"{column.name} cannot be compared like that.", hint="Choose another comparison.")
    if how in NO_VALUE:
        missing = exp.Is(this=place, expression=exp.null())
        return missing if how == "missing" else exp.Not(this=missing)
    values = [_value(text, column) for text in condition.values if text.strip() or listed(column)]
    if not values:
        raise BadInput(f"The filter on {column.name} has no value.", hint="Choose one, or remove the filter.")
    if how == "begins":
        start = condition.values[0]
        cut = exp.Anonymous(this="LEFT", expressions=[place, exp.Literal.number(len(start))])
        return exp.EQ(this=cut, expression=values[0])
    if how in _OPERATORS:
        return _OPERATORS[how](this=place, expression=values[0])
    if len(values) == 1:
        return (exp.EQ if how == "in" else exp.NEQ)(this=place, expression=values[0])
    among = exp.In(this=place, expressions=values)
    return among if how == "in" else exp.Not(this=among)


def _value(text: str, column: Column) -> exp.Expr:
    if column.kind is Kind.BOOLEAN and text in TRUTHS:
        return trees.literal(TRUTHS[text])
    known: Mapping[str, Scalar] = {str(one): one for one in column.categories or ()}
    if text in known:
        value = known[text]
        return exp.Literal.string(text) if isinstance(value, dt.date) else trees.literal(value)
    if listed(column):
        raise BadInput(f"{text!r} is not a value of {column.name}.", hint="Choose one of the list.")
    if column.kind in NUMBERS:
        return _typed_number(text, column)
    if column.kind in MOMENTS:
        try:
            return exp.Literal.string(dt.date.fromisoformat(text.strip()).isoformat())
        except ValueError:
            raise BadInput(f"{text!r} is not a date.", hint="Write it as 2001-12-31.") from None
    return exp.Literal.string(text)


def _typed_number(text: str, column: Column) -> exp.Expr:
    plain = text.strip().replace(",", "").replace("_", "")
    try:
        value = Decimal(plain)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or abs(value.adjusted()) > 30:
        raise BadInput(f"{column.name} is compared with a number, not with {text!r}.", hint="Write it as 12 or 12.5.")
    return _number(value)


def _figure_title(measure: Measure, table: str) -> str:
    if measure.figure in AMOUNTS:
        return f"{AMOUNTS[measure.figure]} {measure.column}"
    return f"People in {table}" if measure.figure == PEOPLE else f"Number of {table}"


def _step_title(grouping: Grouping) -> str:
    step = grouping.step.replace(_BIN, "bins of ").partition(" (")[0]
    return f"{grouping.column} ({step})" if step else grouping.column


def _condition_title(condition: Condition) -> str:
    if condition.comparison in NO_VALUE:
        return f"{condition.column} {condition.comparison}"
    sign = {"in": "is", "not in": "is not", "begins": "begins with"}.get(condition.comparison, condition.comparison)
    return f"{condition.column} {sign} {' or '.join(condition.values)}"
