"""The release: the only thing that leaves."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from discreet.core import loss as losses
from discreet.core import release_extras, report
from discreet.core.document import fields
from discreet.core.holder_copy import HolderCopy
from discreet.core.loss import Loss
from discreet.core.markup import Markup, markup
from discreet.core.picture import Picture
from discreet.core.recipe import Recipe
from discreet.core.statement import Statement
from discreet.errors import BadInput, DataError, NoPromise

T = TypeVar("T")


@dataclass(frozen=True)
class Receipt:
    """The ledger's line for a release: what was charged, to whom, when."""

    account: str
    key: str
    """Charging twice under one key charges once."""
    loss: Loss
    line: int
    digest: str
    """The ledger's hash of this line and all before it."""
    at: dt.datetime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise BadInput("The time on a receipt needs its offset from UTC.")

    def __str__(self) -> str:
        at = self.at.isoformat(sep=" ", timespec="seconds")
        return f"{self.loss} charged to {self.account} (line {self.line}, {at})"

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        written = {"loss": self.loss.to_dict(), "at": self.at.isoformat()}
        return {name: written.get(name, getattr(self, name)) for name in self.__match_args__}

    @classmethod
    def from_dict(cls, data: object) -> Receipt:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "a receipt", account=str, key=str, loss=dict, line=int, digest=str, at=str)
        try:
            at = dt.datetime.fromisoformat(read["at"])
        except ValueError:
            raise BadInput(f"a receipt: {read['at']!r} is not a time.") from None
        return cls(**(read | {"loss": losses.from_dict(read["loss"]), "at": at}))


@dataclass(frozen=True, repr=False)
class Release(Generic[T]):
    """A payload with what it promises, how it was made and what was charged for it.

    A table in it is bare: dictionaries are decoded and metadata dropped, because both may still hold
    values of rows that are not in the table; how near synthetic rows are stays (``core/release_extras.py``). A
    release made with a seed carries no loss and no secrecy, since these hang on randomness nobody can
    repeat; privacy models checked on the output may stay.
    """

    payload: T
    """An Arrow table, or data that ``core/document.py`` can write exactly."""
    statement: Statement
    recipe: Recipe
    receipt: Receipt | None = None
    pictures: tuple[Picture, ...] = ()
    title: str = ""
    layout: Markup = field(default=Markup(), compare=False)
    """The payload as HTML for the report, if there is a better way to show it than as rows; not saved by itself."""
    holder: HolderCopy | None = field(default=None, compare=False)
    """What stays with the holder of the data. It is never saved with the release."""
    notices: tuple[str, ...] = field(default=(), compare=False)
    """What the holder should know before handing it over, such as earlier releases of the same people; not saved."""

    def __post_init__(self) -> None:
        secret = self.statement.loss is not None or self.statement.secrecy is not None
        if secret and self.recipe.seed is not None:
            raise NoPromise(
                "A release made with a seed cannot promise a privacy loss or secrecy: whoever knows the seed "
                "can take the noise away.",
                hint="Leave the seed out, or promise only what was checked on the output.",
            )
        if self.statement.loss is not None and self.recipe.from_data:
            raise NoPromise(
                f"A release cannot promise a privacy loss on what was read off the data: "
                f"{', '.join(self.recipe.from_data)}.",
                hint="Declare it on the card.",
            )
        if type(self.payload).__name__ in ("DataFrame", "LazyFrame", "Table") and not isinstance(
            self.payload, pa.Table
        ):
            raise BadInput(
                f"A {type(self.payload).__name__} cannot be released as it is.",
                hint="Give an Arrow table: payload() of a discreet table, pyarrow.table(frame) of a data frame.",
            )
        object.__setattr__(self, "title", self.title or self.recipe.method)
        if isinstance(self.payload, pa.Table):
            object.__setattr__(self, "payload", _bare(self.payload))

    @classmethod
    def unpromised(cls, payload: T) -> Release[T]:
        """Rows as an intruder would have them who was told nothing else; nothing of it may leave."""
        return cls(payload, Statement(unit="row"), Recipe("unpromised"))

    @property
    def private(self) -> bool:
        """Whether this may be called private: something is promised, and no seed undoes it."""
        return self.statement.private and self.recipe.seed is None and not self.recipe.from_data

    @property
    def links(self) -> Any:
        """For each released row the original's row number, from 0, as the holder's copy has it; ``None`` without it."""
        return self.holder.links if self.holder is not None else None

    @property
    def promise(self) -> str:
        """The statement in plain words, and the seed if there is one."""
        return " ".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The same, what is promised first, and whatever else is to be known in a line each."""
        said = list(self.statement.lines)
        if self.recipe.seed is not None:
            said.append(f"Made with seed {self.recipe.seed}: every random choice can be repeated.")
        if self.recipe.from_data:
            said.append(f"Read off the data: {', '.join(self.recipe.from_data)}.")
        if self.statement.private and not self.private:
            said[-1] += " So this release is not private."
        return tuple(said)

    def save(self, folder: str | Path, *, csv: bool = False) -> Path:
        """Write the release to a folder that is new or empty; see ``core/release_folder.py``."""
        from discreet.core.release_folder import save

        save(self, Path(folder), csv=csv)
        return Path(folder).resolve()

    @staticmethod
    def load(folder: str | Path) -> Release[Any]:
        """The release in ``folder``, every file checked against its hash."""
        from discreet.core.release_folder import load

        return load(Path(folder))

    def __str__(self) -> str:
        if isinstance(self.payload, pa.Table):
            payload = f"a table of {self.payload.num_rows:,} rows and {self.payload.num_columns:,} columns"
        else:
            payload = report.shortened(str(self.payload), 200)
        parts = [self.title, *self.lines, f"payload: {payload}", str(self.recipe)]
        if self.receipt is not None:
            parts.append(f"receipt: {self.receipt}")
        if self.holder is not None:
            parts.append(str(self.holder))
        parts += self.notices
        return "\n".join(parts)

    def __repr__(self) -> str:
        promised = str(self.statement.loss) if self.statement.loss is not None else ""
        promised = promised or ", ".join(claim.text for claim in self.statement.models) or "no loss promised"
        return f"<{type(self).__name__} {self.title!r}: {promised}>"

    def _repr_html_(self) -> str:
        holder = self.holder.draw() if self.holder is not None else None
        return markup(holder, report.notes(self.notices), report.fragment(cast("Release[object]", self)))


def _bare(table: pa.Table) -> pa.Table:
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"The table has two columns called {name!r}.", hint="Rename one of them.")
    plain = []
    for column in table.schema:
        kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
        if _holds_dictionary(kind):
            raise DataError(
                f"Column {column.name!r} holds dictionaries inside lists or structs.",
                hint=f"Cast it from {column.type} to plain values.",
            )
        plain.append(pa.field(column.name, kind, nullable=column.nullable))
    return table.cast(pa.schema(plain)).replace_schema_metadata(release_extras.kept(table.schema.metadata, names))


def _holds_dictionary(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.DictionaryType):
        return True
    return any(_holds_dictionary(kind.field(index).type) for index in range(kind.num_fields))
