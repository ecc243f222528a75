"""Files of answers and reports, randomised and read in batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from discreet.core.document import open_private
from discreet.errors import BadInput, DataError, NotFound
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.survey import inbox
from discreet.verbs.collect.survey.survey import QuestionProtocol, Survey

_ROWS_PER_BATCH = 1 << 18
_FINGERPRINT_KEY = b"discreet.survey"


def randomize_file(
    survey: Survey,
    answers: Path,
    reports: Path,
    *,
    entropy: Entropy = BULK,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Randomise a file of answers into a Parquet file of reports, in batches; return the number of people."""
    if reports.exists():
        raise BadInput(f"{reports} already exists.", hint="Choose another name.")
    people, part = 0, reports.with_name(f".{reports.name}.part")
    part.unlink(missing_ok=True)  # of a run that was killed
    try:
        with open_private(part) as file, pq.ParquetWriter(file, report_schema(survey)) as out:
            for batch in _answers(survey, answers):
                out.write_batch(randomize_batch(survey, batch, entropy))
                people += batch.num_rows
                progress(people)
        part.rename(reports)
    finally:
        part.unlink(missing_ok=True)
    return people


def randomize_batch(survey: Survey, answers: pa.RecordBatch, entropy: Entropy = BULK) -> pa.RecordBatch:
    """Randomise a batch of answers: every question, or the one that each device draws."""
    rows = answers.num_rows
    drawn = entropy.many_below(len(survey.protocols), rows) if survey.share == "sampled" else None
    columns: list[pa.Array[Any]] = []
    for index, protocol in enumerate(survey.protocols):
        column = _question_values(protocol, answers.column(protocol.name))
        if drawn is None:
            columns.append(_reports(protocol, column, entropy))
            continue
        who = np.flatnonzero(drawn == index)
        report_codes = _reports(protocol, column.take(_indices(who)), entropy)
        where = np.full(rows, -1, dtype=np.int64)
        where[who] = np.arange(who.size)
        columns.append(report_codes.take(_indices(where)))
    return pa.RecordBatch.from_arrays(columns, schema=report_schema(survey))


def report_schema(survey: Survey) -> pa.Schema:
    """Schema of reports: a column for each question, and the fingerprint of the survey."""
    kinds = [pa.field(protocol.name, protocol.mechanism.report_type) for protocol in survey.protocols]
    return pa.schema(kinds, metadata={_FINGERPRINT_KEY: survey.fingerprint.encode()})


def had_codes(survey: Survey, path: Path) -> bool:
    """Whether everyone whose report is in a file had a one-time code."""
    if not path.is_file():
        raise NotFound(f"There are no reports at {path}.", hint="discreet collect serve or randomize makes them.")
    return path.suffix != ".parquet" and inbox.has_codes(path, survey)


def read_reports(survey: Survey, path: Path) -> Iterator[tuple[int, dict[str, pa.Array[Any]]]]:
    """Read the reports in a file in batches: the number of people, and the reports on each question."""
    if path.suffix != ".parquet":
        yield from inbox.read_batches(survey, path)
        return
    with pq.ParquetFile(path) as file:
        if (file.schema_arrow.metadata or {}).get(_FINGERPRINT_KEY) != survey.fingerprint.encode():
            raise DataError(
                f"The reports in {path.name} do not belong to the current version of this survey.",
                hint="Restore the survey file.",
            )
        for batch in file.iter_batches(batch_size=_ROWS_PER_BATCH):
            columns = {protocol.name: batch.column(protocol.name) for protocol in survey.protocols}
            if (
                survey.share == "sampled"
            ):  # who was not asked; if all were, a missing one is an error where it is counted
                columns = {name: column.drop_null() for name, column in columns.items()}
            yield batch.num_rows, columns


def _reports(protocol: QuestionProtocol, answers: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
    mechanism, grid = protocol.mechanism, protocol.question.grid
    if isinstance(mechanism, FrequencyOracle) and grid is not None:
        return mechanism.draw(grid.round_randomly(answers, entropy), entropy)
    return mechanism.randomize(answers, entropy=entropy)


def _indices(indices: Codes) -> Any:
    """Indices to take; those below 0 give a missing value."""
    return pa.array(indices, mask=indices < 0)


def _question_values(protocol: QuestionProtocol, column: pa.Array[Any]) -> pa.Array[Any]:
    """Convert answers to the question's own values: truth values to no and yes, dictionaries to their values."""
    if column.null_count:
        raise DataError(f"An answer to {protocol.name} is missing.", hint="Leave out people who did not answer.")
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type) and protocol.question.kind == "yes/no":
        return pa.array(["no", "yes"]).take(column.cast(pa.uint8()))
    if (
        protocol.question.whole
        and pa.types.is_floating(column.type)
        and pc.any(pc.not_equal(pc.floor(column), column)).as_py()
    ):
        raise DataError(
            f"{protocol.name} needs whole numbers, and an answer is not one.",
            hint="Change the number of steps to round to.",
        )
    return column


def _answers(survey: Survey, path: Path) -> Iterator[pa.RecordBatch]:
    """Read the questions' columns of a CSV or Parquet file in batches."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    names = [protocol.name for protocol in survey.protocols]
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                _require(names, file.schema_arrow.names, path)
                yield from file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=names)
            return
        texts = {one.name: pa.string() for one in survey.protocols if one.question.grid is None}
        options = pyarrow.csv.ConvertOptions(column_types=texts, strings_can_be_null=True)
        in_order = pyarrow.csv.ReadOptions(use_threads=False)  # so that an error has its line
        with pyarrow.csv.open_csv(path, read_options=in_order, convert_options=options) as rows:
            _require(names, rows.schema.names, path)
            yield from (batch.select(names) for batch in rows)
    except pa.ArrowException as error:
        raise DataError(
            f"{path} cannot be read{_line(error)}.",
            hint="Give a CSV or a Parquet file, with as many cells in every row and a number where one is asked for.",
        ) from None


def _line(error: pa.ArrowException) -> str:
    """Line of an error; not the text there, which may be someone's answer."""
    row = re.search(r"Row #(\d+)", str(error))
    return f": something is wrong in line {row[1]}" if row else ""


def _require(names: list[str], result: list[str], path: Path) -> None:
    missing = [name for name in names if name not in result]
    if missing:
        raise DataError(
            f"{path} has no column {missing[0]!r}.", hint="It needs a column for every question, with its name."
        )
