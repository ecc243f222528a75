"""Reports counted on Spark: the answer of one process, and nothing if one report is bad."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import DataError, NotFound
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import OLH
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.unary_encoding import OUE
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.spark import tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CLIENTS: list[FrequencyOracle] = [
    GRR("abc", 1),
    GRR(1000, 1),
    OUE(100, 1),
    OLH(100, 1),
    Hadamard(100, 1),
    Hadamard(40_000, 1),
    DBitFlip(9, 1, 2),
]


def written(session: SparkSession, folder: Path, reports: pa.Array[Any]) -> DataFrame:
    """Reports in files of three parts, read by Spark."""
    third = -(-len(reports) // 3)
    for part in range(3):
        rows = pa.table({"my.`report`": reports.slice(part * third, third), "when": reports.slice(part * third, third)})
        pq.write_table(rows, folder / f"{part}.parquet")
    return session.read.parquet(f"file://{folder}")


@pytest.mark.parametrize("oracle", CLIENTS, ids=lambda oracle: f"{oracle.name}-{len(oracle.domain)}")
def test_the_answer_is_that_of_one_process(
    oracle: FrequencyOracle, spark_session: SparkSession, tmp_path: Path
) -> None:
    values = np.arange(3000) ** 2 % len(oracle.domain)
    reports = oracle.randomize([oracle.domain.values[index] for index in values])
    counted = tally(oracle, written(spark_session, tmp_path, reports), "my.`report`")
    mine = oracle.tally().add(reports)
    assert (counted.oracle, counted.reports) == (oracle, 3000)
    assert (counted.counts == mine.counts).all()
    assert (counted.estimate().counts == mine.estimate().counts).all()


def test_no_reports_are_none(spark_session: SparkSession) -> None:
    counted = tally(GRR("abc", 1), spark_session.createDataFrame([], "report smallint"), "report")
    assert (counted.reports, counted.counts.tolist()) == (0, [0, 0, 0])


@pytest.mark.parametrize(
    ("oracle", "reports", "what"),
    [
        (GRR("abc", 1), [0, 1, 3], "names an unknown value"),
        (GRR("abc", 1), [0, 1, 256], "uint8, and one is not"),
        (GRR("abc", 1), [0, -1, 2], "uint8, and one is not"),
        (GRR("abc", 1), [0, 1, None], "A report is missing"),
        (GRR("abc", 1), ["0", "b"], "uint8, and one is not"),
        (OUE(9, 1), [b"ab", b"abc"], "binary"),
    ],
)
def test_one_bad_report_and_none_is_counted(
    oracle: FrequencyOracle, reports: list[Any], what: str, spark_session: SparkSession
) -> None:
    frame = spark_session.createDataFrame([(report,) for report in reports], ["report"])
    with pytest.raises(DataError, match=what):
        tally(oracle, frame, "report")


def test_a_column_that_is_not_there(spark_session: SparkSession) -> None:
    frame = spark_session.createDataFrame([(1,)], ["report"])
    with pytest.raises(NotFound, match="no column 'reports'"):
        tally(GRR("abc", 1), frame, "reports")
