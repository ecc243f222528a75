"""The inbox of a survey: a file of JSON lines, each on the disk before the respondent is thanked.

A report that no device can have made, or that was made for another survey, is refused before it is written. A report
that comes twice, since its receipt was lost, counts once by its random id. If there is a list of one-time codes, a code
is marked as used, in a file of its own, before its report is written: a crash in between loses the report, and never
lets one person count twice. Codes do not stand beside reports, nor in their order.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from io import BufferedRandom
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from discreet.core.document import Format, fields, flush_name, owned, write
from discreet.errors import BadInput, DataError, NotAllowed, NotFound
from discreet.verbs.collect.survey.survey import QuestionProtocol, QuestionTally, Survey

FORMAT: Format[dict[str, Any]] = Format("reports", unmarked=True)
"""A step is given the first line of a file of reports."""
REPORT_BYTES = 100_000
"""Largest report that is received, bytes."""
REPORTS_PER_PERSON, FEWEST_REPORTS = 100, 10_000
"""Reports that an inbox has room for: so many for each person expected, and no fewer than so many in all.

Who floods a survey fills its inbox, not the disk.
"""
_ID = re.compile(r"[0-9a-f]{32}")
_LINES_PER_BATCH = 10_000
_BROKEN = "A report that cannot be read"
_HASH_DIGITS = 64
_LINE_BYTES = _HASH_DIGITS + len(" x\n")


def default_reports_path(survey: Path) -> Path:
    """Default file of a survey's reports: its own name, without .toml."""
    return survey.with_name(f"{survey.name.removesuffix('.toml')}.reports.jsonl")


class Inbox:
    """An inbox of reports, for one process at a time."""

    def __init__(self, survey: Survey, path: Path, codes: Iterable[str] | None = None) -> None:
        self._survey = survey
        self.needs_code = codes is not None
        """Whether everyone has a one-time code."""
        self._lock = threading.Lock()
        self._closed = False
        self._most = max(FEWEST_REPORTS, REPORTS_PER_PERSON * survey.people)
        with ExitStack() as files:  # let go of, if anything is wrong with them
            self._reports = files.enter_context(closing(_Lines(path)))
            if self._reports.new:
                head = FORMAT.mark() | {"survey": survey.fingerprint, "codes": self.needs_code}
                self._reports.append(json.dumps(head))
            if has_codes(path, survey) != self.needs_code:
                raise BadInput(
                    "These reports were collected without codes."
                    if self.needs_code
                    else "These reports were collected with one-time codes.",
                    hint="Continue as before (with or without --codes), or use another file: --reports FILE",
                )
            self._ids = {bytes.fromhex(line["id"]) for line in _read(path, survey)}
            used = path.with_name(f"{path.name}.used")
            self._codes = None if codes is None else files.enter_context(closing(OneTimeCodes(used, codes)))
            self._files = files.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # a report that is being written is written wholly
            self._closed = True
            self._files.close()

    def __len__(self) -> int:
        return len(self._ids)

    def receive(self, data: object) -> None:
        """Write a report to the inbox, or refuse it."""
        document = fields(data, "a report", survey=str, id=str, code=str | None, reports=dict)
        if document["survey"] != self._survey.fingerprint:
            raise BadInput("The survey has changed.", hint="Load the page again.")
        if not _ID.fullmatch(document["id"]):
            raise BadInput("The id of a report must be 32 hexadecimal digits.")
        require_survey_reports(self._survey, document["reports"])
        line = json.dumps({"id": document["id"], "reports": document["reports"]})
        with self._lock:
            if self._closed:
                raise NotAllowed("This survey is closed.", hint="Nothing was kept.")
            if bytes.fromhex(document["id"]) in self._ids:
                return
            if len(self._ids) >= self._most:
                raise NotAllowed(
                    f"This survey has {self._most:,} reports, and takes no more.",
                    hint="Ask the person who sent you the link.",
                )
            if self._codes is not None:
                self._codes.use(document["code"] or "", document["id"])
            elif document["code"] is not None:
                raise BadInput("This survey has no codes.")
            self._reports.append(line)
            self._ids.add(bytes.fromhex(document["id"]))
            if self._codes is not None:
                self._codes.forget_report(document["id"])


def require_survey_reports(survey: Survey, reports: Mapping[str, Any]) -> None:
    """Refuse reports that no device can have made of this survey."""
    wanted = {protocol.name: protocol for protocol in survey.protocols}
    complete = (
        set(reports) == set(wanted) if survey.share == "split" else len(reports) == 1 and set(reports) <= set(wanted)
    )
    if not complete:
        raise DataError("The report does not match the survey's questions.", hint="Load the page again.")
    for name, report in reports.items():
        QuestionTally(wanted[name]).add(as_array(wanted[name], [report]))


def as_array(protocol: QuestionProtocol, reports: list[Any]) -> pa.Array[Any]:
    """Convert reports from JSON to the protocol's Arrow type."""
    kind = protocol.mechanism.report_type
    if pa.types.is_fixed_size_binary(kind):
        shape = re.compile(rf"[0-9a-f]{{{2 * kind.byte_width}}}")
        if not all(isinstance(report, str) and shape.fullmatch(report) for report in reports):
            raise DataError(f"{protocol.name}: a report is {2 * kind.byte_width} hexadecimal digits.")
        return pa.array([bytes.fromhex(report) for report in reports], kind)
    if not all(type(report) is int and 0 <= report < 2**kind.bit_width for report in reports):
        raise DataError(f"{protocol.name}: a report must be a whole number.")
    return pa.array(reports, kind)


