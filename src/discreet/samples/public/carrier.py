"""Read a data file that an installed package carries, without importing the package (which takes seconds)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from discreet.core.arrow import arrow_type
from discreet.core.kind import Kind
from discreet.errors import MissingPart


def carried(package: str, *path: str) -> Path:
    """A file of an installed package."""
    spec = find_spec(package)
    for place in spec.submodule_search_locations or () if spec else ():
        file = Path(place).joinpath(*path)
        if file.is_file():
            return file
    raise MissingPart(f"{path[-1]} (carried by the package {package.replace('_', '-')})", "data")


def read_delimited(
    file: Path, kinds: Mapping[str, Kind], *, skip: int = 0, delimiter: str = ",", missing: str = "?"
) -> pa.Table:
    """The columns of a text file under the names of ``kinds``, which lists them all; text is trimmed."""
    data = csv.read_csv(
        file,
        read_options=csv.ReadOptions(column_names=list(kinds), skip_rows=skip),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(
            column_types={name: arrow_type(kind) for name, kind in kinds.items()},
            null_values=[missing, f" {missing}"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )
    for i, field in enumerate(data.schema):
        if pa.types.is_string(field.type):
            data = data.set_column(i, field, pc.utf8_trim_whitespace(data.column(i)))
    return data
