"""What a mapping makes of rows, in plain Python."""

import random
from collections import defaultdict

import pyarrow as pa


def released(rows, names, mapping):
    """The places of the rows (dicts) of each class that is released, by its labels; every row must be mapped once."""
    lines = mapping.to_pylist()
    table = {tuple(line[name] for name in names): line for line in lines}
    assert len(table) == len(lines), "a tuple is mapped twice"
    found = defaultdict(list)
    for place, row in enumerate(rows):
        line = table[tuple(row[name] for name in names)]
        if line["kept"]:
            found[tuple(line[f"{name}_new"] for name in names)].append(place)
    return dict(found)


def of_case(case, recoding):
    """The classes of a case (see exhaustive.py), each label being one of the value's own."""
    rows = [dict(zip(case.names, quasi, strict=True)) for quasi, _ in case.rows]
    classes = released(rows, case.names, recoding.mapping)
    for labels, places in classes.items():
        for column, label in enumerate(labels):
            for place in places:
                value = case.rows[place][0][column]
                assert label in {case.label(column, value, level) for level in range(case.heights[column] + 1)}
    assert recoding.suppressed == len(case.rows) - sum(map(len, classes.values()))
    return classes


def values_of(case, classes):
    """The sensitive values of each class, and of all."""
    inside = [[case.rows[place][1] for place in places] for places in classes.values()]
    return inside, [value for values in inside for value in values]


def text(values):
    return pa.array(values, pa.string())


def seeded(seed):
    """Draws that can be had again."""
    return random.Random(seed)  # noqa: S311
