"""SQL in, Arrow out: small SQL trees everyone needs, and the Arrow types that leave every engine.

Trees are portable to every engine: exact names, typed literals, counts, texts. Engines print floats in their own ways
and disagree on integer division, so texts are made of whole numbers and fixed decimals only, and every division is one
of doubles that hold whole numbers exactly.

Each kind leaves in one Arrow type, whatever the engine's own types were: ``core/kind.py`` has it. Decimals have 38
digits, and timestamps are in UTC where the engine knows the zone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from sys import float_info
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core.engine import Engine
from discreet.core.kind import TYPES, Kind, Scalar
from discreet.errors import DataError


def column(name: str) -> exp.Column:
    """A column by its exact name, whatever characters it has."""
    return exp.column(name, quoted=True)


def named(value: exp.Expr, name: str) -> exp.Expr:
    """``value`` under an exact name."""
    return exp.alias_(value, name, quoted=True)


def table(name: str) -> exp.Table:
    """A table by its exact name; dots are part of it."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def text(value: str, dialect: str) -> str:
    """A text as SQL source, quoted."""
    return exp.Literal.string(value).sql(dialect)


def sql_type(kind: Kind, *, scale: int = 0, zoned: bool = False) -> exp.DataType:
    """The type that holds a kind on every engine."""
    if kind is Kind.DECIMAL:
        return exp.DataType.build(f"DECIMAL(38, {scale})")
    if kind is Kind.TIMESTAMP and zoned:
        return exp.DataType(this=exp.DType.TIMESTAMPTZ)
    return exp.DataType(this=exp.DType[TYPES[kind].sql])


def plain_text(value: exp.Expr, dialect: str) -> exp.Expr:
    """A value as it is printed: texts that are equal are the same characters.

    A column of PostgreSQL may hold others for equal, too (a collation that is not deterministic), and a cast to text
    does not change that; its database's own collation never does.
    """
    text = exp.cast(value, exp.DType.TEXT)
    return (
        exp.Collate(this=text, expression=exp.to_identifier("default", quoted=True)) if dialect == "postgres" else text
    )


def literal(value: Scalar) -> exp.Expr:
    """A value as SQL, with its type, so that no engine has to guess."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, dt.datetime):
        kind = exp.DType.TIMESTAMPTZ if value.tzinfo else exp.DType.TIMESTAMPNTZ
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), kind)
    if isinstance(value, dt.date):
        return exp.cast(exp.Literal.string(value.isoformat()), exp.DType.DATE)
    if isinstance(value, float):
        return exp.cast(exp.Literal.string(repr(value)), exp.DType.DOUBLE)
    if isinstance(value, Decimal):
        text, scale = f"{value:f}", scale_of(value)
        digits = max(len(value.as_tuple().digits), scale + 1, value.adjusted() + 1 + scale)
        return exp.cast(exp.Literal.string(text), f"DECIMAL({digits}, {scale})")  # no wider: Spark would drop digits
    return exp.Literal.number(value)


def scale_of(value: Decimal) -> int:
    """How many digits ``value`` has after the point."""
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def scrambled(values: Sequence[exp.Expr], dialect: str) -> exp.Expr:
    """A number or text that looks unlike the values. DuckDB's own hash is the fastest there; MD5 is everywhere."""
    if dialect == "duckdb":
        return exp.Anonymous(this="hash", expressions=list(values))
    text: exp.Expr = literal("")
    for value in values:
        shown = exp.Coalesce(this=exp.cast(value, exp.DType.TEXT), expressions=[literal("")])
        text = exp.DPipe(this=exp.DPipe(this=text, expression=literal("|"), safe=False), expression=shown, safe=False)
    return exp.MD5(this=text)


def attempt(computed: exp.Expr) -> exp.Expr:
    """The value of an expression, and NULL where computing it fails; every engine reads this in its own way."""
    return exp.Anonymous(this="TRY", expressions=[computed])


def attempts(tree: exp.Expr) -> list[exp.Expr]:
    """The parts of a tree that ``attempt`` made, the innermost last."""
    return [node for node in tree.find_all(exp.Anonymous) if is_attempt(node)]


def is_attempt(node: exp.Expr) -> bool:
    """Whether ``attempt`` made this."""
    return isinstance(node, exp.Anonymous) and node.name == "TRY"


