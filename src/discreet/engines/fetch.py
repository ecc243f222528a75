"""Asking the engine about private rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from discreet.core.engine import Engine
from discreet.engines.limits import seconds_left
from discreet.errors import DiscreetError, LoginFailed, Refused, Unreachable

if TYPE_CHECKING:
    from discreet.core.engine import Part


def fetch(engine: Engine, query: exp.Query, *, each: Part | None = None) -> pa.Table:
    """The rows of ``query``, or what ``each`` keeps of them; it may take as long as the question's limits say.

    Whatever goes wrong may depend on somebody's row, so nothing is said of it; unless the rows were not reached.
    """
    try:
        return engine.fetch(query, seconds=seconds_left(), each=each)
    except (Unreachable, LoginFailed):
        raise
    except DiscreetError:
        raise Refused("The question could not be answered.", hint="Ask the data's holder to look into it.") from None
