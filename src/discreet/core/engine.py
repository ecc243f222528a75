"""Interface of engines, the places where rows live, and what each of them can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from discreet.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    import pyarrow as pa
    from sqlglot import exp

    Work: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    Part: TypeAlias = Callable[[pa.Table], pa.Table]
    """What is made of some of a query's rows."""


@dataclass(frozen=True)
class Written:
    """A query as text in an engine's SQL, used for many queries that differ in their literals."""

    text: str
    tolerant: bool
    """Whether the text contains attempts (``sql.attempt``)."""


class Engine(Protocol):
    """DuckDB, PostgreSQL or Spark: sqlglot trees in, Arrow out.

    Every engine gives the same answer to the same tree, in the same Arrow types (see ``core/sql.py``).
    A query that aggregates casts its result, since engines disagree on the type of a sum. What ``sql.attempt`` made is
    NULL on rows on which it fails (``fetch`` alone has to see to that).

    An engine says what it can do beyond that; no one outside ``engines/`` asks which one it is.
    """

    embedded: ClassVar[bool] = False
    """Whether it runs in this process, so that files are opened on it and tables of its own cost little."""
    lends: ClassVar[bool] = False
    """Whether rows in memory can be joined with its own (``lend``)."""
    takes_text: ClassVar[bool] = False
    """Whether it runs queries that are given as text (``fetch_written``)."""
    has_workers: ClassVar[bool] = False
    """Whether functions of ours run where the rows are (``engines/spark.py``)."""

    @property
    def dialect(self) -> str:
        """The engine's SQL, by sqlglot's name."""

    @property
    def title(self) -> str:
        """Name and version of the engine, for a recipe; never an address or a password."""

    def schema(self, query: exp.Query) -> pa.Schema:
        """The columns ``query`` would give, without running it."""

    def fetch(
        self,
        query: exp.Query,
        *,
        seconds: float | None = None,
        each: Part | None = None,
        forgiving: bool = False,
    ) -> pa.Table:
        """The rows of ``query``; if it takes more than ``seconds`` it is stopped, with an error.

        ``each`` says what to keep of a part of the rows as it comes in, so that all of them are never held. A number
        that has no room in its Arrow type is an error, unless this is ``forgiving``: then it is cut off, or NULL.
        """

    def fetch_written(self, query: Written, *, seconds: float | None = None, each: Part | None = None) -> pa.Table:
        """As ``fetch``, of a query in the engine's text, where it ``takes_text``."""
        raise EngineError(f"{self.title} takes no text.")

    def stream(self, query: exp.Query) -> pa.RecordBatchReader:
        """The rows of ``query``, a batch at a time, never all in memory."""

    def store(self, name: str, query: exp.Query) -> None:
        """Make a table of ``query``'s rows: all of them or, on any failure, nothing. The name must be new."""

    def load(self, name: str, data: pa.Table) -> None:
        """Make a table of ``data``, under the same terms as ``store``."""

    def dictionary_codes(self, relation: exp.Query, names: Sequence[str]) -> pa.Table | None:
        """Columns of rows in memory, as places in dictionaries; ``None`` if the rows are elsewhere."""
        return None

    def lend(self, data: pa.Table) -> exp.Select:
        """A query for ``data`` on this engine, valid as long as the engine is open."""
        raise EngineError(f"{self.title} cannot be lent rows.", hint="Bring the table to DuckDB or Spark first.")

    def mapped(self, query: exp.Query, work: Work) -> exp.Select:
        """A query for what ``work`` makes of the rows of ``query``, where the engine ``has_workers``."""
        raise EngineError(f"{self.title} has no workers.")

    def new_name(self, like: str) -> str:
        """A name that nothing here has yet, where the engine is ``embedded``."""
        raise EngineError(f"{self.title} keeps no tables of its own.")

    def drop(self, name: str) -> None:
        """Remove a table of that name, where the engine is ``embedded``."""
        raise EngineError(f"{self.title} keeps no tables of its own.")

    def close(self) -> None:
        """Give back what the engine holds. Closing twice is fine."""
