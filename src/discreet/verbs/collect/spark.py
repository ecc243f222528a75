"""Reports counted on Spark's workers, of which only counts come back.

Every task counts its own reports as a collector does and hands on what it keeps of them, a number for each place; Spark
adds those up. So the answer is that of one process, to the last report, whatever the partitions are, and what comes
back is as long as what is kept. Workers need discreet, as they need the modules of any function in Python.

Spark has neither numbers without a sign nor bytes of a fixed width: it reads reports of such types as the next wider
ones. They are narrowed again where they are counted, and one that does not fit is no report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.engines.spark import Spark
from discreet.errors import DataError, NotFound
from discreet.verbs.collect.frequency_oracle import FrequencyOracle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from discreet.verbs.collect.frequency_oracle import ReportTally

_REPORTS_INDEX = -1
"""Index under which a task gives its number of reports."""
_COUNTS_FIELDS: list[pa.Field[Any]] = [
    pa.field("place", pa.int64()),
    pa.field("number", pa.int64()),
    pa.field("problem", pa.string()),
]
_COUNTS_SCHEMA = pa.schema(_COUNTS_FIELDS)


def tally(oracle: FrequencyOracle, reports: DataFrame, column: str) -> ReportTally:
    """Tally a column of reports: all of them or, if one cannot be counted, none."""
    if column not in reports.columns:
        raise NotFound(f"There is no column {column!r}.", hint=f"There are {', '.join(reports.columns)}.")
    engine = Spark(reports.sparkSession)
    try:
        chosen = reports.selectExpr(sql.column(column).as_("report").sql(engine.dialect))
        shown = engine.view_of(chosen.mapInArrow(_counter(oracle), "place bigint, number bigint, problem string"))
        index, number, problem = (sql.column(name) for name in _COUNTS_SCHEMA.names)
        result = engine.fetch(
            exp.select(index, exp.Sum(this=number).as_("number"), exp.Max(this=problem).as_("problem"))
            .from_(shown.subquery("counted"))
            .group_by(index)
        )
    finally:
        engine.close()
    problems = result.column("problem").drop_null()
    if len(problems):
        raise DataError(problems[0].as_py(), hint="Read them with the survey that made them.")
    sums = np.zeros(oracle.counter_length + 1, dtype=np.int64)
    sums[result.column("place").to_numpy()] = result.column("number").to_numpy()  # -1 is the last place
    counted = oracle.tally()
    counted.reports, counted.counts = int(sums[_REPORTS_INDEX]), sums[:_REPORTS_INDEX]
    return counted


def _counter(oracle: FrequencyOracle) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a task: count reports, and return the counts or the problem."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counted, problem = oracle.tally(), None
        for batch in batches:
            if problem is None:
                try:
                    counted.add(batch.column(0).cast(oracle.report_type))
                except DataError as error:
                    problem = error.message
                except pa.ArrowException as error:
                    problem = f"A report of {oracle.name} is {oracle.report_type}, and one is not: {error}."
        indices = np.flatnonzero(counted.counts)
        report_codes: list[Any] = [
            np.append(indices, _REPORTS_INDEX),
            np.append(counted.counts[indices], counted.reports),
            pa.array([None] * indices.size + [problem], pa.string()),
        ]
        yield pa.RecordBatch.from_arrays([pa.array(part) for part in report_codes], schema=_COUNTS_SCHEMA)

    return count
