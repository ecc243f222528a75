"""What goes wrong inside the console: written down by its kind and its place in the code, and never by its text.

NiceGUI's own log quotes addresses and the text of errors, which may quote data. So what it has to say is taken over
here, and of its warnings nothing is kept.
"""

from __future__ import annotations

import logging

from discreet.errors import DiscreetError
from discreet.service.api.logs import Log, frames_of

_OURS = logging.getLogger("discreet.console")
_THEIRS = logging.getLogger("nicegui")


def write_to(log: Log) -> None:
    """Write down faults of the console in the service's log."""
    for logger in (_OURS, _THEIRS):
        logger.handlers = [_Lines(log)]
        logger.propagate = False


def told(fault: Exception) -> DiscreetError:
    """Write a fault down; what people are told of it instead."""
    _OURS.error("", exc_info=fault)
    return DiscreetError("Something went wrong here.", hint="Try again, or tell a steward.")


class _Lines(logging.Handler):
    """A line of the service's log for every error."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, without a word of what the error says."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None and isinstance(record.msg, BaseException):
            error = record.msg
        kind = type(error).__name__ if error else "unknown"
        where = frames_of(error) if error else [f"{record.filename}:{record.lineno} {record.funcName}"]
        self._log.write(part="console", error=kind, where=where)
