"""What the parts of the service log on their own, as the lines of JSON that requests are logged as.

Our own words hold nothing of anybody's. Those of other packages, and of errors that nobody caught, may quote whatever
they stumbled over: of these there is the kind and where in the code it was, and not a word of what they say.
"""

from __future__ import annotations

import logging
import threading

from discreet.service.api.logs import Log, frames_of

_OURS = "discreet"
_EXTRAS = ("kind", "page")
"""What our own lines say beside their text."""


def log_plainly(log: Log) -> None:
    """From now on everything that this process logs is written so."""
    root = logging.getLogger()
    root.handlers[:] = [Lines(log)]
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(logging.INFO)
    threading.excepthook = _caught


class Lines(logging.Handler):
    """Writes a line for everything that is logged."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        line: dict[str, object] = {"level": record.levelname.lower(), "logger": record.name}
        error = record.exc_info[1] if record.exc_info else None
        if error is None and isinstance(record.msg, BaseException):  # as NiceGUI does
            error, record.msg = record.msg, ""
        if record.name.partition(".")[0] == _OURS:
            line["said"] = record.getMessage()
            line |= {name: getattr(record, name) for name in _EXTRAS if hasattr(record, name)}
        else:
            line["at_line"] = f"{record.filename}:{record.lineno}"
        if error is not None:
            line |= {"error": type(error).__name__, "where": frames_of(error)}
        self._log.write(**line)


def _caught(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        logging.getLogger("thread").error("", exc_info=args.exc_value)
