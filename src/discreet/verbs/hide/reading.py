"""Reading transactions from files and tables, and writing them back.

A source has one of three layouts:

- *baskets*: a transaction a line and no header, its items with commas, semicolons, tabs, bars or blanks between them
  (see below); or a Parquet file with one column of lists. An empty line is a transaction without items.
- *pairs*: a row an item, with a column that says whose transaction it is in and one that has the item.
- *table*: a row a transaction. A column of truth values is an item, there where it is true; any other column makes an
  item ``column=value`` of each value. A missing value is no item, and neither is NaN.

The separator of a text file is detected, and a file in which it is ambiguous is refused: an item that is read in
another way than it was written would not be hidden. The name of a file says what is usual: commas in ``.csv``, tabs in
``.tsv``, blanks in any other. What is in it counts. Items that a spreadsheet would compute are written with an
apostrophe in front, as in every CSV of ours, and read without it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.core.card import Role
from discreet.core.spreadsheet import escaped_text, plain_text
from discreet.core.table import Table
from discreet.core.text import meant, number
from discreet.engines.read import open_source
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.hide.mining.partition import Blocks
from discreet.verbs.hide.transactions import Array, Transactions

Layout = Literal["baskets", "pairs", "table"]

_PARQUET = (".parquet", ".pq")
_MOST_VALUES = 1000
"""Largest number of distinct values of a column of items."""
_COLUMN = "items"
_USUAL = {".csv": ",", ".tsv": "\t"}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class Tabular:
    """A table read as transactions, and the way back."""

    transactions: Transactions
    data: pa.Table
    cells: Mapping[str, tuple[str, Any]]
    """The column and the value behind each item."""

    columns: tuple[str, ...]
    """Those that items are made of. No other comes back: it may say who someone is."""

    def back(self, after: Transactions, *, unknown: bool = False) -> pa.Table:
        """These columns as ``after`` says: what was put in is there, and what was removed is missing; a truth value
        is false then, but for one that is ``unknown``, which is missing too."""
        out, put = self.transactions.differs(after)
        values: dict[str, list[Any]] = {}
        for cells, there in ((out, False), (put, True)):
            for row, item in cells:
                name, value = self.cells[item]
                if name not in values:
                    values[name] = self.data[name].to_pylist()
                column = values[name]
                if there and not _is_missing(column[row]) and column[row] is not False:
                    raise BadInput(f"Transaction {row} cannot have {item!r}: {name!r} has another value there.")
                column[row] = value if there else (False if value is True and not unknown else None)
        changed = self.data.select(self.columns)
        for name, column in values.items():
            place = changed.column_names.index(name)
            changed = changed.set_column(place, name, pa.array(column, changed.schema.field(name).type))
        return changed


def read_transactions(
    source: Table | str | Path,
    *,
    layout: Layout | None = None,
    columns: Sequence[str] = (),
) -> Transactions:
    """The transactions of a file or a table.

    The layout of a text file is *baskets* unless ``layout`` says otherwise; Parquet is baskets if its only column has
    lists (or the only one named), and else a table. A table with a unit is pairs: all rows of a unit are one
    transaction. ``columns`` are those that items are made of (default: all); for pairs, the one that says which
    transaction, and that of the item. Baskets in a text have no columns to name.
    """
    if isinstance(source, Table):
        if source.card.unit is not None:
            return _units(source.fetch(), source.card.unit, columns_with_items(source, columns))
        return tabular(source, columns=columns).transactions
    path = Path(source)
    usual = layout_of(path, columns)
    wanted = layout or usual
    if wanted == "baskets":
        if _is_parquet(path):
            return _lists_in(pq.read_table(path), columns)
        if columns:
            raise BadInput(f"Baskets have no columns, and {', '.join(columns)} are named.", hint="Leave them out.")
        return Transactions.of(baskets_in(path, separator_of(path)))
    if wanted == "table":
        return tabular(path, columns=columns).transactions
    data = _fetched(path)
    if len(columns or data.column_names) != 2:
        raise BadInput(
            "Pairs need two columns: the transaction and the item.",
            hint=f"Name both; {path.name} has {', '.join(data.column_names)}.",
        )
    transaction, item = columns or data.column_names
    return _pairs(_column(data, transaction), _column(data, item))


def columns_with_items(table: Table, columns: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns of a table that items are made of: those that are named, or all that do not say who someone is."""
    card = table.card
    shown = (one.name for one in card.columns if one.name != card.unit and one.role is not Role.IDENTIFIER)
    return tuple(columns) or tuple(shown)


