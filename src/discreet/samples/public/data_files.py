"""Reader of the data files of this package; ``data/SOURCES.md`` says where each comes from and under which licence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from discreet.core.card import Column
from discreet.core.sql import arrow_type

_FOLDER = Path(__file__).with_name("data")


def read_data_file(name: str, columns: Iterable[Column], *, delimiter: str = ",") -> pa.Table:
    """The rows of a file without a header, whose columns are these; text is trimmed, and ``?`` is NULL."""
    kinds = {column.name: arrow_type(column.kind) for column in columns}
    data = csv.read_csv(
        _FOLDER / name,
        read_options=csv.ReadOptions(column_names=list(kinds)),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(
            column_types=kinds, null_values=["?"], strings_can_be_null=True, quoted_strings_can_be_null=True
        ),
    )
    for i, field in enumerate(data.schema):
        if pa.types.is_string(field.type):
            data = data.set_column(i, field, pc.utf8_trim_whitespace(data.column(i)))
    return data
