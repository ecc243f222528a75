"""CSV for people, who open it with a spreadsheet: no cell is taken for a formula.

A text that begins with =, +, -, @, a tab or a line break would be computed when the file is opened, and could fetch
or send something; a value of the data must never do that. Such a text gets an apostrophe in front, which spreadsheets
take for "this is text". Numbers are left as they are, also where they are kept as texts, since they compute nothing. A
text that begins with apostrophes and then one of these gets one more, so that anyone who takes one away has what it
was.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_COMPUTED = r"^'*[=+\-@\t\r\n＝＋－＠]"  # the wide ones are read alike where such letters are in use
_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?%?$"


def write_csv(rows: pa.Table, sink: Any, *, header: bool = True) -> None:
    """Write rows as CSV in which no cell is a formula."""
    csv.write_csv(escaped(rows), sink, csv.WriteOptions(include_header=header))


def escaped(rows: pa.Table) -> pa.Table:
    """The same rows, with an apostrophe before every text, and every column's name, that would be computed."""
    columns = [_escaped(column) if _is_text(column.type) else column for column in rows.columns]
    names = _escaped(pa.array(rows.column_names, pa.string())).to_pylist()
    return pa.table(columns, names=names)


def escaped_text(text: str) -> str:
    """A text, with an apostrophe in front if it would be computed."""
    return f"'{text}" if re.match(_COMPUTED, text) and not re.match(_NUMBER, text) else text


def plain_text(text: str) -> str:
    """What ``escaped_text`` made this text of."""
    return text[1:] if text.startswith("'") and escaped_text(text[1:]) == text else text


def _is_text(type_: pa.DataType) -> bool:
    value = type_.value_type if isinstance(type_, pa.DictionaryType) else type_
    return pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)


def _escaped(texts: Any) -> Any:
    plain = texts.cast(pa.large_string())
    computed = pc.and_(pc.match_substring_regex(plain, _COMPUTED), pc.invert(pc.match_substring_regex(plain, _NUMBER)))
    if not pc.any(computed).as_py():
        return plain
    mark, nothing = pa.scalar("'", pa.large_string()), pa.scalar("", pa.large_string())
    return pc.if_else(computed, pc.binary_join_element_wise(mark, plain, nothing), plain)