def tabular(source: Table | pa.Table | str | Path, *, columns: Sequence[str] = ()) -> Tabular:
    """A table, a row a transaction, as transactions that can be put back."""
    if isinstance(source, Table):
        shown = [column.name for column in source.card.columns if column.role is not Role.IDENTIFIER]
        data, names = source.fetch(), list(columns) or shown
    else:
        data = source if isinstance(source, pa.Table) else _fetched(Path(source))
        names = list(columns) or data.column_names
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise BadInput(f"Column {twice[0]!r} is named twice.", hint="Name each column once.")
    cells: dict[str, tuple[str, Any]] = {}
    rows, codes = [], []
    for name in names:
        column = _column(data, name).combine_chunks()
        if pa.types.is_nested(column.type):
            raise DataError(
                f"Column {name!r} holds lists, which cannot be items.",
                hint="Leave it out; or, for baskets, name it alone (columns).",
            )
        truth = pa.types.is_boolean(column.type)
        encoded = column.dictionary_encode()
        number = _codes(encoded)
        values = encoded.dictionary.to_pylist()
        if len(values) > _MOST_VALUES:
            raise BadInput(
                f"Column {name!r} has {len(values):,} values: too many to be items.",
                hint="Name the columns of items, or group its values first.",
            )
        for place, value in enumerate(values):
            if (truth and not value) or _is_missing(value):
                continue
            item = name if truth else f"{name}={value}"
            if item in cells:
                raise BadInput(f"{cells[item][0]!r} and {name!r} both give an item {item!r}.", hint="Rename a column.")
            here = np.flatnonzero(number == place)
            rows.append(here)
            codes.append(np.full(len(here), len(cells)))
            cells[item] = (name, value)
    row, code = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (rows, codes))
    return Tabular(Transactions.from_cells(tuple(cells), row, code, data.num_rows), data, cells, tuple(names))


def write_transactions(transactions: Transactions, path: str | Path) -> None:
    """Write baskets, in the form that the name of the file asks for."""
    path = Path(path)
    require_writable(transactions, path)
    if _is_parquet(path):
        pq.write_table(as_arrow(transactions), path)
        return
    between = _USUAL.get(path.suffix.lower())
    with path.open("w", encoding="utf-8", newline="") as file:
        if between is None:
            file.writelines(" ".join(row) + "\n" for row in transactions.to_rows())
        else:
            quoting: Literal[0, 1] = csv.QUOTE_ALL if any(map(several, transactions.items)) else csv.QUOTE_MINIMAL
            shown = {item: escaped_text(item) for item in transactions.items}
            rows = (map(shown.__getitem__, row) for row in transactions.to_rows())
            csv.writer(file, delimiter=between, lineterminator="\n", quoting=quoting).writerows(rows)


def require_writable(transactions: Transactions, path: Path) -> None:
    """An error if an item could not be read again from a file of that name."""
    if _is_parquet(path):
        return
    if path.suffix.lower() not in _USUAL and (odd := [name for name in transactions.items if several(name)]):
        raise BadInput(
            f"Items with blanks, separators or quotes such as {odd[0]!r} cannot be told apart in {path.name}.",
            hint="Use .csv.",
        )
    if odd := [name for name in transactions.items if not name or name != name.strip()]:
        raise BadInput(f"The item {odd[0]!r} would not be read back from {path.name} unchanged.", hint="Use .parquet.")