def without_attempts(tree: exp.Expr) -> exp.Expr:
    """The same tree, failing where an attempt would have failed."""
    if not attempts(tree):
        return tree
    plain = tree.copy()
    for node in attempts(plain):
        node.replace(exp.paren(node.expressions[0]))
    return plain


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND puts together in ``condition``; a condition without AND is the only one."""
    plain = condition.unnest()
    return [*conjuncts(plain.this), *conjuncts(plain.expression)] if isinstance(plain, exp.And) else [plain]


def count_rows() -> exp.Expr:
    """``COUNT(*)``."""
    return exp.Count(this=exp.Star())


def one_if(condition: exp.Expr) -> exp.Expr:
    """1 if a condition holds, else NULL."""
    return exp.Case().when(condition, exp.Literal.number(1))


def finite(value: exp.Expr) -> exp.Expr:
    """Whether a real number is neither NaN nor infinite: every engine takes NaN for the largest number."""
    return value.copy().between(literal(-float_info.max), literal(float_info.max))


def count_if(condition: exp.Expr) -> exp.Expr:
    """How many rows a condition holds for (NULL counts as no)."""
    return exp.Count(this=one_if(condition))


def about_distinct(value: exp.Expr, dialect: str) -> exp.Expr:
    """How many different values there are, approximately where the engine can count so."""
    if dialect == "postgres":
        return exp.Count(this=exp.Distinct(expressions=[value.copy()]))
    return exp.ApproxDistinct(this=value.copy())


def as_text(value: exp.Expr) -> exp.Expr:
    """A whole number, fixed decimal, boolean or text as text."""
    return exp.cast(value.copy(), exp.DType.TEXT)


def as_double(value: exp.Expr) -> exp.Expr:
    """A number as a double."""
    return exp.cast(value.copy(), exp.DType.DOUBLE)


def as_whole(value: exp.Expr) -> exp.Expr:
    """A double without fraction as a 64-bit integer."""
    return exp.cast(value.copy(), exp.DType.BIGINT)


def floor(value: exp.Expr) -> exp.Expr:
    """The next whole number below."""
    return exp.Floor(this=value.copy())


def fixed(units: exp.Expr, decimals: int) -> exp.Expr:
    """A whole number of units of 10^-decimals as text: 25 with one decimal is ``2.5``."""
    if decimals == 0:
        return as_text(units)
    unit = exp.Literal.number("0." + "1".rjust(decimals, "0"))
    return as_text(exp.cast(units.copy(), "DECIMAL(18, 0)") * unit)


def padded(value: exp.Expr, digits: int) -> exp.Expr:
    """A whole number as text with leading zeros."""
    zero = exp.Literal.string("0")
    return exp.Pad(this=as_text(value), expression=exp.Literal.number(digits), fill_pattern=zero, is_left=True)


def joined(*parts: exp.Expr | str) -> exp.Expr:
    """Texts one after the other."""
    trees = [exp.Literal.string(part) if isinstance(part, str) else part.copy() for part in parts]
    whole = trees[0]
    for part in trees[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return whole


# -- Arrow


def arrow_type(kind: Kind, *, scale: int = 0, zoned: bool = False) -> pa.DataType:
    """The one Arrow type of a kind."""
    if kind is Kind.DECIMAL:
        return pa.decimal128(38, scale)
    if kind is Kind.TIMESTAMP and zoned:
        return pa.timestamp("us", "UTC")
    return cast("pa.DataType", pa.type_for_alias(cast("Any", TYPES[kind].arrow)))


def kind_of(type_: pa.DataType) -> Kind | None:
    """The kind an Arrow type holds; ``None`` for what no column of a card can be (lists, blobs, times)."""
    if pa.types.is_dictionary(type_):
        return kind_of(type_.value_type)
    return next(
        (kind for kind in Kind if any(getattr(pa.types, test)(type_) for test in TYPES[kind].arrow_family)), None
    )


def precision(type_: Any) -> dict[str, Any]:
    """What an Arrow type says beyond its kind: digits after the point of a decimal, whether a timestamp has a zone."""
    return {"scale": type_.scale} if pa.types.is_decimal(type_) else {"zoned": getattr(type_, "tz", None) is not None}


def canonical(schema: pa.Schema) -> pa.Schema:
    """``schema`` in the one type of each kind. What no kind holds stays as it is: the card decides if it matters."""
    fields = []
    for field in schema:
        kind = kind_of(field.type)
        type_ = field.type if kind is None else arrow_type(kind, **precision(field.type))
        fields.append(pa.field(field.name, type_))
    return pa.schema(fields)


def recast(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same rows in canonical types; columns that have them already are not copied."""
    schema = canonical(reader.schema)
    return pa.RecordBatchReader.from_batches(schema, _recast(reader, schema))


def recast_table(data: pa.Table) -> pa.Table:
    """The same rows in canonical types; columns that have them already are not copied."""
    schema = canonical(data.schema)
    columns = (_cast(data.column(i), data.schema.field(i), schema.field(i)) for i in range(len(schema)))
    return pa.Table.from_arrays(list(columns), schema=schema)


def aggregates(engine: Engine, rows: exp.Query, figures: Sequence[exp.Expr]) -> list[Any]:
    """Figures of all rows of a query, in one pass over them."""
    if not figures:
        return []
    shown = [named(figure, f"c{place}") for place, figure in enumerate(figures)]
    return [*engine.fetch(exp.select(*shown).from_(rows.subquery("t"))).to_pylist()[0].values()]


def content_order(rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Row numbers in the order of what the rows hold, so that the order they came in tells nothing."""
    plain = [column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column for column in rows.columns]
    keys = pa.table(plain, names=[str(place) for place in range(len(plain))])
    return np.asarray(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names]), np.int64)


def _recast(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = (_cast(batch.column(i), batch.schema.field(i), schema.field(i)) for i in range(len(schema)))
        yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _cast(column: Any, source: pa.Field[Any], target: pa.Field[Any]) -> Any:
    if source.type == target.type:
        return column
    try:
        return pc.cast(column, target.type)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {target.name!r} has values that do not fit {target.type}, as which it is read.",
            hint="Whole numbers beyond ±9223372036854775807 can be read as text.",
        ) from error
