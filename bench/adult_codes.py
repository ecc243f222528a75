"""Adult as codes, in three codings, and how far a twin's codes are off. Peers read it too: nothing here needs discreet
until rows are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

NUMBERS = {"age", "education_num", "capital_gain", "capital_loss", "hours_per_week"}
FINE: Mapping[str, Sequence[float]] = {
    "age": range(17, 92),
    "education_num": range(1, 18),
    "capital_gain": range(0, 100_001, 1000),
    "capital_loss": range(0, 4401, 44),
    "hours_per_week": range(1, 101),
}
COARSE: Mapping[str, Sequence[float]] = {
    "age": range(10, 101, 10),
    "capital_gain": (0, 1, 5_000, 10_000, 100_000),
    "capital_loss": (0, 1, 1_500, 2_000, 5_000),
    "hours_per_week": range(0, 101, 10),
}
EIGHT = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "income")


def coded(which: str) -> tuple[list[str], list[int], Any]:
    """The columns, how many codes each has, and a row of codes for each person."""
    import numpy as np

    from discreet import samples

    rows = samples.adult().fetch().to_pandas()
    names = [one for one in rows.columns if which == "14" or (one in EIGHT if which == "8" else one != "education_num")]
    columns, sizes = [], []
    for name in names:
        values = rows[name]
        if name in NUMBERS:
            edges = (FINE if which == "14" else COARSE)[name]
            codes, size = np.digitize(values, edges) - 1, len(edges) - 1
        else:
            if which == "13" and name == "native_country":
                values = values.where(values.isna() | values.isin(["United-States", "Mexico"]), "elsewhere")
            listed = sorted(values.dropna().unique())
            codes = values.map({value: at for at, value in enumerate(listed)}).fillna(len(listed)).to_numpy()
            size = len(listed) + bool(values.isna().any())
        columns.append(codes.astype(np.int32))
        sizes.append(size)
    return names, sizes, np.stack(columns, axis=1)


def card(names: Sequence[str], sizes: Sequence[int]) -> Any:
    """What is declared of the codes: numbers with bounds, and values with names."""
    from discreet.core.card import Card, Column, Role
    from discreet.core.kind import Kind

    return Card(
        "adult",
        tuple(
            Column(name, Kind.INTEGER, Role.QUASI, bounds=(0, size - 1), required=True)
            if name in NUMBERS
            else Column(name, Kind.TEXT, Role.QUASI, categories=tuple(map(str, range(size))), required=True)
            for name, size in zip(names, sizes, strict=True)
        ),
    )


def table(names: Sequence[str], codes: Any) -> Any:
    """The codes as a table: numbers as numbers, names as texts."""
    import pyarrow as pa

    return pa.table(
        {
            name: pa.array(codes[:, at].astype("int64")).cast(pa.int64() if name in NUMBERS else pa.string())
            for at, name in enumerate(names)
        }
    )


def decoded(rows: Any, names: Sequence[str]) -> Any:
    """The codes of a table."""
    import numpy as np
    import pyarrow as pa

    return np.stack([rows.column(name).cast(pa.int32()).to_numpy() for name in names], axis=1)


def counted(codes: Any, sizes: Sequence[int], columns: Sequence[int]) -> Any:
    """How many rows there are of each combination of codes."""
    import numpy as np

    at = np.zeros(len(codes), np.int64)
    for column in columns:
        at = at * sizes[column] + codes[:, column]
    return np.bincount(at, minlength=int(np.prod([sizes[column] for column in columns])))


def off(true: Any, twin: Any, sizes: Sequence[int]) -> tuple[float, float]:
    """The distance of the shares over pairs of columns: the mean, and the worst."""
    found = [
        float(abs(counted(true, sizes, pair) / len(true) - counted(twin, sizes, pair) / len(twin)).sum()) / 2
        for pair in itertools.combinations(range(len(sizes)), 2)
    ]
    return mean(found), max(found)