def as_arrow(transactions: Transactions) -> pa.Table:
    """Baskets as one column of lists."""
    starts, codes = transactions.by_row
    names = pa.array(transactions.items, pa.string()).take(codes)
    return pa.table({_COLUMN: pa.LargeListArray.from_arrays(pa.array(starts, pa.int64()), names)})


def blocks_of(path: str | Path, rows: int, *, columns: Sequence[str] = ()) -> Blocks:
    """Baskets, or a table in Parquet, in blocks of transactions that can be read repeatedly."""
    path = Path(path)
    if rows < 1:
        raise BadInput(f"A block needs at least one transaction, not {rows}.")
    baskets = layout_of(path, columns) == "baskets"
    if not _is_parquet(path):
        if not baskets:
            raise BadInput(f"{path.name} cannot be read in blocks.", hint="Use baskets or Parquet.")
        between = separator_of(path)
        return lambda: map(Transactions.of, _chunks(baskets_in(path, between), rows))
    wanted = list(columns) or None

    def parts() -> Iterator[Transactions]:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(rows, columns=wanted):
                part = pa.Table.from_batches([batch])
                yield _lists_in(part, columns) if baskets else tabular(part).transactions

    return parts


def layout_of(path: Path, columns: Sequence[str]) -> Layout:
    """How a file is read if no one says."""
    if not path.exists():
        raise NotFound(f"There is no file {path}.", hint="Check its name and folder.")
    if _is_parquet(path):
        types = [one.type for one in _schema(path) if not columns or one.name in columns]
        return "baskets" if len(types) == 1 and _lists(types[0]) else "table"
    return "table" if columns else "baskets"


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in _PARQUET


def _schema(path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path.name} is not Parquet: {error}.") from error


def _lists(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def _chunks(rows: Iterator[list[str]], size: int) -> Iterator[list[list[str]]]:
    while part := list(islice(rows, size)):
        yield part


def _fetched(path: Path) -> pa.Table:
    opened = open_source(path)
    return opened.engine.fetch(opened.relation)


def _column(data: pa.Table, name: str) -> pa.ChunkedArray[Any]:
    if name not in data.column_names:
        raise NotFound(f"There is no column {name!r}{meant(name, data.column_names)}.")
    if data.column_names.count(name) > 1:
        raise DataError(f"Two columns are called {name!r}.", hint="Rename one of them.")
    return data[name]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _lists_in(data: pa.Table, columns: Sequence[str]) -> Transactions:
    """One transaction for each list of the only column; a missing list is an empty one."""
    names = columns or data.column_names
    lists: Any = _column(data, names[0]).combine_chunks()
    if len(names) > 1 or not _lists(lists.type):
        raise DataError(
            "Baskets in Parquet must be one column of lists.", hint="Choose another layout: table or pairs."
        )
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
    return _named(np.repeat(np.arange(len(lists)), lengths), lists.flatten(), len(lists))


def _pairs(transaction: pa.ChunkedArray[Any], item: pa.ChunkedArray[Any]) -> Transactions:
    """One transaction for each different value, in the order of their first rows."""
    whose = _whose(transaction)
    return _named(_codes(whose), item.combine_chunks(), len(whose.dictionary))


def _whose(column: pa.ChunkedArray[Any]) -> Any:
    """Which transaction each row is in, as a code; an error for a row that does not say."""
    if column.null_count:
        rows = number(column.null_count, "row has", "rows have")
        raise DataError(f"{rows} no transaction.", hint="Leave these rows out.")
    return column.combine_chunks().dictionary_encode()


def _named(row: Array, values: Any, rows: int) -> Transactions:
    """Transaction ``row[n]`` has the item of the n-th value, unless that is missing."""
    encoded = values.cast(pa.string()).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    code = _codes(encoded)
    there = code >= 0
    return Transactions.from_cells(tuple(names[place] for place in order), row[there], rank[code[there]], rows)


def _codes(encoded: Any) -> Array:
    """The number of each row's value; -1 where it is missing."""
    return np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64)


