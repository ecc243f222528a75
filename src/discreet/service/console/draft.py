"""The draft of a question: everything on the Ask page that is not asked yet, kept by the browser while its tab is open.

It survives leaving the page, going back and reloading, and goes when the tab is closed; the service keeps nothing of
it. Whether someone builds questions or writes SQL is remembered for longer, and says nothing else. What comes back
from a browser may have been changed there: it is read as anything that is sent.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from discreet.errors import BadInput
from discreet.service.console.question_builder import Choices

BUILD, SQL = "build", "sql"
MODES = {"epsilon": "By price", "error": "By error"}
"""Whether someone chooses a price, or an error."""
EVENT = "ask-draft"
"""Event by which the browser sends what it kept, or that it kept nothing, once the page is connected."""
_LONGEST = 60_000
"""Longest draft, characters."""
MOST_PINNED = 4
"""Most pinned answers."""
_RELEASE = re.compile(r"[0-9a-f]{64}")
FIELDS = ("mode", "epsilon", "error", "expect", "delta", "rows")
"""Fields of the price."""
_READ = """
{
  const kept = sessionStorage.getItem(%(key)s), view = localStorage.getItem('discreet-ask-view');
  const [visit] = performance.getEntriesByType('navigation');
  const named = new URLSearchParams(location.search).has('table') && visit?.type === 'navigate';
  if (named || !kept) document.querySelector('.dc-ask[inert]').inert = false;  // nothing has to come back first
  emitEvent('%(event)s', {kept: named ? null : kept, view});
}
"""


@dataclass(frozen=True)
class Draft:
    """A question that is not asked yet."""

    view: str
    """``build`` or ``sql``."""
    sql: str
    """SQL written by hand; empty if there is none."""
    choices: Choices
    fields: dict[str, str] = field(default_factory=dict)
    """Fields of the price, by name, as they were typed."""
    pinned: tuple[str, ...] = ()
    """Releases that are pinned."""

    @classmethod
    def from_json(cls, text: Any) -> Draft:
        """What a browser kept; ``BadInput`` if it is no draft."""
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise BadInput("This is not a draft.")
        try:
            found = json.loads(text)
            known = {name: found["fields"][name] for name in FIELDS}
            pinned = tuple(found["pinned"])
            texts = [found["view"], found["sql"], *known.values(), *pinned]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BadInput("This is not a draft.") from None
        if not all(isinstance(one, str) for one in texts) or not all(map(_RELEASE.fullmatch, pinned)):
            raise BadInput("This is not a draft.")
        if len(pinned) > MOST_PINNED:
            raise BadInput("This is not a draft.")
        if known["mode"] not in MODES or found["view"] not in (BUILD, SQL):
            raise BadInput("This is not a draft.")
        return cls(found["view"], found["sql"], Choices.from_dict(found["choices"]), known, pinned)

    def keep(self, person: str) -> str:
        """The program by which the browser keeps this for a person."""
        text = json.dumps(asdict(self))
        return f"sessionStorage.setItem({json.dumps(_key(person))}, {json.dumps(text)})"


def read(person: str) -> str:
    """The program by which the browser sends what it kept for a person."""
    return _READ % {"key": json.dumps(_key(person)), "event": EVENT}


def remember(view: str) -> str:
    """The program by which the browser remembers whether questions are built or written."""
    return f"localStorage.setItem('discreet-ask-view', {json.dumps(view)})"


def _key(person: str) -> str:
    return f"discreet-ask {person}"
