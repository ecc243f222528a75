"""Answers in a file, randomised a part at a time: for whoever plays all devices, and for trying a survey out."""

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

from discreet.errors import BadInput, DataError, NotFound
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.survey import inbox
from discreet.verbs.collect.survey.survey import Asked, Survey

_ROWS = 1 << 18
_MARK = b"discreet.survey"


def randomize_file(
    survey: Survey,
    answers: Path,
    reports: Path,
    *,
    entropy: Entropy = BULK,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """A report for every row of a file of answers, as Parquet; how many. Nothing is held but a part of either."""
    if reports.exists():
        raise BadInput(f"{reports} is there already.", hint="Give a new name.")
    people, part = 0, reports.with_name(f".{reports.name}.part")
    try:
        with pq.ParquetWriter(part, schema_of(survey)) as out:
            for batch in _answers(survey, answers):
                out.write_batch(randomized(survey, batch, entropy))
                people += batch.num_rows
                progress(people)
        part.rename(reports)
    finally:
        part.unlink(missing_ok=True)
    return people


def randomized(survey: Survey, answers: pa.RecordBatch, entropy: Entropy = BULK) -> pa.RecordBatch:
    """The reports of some people: one for every question, or for the one that was drawn."""
    rows = answers.num_rows
    drawn = entropy.many_below(len(survey.asked), rows) if survey.share == "sampled" else None
    columns: list[pa.Array[Any]] = []
    for place, asked in enumerate(survey.asked):
        column = _plain(asked, answers.column(asked.name))
        if drawn is None:
            columns.append(_reports(asked, column, entropy))
            continue
        who = np.flatnonzero(drawn == place)
        told = _reports(asked, column.take(_places(who)), entropy)
        where = np.full(rows, -1, dtype=np.int64)
        where[who] = np.arange(who.size)
        columns.append(told.take(_places(where)))
    return pa.RecordBatch.from_arrays(columns, schema=schema_of(survey))


def schema_of(survey: Survey) -> pa.Schema:
    """A column of reports for each question, and the mark of the survey that they are of."""
    kinds = [pa.field(asked.name, asked.mechanism.report_type) for asked in survey.asked]
    return pa.schema(kinds, metadata={_MARK: survey.fingerprint.encode()})


def had_codes(survey: Survey, path: Path) -> bool:
    """Whether everybody whose report is in a file had a one-time code."""
    if not path.is_file():
        raise NotFound(
            f"There are no reports at {path}.", hint="discreet collect serve takes them in, and randomize makes them."
        )
    return path.suffix != ".parquet" and inbox.has_codes(path, survey)


def read_reports(survey: Survey, path: Path) -> Iterator[tuple[int, dict[str, pa.Array[Any]]]]:
    """The reports in a file, a part at a time: how many people, and each question's reports."""
    if path.suffix != ".parquet":
        yield from inbox.batches(survey, path)
        return
    with pq.ParquetFile(path) as file:
        if (file.schema_arrow.metadata or {}).get(_MARK) != survey.fingerprint.encode():
            raise DataError(
                f"The reports in {path.name} are not of this survey as it is now.",
                hint="Was the survey changed? Put it back as it was.",
            )
        for batch in file.iter_batches(batch_size=_ROWS):
            yield batch.num_rows, {asked.name: _told(survey, batch.column(asked.name)) for asked in survey.asked}


def _told(survey: Survey, column: pa.Array[Any]) -> pa.Array[Any]:
    """The reports of those who were asked; if all were, a missing one is an error where it is counted."""
    return column.drop_null() if survey.share == "sampled" else column


def _reports(asked: Asked, answers: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
    mechanism, grid = asked.mechanism, asked.question.grid
    if isinstance(mechanism, Client) and grid is not None:
        return mechanism.draw(grid.place(answers, entropy), entropy)
    return mechanism.randomize(answers, entropy=entropy)


def _places(places: Codes) -> Any:
    """Where to take from; below 0: from nowhere."""
    return pa.array(places, mask=places < 0)


def _plain(asked: Asked, column: pa.Array[Any]) -> pa.Array[Any]:
    """Answers as the question has them: truth values as no and yes, values in a dictionary as themselves."""
    if column.null_count:
        raise DataError(f"Somebody did not answer {asked.name}.", hint="Leave out people who did not answer.")
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type) and asked.question.kind == "yes/no":
        return pa.array(["no", "yes"]).take(column.cast(pa.uint8()))
    if (
        asked.question.whole
        and pa.types.is_floating(column.type)
        and pc.any(pc.not_equal(pc.floor(column), column)).as_py()
    ):
        raise DataError(
            f"{asked.name} asks for whole numbers, and an answer is none.",
            hint="Give it more or fewer steps, to round to.",
        )
    return column


def _answers(survey: Survey, path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV or Parquet file, a part at a time, with the questions' columns."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    names = [asked.name for asked in survey.asked]
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                _require(names, file.schema_arrow.names, path)
                yield from file.iter_batches(batch_size=_ROWS, columns=names)
            return
        texts = {one.name: pa.string() for one in survey.asked if one.question.grid is None}
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
    """Where something is wrong; not what stands there, which may be somebody's answer."""
    row = re.search(r"Row #(\d+)", str(error))
    return f": something is wrong in line {row[1]}" if row else ""


def _require(names: list[str], found: list[str], path: Path) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}.", hint="It needs one for every question, by its name.")