def _units(data: pa.Table, unit: str, columns: Sequence[str]) -> Transactions:
    """All rows of a unit as one transaction: the values of one column, or ``column=value`` of several."""
    if len(columns) == 1:
        return _pairs(_column(data, unit), _column(data, columns[0]))
    one = tabular(data, columns=columns).transactions
    whose = _whose(_column(data, unit))
    starts, codes = one.by_row
    rows = np.repeat(_codes(whose), np.diff(starts))
    return Transactions.from_cells(one.items, rows, codes, len(whose.dictionary))


def baskets_in(path: Path, between: str | None) -> Iterator[list[str]]:
    """The items of each transaction of a text, as it is read; ``between`` them is a separator, or blanks."""
    with _text(path) as file:
        lines: Iterable[list[str]]
        lines = (line.split() for line in file) if between is None else _split(file, between)
        for line in lines:
            yield [item if between is None else plain_text(item) for part in line if (item := part.strip())]


def _split(lines: Iterable[str], between: str) -> Iterator[list[str]]:
    """The parts of each line. A blank may stand before a part in quotes: bread, "wine, red"."""
    return csv.reader(lines, delimiter=between, skipinitialspace=True)


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path.name} is not text with one transaction per line: {error}.") from error


@dataclass
class _Written:
    """What stands in a text outside of quotes."""

    separators: set[str] = field(default_factory=set)
    quotes: bool = False
    blanks: bool = False
    """Whether there are blanks within a line, but for those beside a separator."""
    tight: bool = False
    """Whether there is a separator without a blank beside it."""

    @classmethod
    def of(cls, lines: Iterable[str]) -> _Written:
        seen = cls()
        for line in lines:
            bare = _QUOTED.sub("x", line).strip(" \r\n")
            seen.quotes |= '"' in line
            seen.separators.update(one for one in _SEPARATORS if one in bare)
            if not seen.blanks and " " in bare:
                seen.blanks = bool(re.search(r"[^,;|\t ] +[^,;|\t ]", bare))
            if not seen.tight:
                seen.tight = bool(re.search(r"(?<! )[,;|](?! |$)", bare))
        return seen


def separator_of(path: Path) -> str | None:
    """What stands between the items of a text; ``None``: blanks. An error where it cannot be told."""
    with _text(path) as file:
        seen = _Written.of(file)
    own = _USUAL.get(path.suffix.lower())
    if own in seen.separators and not (own == "," and ";" in seen.separators):
        return own
    if len(seen.separators) > 1:
        listed = " and ".join(name for one, name in _SEPARATORS.items() if one in seen.separators)
        raise _unclear(path, f"has {listed}, and any of them may separate items")
    if own is not None:
        if not seen.separators and seen.blanks:
            raise _unclear(path, "has blanks and nothing else between words, so a line may be one item or several")
        return next(iter(seen.separators), own)
    if seen.blanks and (seen.tight or "\t" in seen.separators):
        listed = next(name for one, name in _SEPARATORS.items() if one in seen.separators)
        raise _unclear(path, f"has {listed} and blanks, and either may separate items")
    if seen.quotes and not seen.separators:
        raise _unclear(path, "has quotes and blanks")
    return next(iter(seen.separators - {"\t"}), None)


def _unclear(path: Path, why: str) -> DataError:
    return DataError(
        f"The items in {path.name} are ambiguous: it {why}.",
        hint="Write it as .csv, with commas between items and items that hold anything else in double quotes.",
    )


def several(item: str) -> bool:
    """Whether an item could be taken for several, or for none, in a text without quotes."""
    return len(item.split()) != 1 or '"' in item or any(one in item for one in _SEPARATORS)
