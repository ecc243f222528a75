"""The seam between discreet and the places where rows live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    import pyarrow as pa
    from sqlglot import exp

    Part: TypeAlias = Callable[[pa.Table], pa.Table]
    """What is made of some of a query's rows."""


class Engine(Protocol):
    """DuckDB, PostgreSQL or Spark: sqlglot trees in, Arrow out.

    Every engine gives the same answer to the same tree, in the same Arrow types (see ``core/arrow.py``).
    A query that aggregates casts its result, since engines disagree on the type of a sum. What ``sql.attempt`` made is
    NULL on rows on which it fails (``fetch`` alone has to see to that).
    """

    @property
    def dialect(self) -> str:
        """The engine's SQL, by sqlglot's name."""

    @property
    def title(self) -> str:
        """What the engine is called in a recipe, with its version; never an address or a password."""

    def schema(self, query: exp.Query) -> pa.Schema:
        """The columns ``query`` would give, without running it."""

    def fetch(self, query: exp.Query, *, seconds: float | None = None, each: Part | None = None) -> pa.Table:
        """The rows of ``query``; one that takes more ``seconds`` is stopped, and is an error.

        ``each`` says what to keep of a part of the rows as it comes in, so that all of them are never held.
        """

    def stream(self, query: exp.Query) -> pa.RecordBatchReader:
        """The rows of ``query``, a batch at a time, never all in memory."""

    def store(self, name: str, query: exp.Query) -> None:
        """Make a table of ``query``'s rows: all of them or, on any failure, nothing. The name must be new."""

    def load(self, name: str, data: pa.Table) -> None:
        """Make a table of ``data``, under the same terms as ``store``."""

    def close(self) -> None:
        """Give back what the engine holds. Closing twice is fine."""