def read_batches(survey: Survey, path: Path) -> Iterator[tuple[int, dict[str, pa.Array[Any]]]]:
    """Read the reports in a file in batches: the number of people, and the reports on each question."""
    batch: list[dict[str, Any]] = []
    for line in _read(path, survey):
        batch.append(line["reports"])
        if len(batch) == _LINES_PER_BATCH:
            yield len(batch), _columns(survey, batch)
            batch = []
    if batch:
        yield len(batch), _columns(survey, batch)


def _columns(survey: Survey, batch: list[dict[str, Any]]) -> dict[str, pa.Array[Any]]:
    return {
        protocol.name: as_array(protocol, [one[protocol.name] for one in batch if protocol.name in one])
        for protocol in survey.protocols
    }


def has_codes(path: Path, survey: Survey) -> bool:
    """Whether everyone whose report is in a file had a one-time code."""
    with path.open("rb") as file:
        head = FORMAT.read(_line(file.readline(), path) or {}, path.name)
    if head.get("survey") != survey.fingerprint:
        raise DataError(
            f"The reports in {path.name} do not belong to the current version of this survey.",
            hint="Restore the survey file, or move the reports away.",
        )
    return bool(fields(head, f"The first line of {path.name}", survey=str, codes=bool)["codes"])


def _read(path: Path, survey: Survey) -> Iterator[dict[str, Any]]:
    """Read every report; an unfinished last line is none."""
    has_codes(path, survey)
    with path.open("rb") as file:
        next(file)
        for line in file:
            document = _line(line, path)
            if document is not None:
                yield fields(document, _BROKEN, id=str, reports=dict)


def _line(line: bytes, path: Path) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        document = json.loads(line)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DataError(f"{_BROKEN} is in {path.name}.", hint="Restore the file from a backup.")
    return document


class _Lines:
    """An append-only file of lines, each written wholly and durably, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.new = not path.exists() or path.stat().st_size == 0
        self._file: BufferedRandom = open(path, "a+b", opener=owned)  # noqa: SIM115  # until it is closed
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise BadInput(f"Another process is using {path}.", hint="Stop it first.") from None
        flush_name(path.absolute())
        self._truncate()

    def append(self, line: str) -> None:
        """Append a line durably, or nothing of it."""
        size = os.fstat(self._file.fileno()).st_size
        try:
            left = memoryview(f"{line}\n".encode())
            while left:
                left = left[os.write(self._file.fileno(), left) :]
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), size)
            raise

    def close(self) -> None:
        self._file.close()

    def _truncate(self) -> None:
        """Truncate a last line that a crash left unfinished."""
        self._file.seek(0)
        whole = 0
        for line in self._file:
            if line.endswith(b"\n"):
                whole += len(line)
        if whole < self._file.tell():
            os.ftruncate(self._file.fileno(), whole)
        self.new = whole == 0


def read_codes(path: Path) -> frozenset[str]:
    """Read one-time codes, one a line."""
    try:
        codes = frozenset(path.read_text(encoding="utf-8").split())
    except FileNotFoundError:
        raise NotFound(f"There is no list of codes at {path}.", hint="Make one: discreet collect new --codes") from None
    if not codes:
        raise BadInput(f"There is no code in {path}.")
    return codes


class OneTimeCodes:
    """One-time codes and which of them were used.

    The file has their hashes, sorted, each with a mark that it was used. A mark is put where it belongs and no line is
    ever moved or added: so the file does not say who came first, and cannot be laid beside reports, which do come in an
    order.
    """

    def __init__(self, path: Path, codes: Iterable[str]) -> None:
        self._used = _used(path) if path.exists() else set()
        every = sorted(self._used | set(map(_hashed, codes)))
        new = path.with_name(f".{path.name}.new")
        new.unlink(missing_ok=True)
        write(new, "".join(f"{one} {'x' if one in self._used else '-'}\n" for one in every).encode(), private=True)
        new.replace(path)
        flush_name(path.absolute())
        self._places = {one: index for index, one in enumerate(every)}
        self._owed: dict[str, str] = {}
        self._file = path.open("r+b", buffering=0)

    def use(self, code: str, report: str) -> None:
        """Mark a code as used by a report, on the disk, unless another report used it.

        Until the report is ``forget_report`` it may come again, should the disk have been full.
        """
        hashed = _hashed(code)
        if hashed not in self._places:
            raise NotAllowed("This code is not on the list.", hint="Check that it is typed as you received it.")
        if hashed in self._used and self._owed.get(report) != hashed:
            raise NotAllowed("This code has been used.", hint="Each code works once.")
        self._used.add(hashed)
        self._owed[report] = hashed
        os.pwrite(self._file.fileno(), b"x", self._places[hashed] * _LINE_BYTES + _HASH_DIGITS + 1)
        os.fsync(self._file.fileno())

    def forget_report(self, report: str) -> None:
        """Forget which code a report came with, once the report is on the disk."""
        self._owed.pop(report, None)

    def close(self) -> None:
        self._file.close()


def _used(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if not re.fullmatch(rf"([0-9a-f]{{{_HASH_DIGITS}}} [-x]\n)*", text):
        raise DataError(f"{path.name} does not list the used codes.", hint="Restore it from a backup.")
    return {line[:_HASH_DIGITS] for line in text.splitlines() if line.endswith("x")}


def _hashed(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
