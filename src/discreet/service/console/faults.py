"""What goes wrong inside the console: written down by its kind and its place in the code, and never by its text.

NiceGUI's own log quotes addresses and the text of errors, which may quote data. So what it has to say is taken over
here, and of its warnings nothing is kept.
"""

from __future__ import annotations

import logging
from pathlib import Path

from discreet.curator.people.person import Person
from discreet.errors import DiscreetError
from discreet.service.api.failures import is_for
from discreet.service.api.logs import Lines, Log
from discreet.service.redact import redacted

_OURS = logging.getLogger("discreet.console")
_THEIRS = logging.getLogger("nicegui")


def write_to(log: Log) -> None:
    """Write down faults of the console in the service's log."""
    for logger in (_OURS, _THEIRS):
        logger.handlers = [Lines(log)]
        logger.setLevel(logging.ERROR)
        logger.propagate = False


def told(error: Exception, who: Person | None, workspace: Path) -> DiscreetError:
    """What somebody is told of an error: itself, if they may read it; any other is written down."""
    if isinstance(error, DiscreetError) and is_for(who, error):
        return redacted(error, workspace)
    _OURS.error("", exc_info=error)
    return DiscreetError("Something went wrong here.", hint="Try again, or tell a steward.")
