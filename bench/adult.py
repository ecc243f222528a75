"""Adult as files of the shape that other tools read: ``adult.csv`` and a hierarchy for each column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAMES = "sex age race marital-status education native-country workclass occupation salary-class".split()  # noqa: SIM905


def adult(folder: Path, sensitive: str | None = None) -> Any:
    """The table, all columns as text, with the hierarchies of the folder."""
    import pyarrow as pa
    from pyarrow import csv

    from discreet.core.card import Card, Column, Role
    from discreet.core.hierarchy.taxonomy import Taxonomy
    from discreet.core.kind import Kind
    from discreet.engines.read import read

    text = csv.ConvertOptions(column_types=dict.fromkeys(NAMES, pa.string()))
    rows = csv.read_csv(folder / "adult.csv", parse_options=csv.ParseOptions(delimiter=";"), convert_options=text)
    columns = [
        Column(
            name,
            Kind.TEXT,
            Role.SENSITIVE if name == sensitive else Role.QUASI,
            hierarchy=Taxonomy.from_csv(folder / f"adult_hierarchy_{name}.csv"),
        )
        for name in NAMES
    ]
    return read(rows, Card("adult", tuple(columns)))


def from_samples(folder: Path, most: int | None) -> None:
    """Rows and hierarchies of the package as files of the shape that others read."""
    import pyarrow as pa
    from pyarrow import csv

    from discreet import samples
    from discreet.core.hierarchy.hierarchy import codes

    table = samples.adult()
    own = {name: name.replace("-", "_") for name in NAMES} | {"salary-class": "income"}
    rows = table.fetch().select(list(own.values())).drop_null().slice(0, most)
    bare = {"delimiter": ";", "quoting_style": "none"}
    csv.write_csv(rows.rename_columns(NAMES), folder / "adult.csv", csv.WriteOptions(**bare))
    for name, column in own.items():
        values = rows.column(column).unique()
        declared = table.card[column]
        if declared.hierarchy is None:
            levels = [values, pa.array(["*"] * len(values))]
        else:
            found = codes(declared.hierarchy, declared.kind, values)
            levels = [labels.take(pa.array(code)) for labels, code in zip(found.labels, found.codes, strict=True)]
        paths = pa.table([level.cast(pa.string()) for level in levels], names=[str(n) for n in range(len(levels))])
        csv.write_csv(paths, folder / f"adult_hierarchy_{name}.csv", csv.WriteOptions(**bare, include_header=False))
