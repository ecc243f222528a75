"""Features as plain data, and back: models carry those they were learnt with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from discreet.core.document import fields
from discreet.core.kind import Kind
from discreet.errors import BadInput
from discreet.verbs.learn.frame import Feature, Graded, Listed


def feature_written(one: Feature) -> dict[str, Any]:
    """A column with its values or its bounds."""
    if isinstance(one, Listed):
        return {"name": one.name, "values": list(one.values)}
    return {"name": one.name, "kind": one.kind.value, "low": one.low, "high": one.high}


def feature_read(data: object) -> Feature:
    """What ``feature_written`` gave, read back strictly."""
    if isinstance(data, Mapping) and "values" in data:
        read = fields(data, "a feature", name=str, values=list)
        if not all(isinstance(one, bool | int | float | Decimal | str | dt.date) for one in read["values"]):
            raise BadInput("a feature: values are not what they should be.")
        return Listed(read["name"], tuple(read["values"]))
    read = fields(data, "a feature", name=str, kind=str, low=float, high=float)
    if not read["low"] < read["high"]:
        raise BadInput("a feature: the lower bound is not below the upper one.")
    try:
        return Graded(read["name"], Kind(read["kind"]), read["low"], read["high"])
    except ValueError:
        raise BadInput(f"{read['kind']!r} is no kind of column.") from None
