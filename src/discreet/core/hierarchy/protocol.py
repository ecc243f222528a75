"""What every hierarchy can do.

Level 0 is the value itself, level ``height`` is ``*`` for everybody; between them each level is text and
coarser than the one below: two values that share a label share all labels above it. NULL is a value of its
own: it stays NULL below the top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from discreet.core.kind import Kind

if TYPE_CHECKING:
    from sqlglot import exp

TOP = "*"


@runtime_checkable
class Hierarchy(Protocol):
    """One way of making values coarser, declared, immutable and comparable by value."""

    type: ClassVar[str]
    """The name it has in a card."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of column it can be laid over; some depend on what was declared (dates or numbers)."""

    @property
    def height(self) -> int:
        """The top level, where every value is ``*``; at least 1."""

    @property
    def other(self) -> str | None:
        """The label, on every level from 1 to below the top, of values the hierarchy does not know."""

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        """The label of ``value`` on a level strictly between 0 and ``height``.

        Called for known values only: ``apply`` (see ``expression.py``) takes care of the ends, of NULL and
        of unknown values. The text is the same on every engine.
        """

    def knows(self, value: exp.Expr, kind: Kind) -> exp.Expr | None:
        """A condition that holds for every value (not NULL) that has labels; ``None``: all have."""

    def fields(self) -> dict[str, Any]:
        """What a card says of it besides ``type`` and ``other``; reading it back gives an equal hierarchy."""
