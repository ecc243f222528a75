"""Asking the engine about private rows."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from discreet.core.engine import Engine
from discreet.engines.limits import seconds_left
from discreet.errors import DiscreetError, EngineError, LoginFailed, Refused, Unreachable


def fetch(engine: Engine, query: exp.Query, *, most: int | None = None) -> pa.Table:
    """The rows of ``query``, which may take as long as the question's limits say and be ``most`` at the most.

    Whatever goes wrong may depend on somebody's row, so nothing is said of it; unless the rows were not reached.
    """
    asked = query if most is None else exp.select("*").from_(query.subquery("q")).limit(most + 1)
    try:
        found = engine.fetch(asked, seconds=seconds_left())
        if most is not None and found.num_rows > most:
            raise EngineError(f"There are more than {most:,} rows.")
    except (Unreachable, LoginFailed):
        raise
    except DiscreetError:
        raise Refused("The question could not be answered.", hint="Ask the data's holder to look into it.") from None
    return found
