"""Response bodies of the API. Losses are exact, as ``Loss.to_dict`` writes them; times are ISO 8601, in UTC.

In rows, dates and times are ISO 8601, decimals are text, and a real number that is none (NaN, infinite) is null.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
from discreet.core.sql import kind_of
from discreet.curator.answer import Answer as Answered
from discreet.curator.audited import AuditedAnswer
from discreet.curator.people.people import SignedIn
from discreet.curator.people.person import Person
from discreet.service.api.schemas import LossShape
from discreet.service.views import TableView
from discreet.verbs.ask.postprocess import ERROR

RoleName = Literal["steward", "analyst", "auditor"]


class View(BaseModel):
    """Base class of response bodies."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, found: Any) -> Self:
        """The attributes of ``found`` that are named like the fields, as plain data."""
        return cls.model_validate({name: plain(getattr(found, name)) for name in cls.model_fields})


class Catalogue(View):
    """All methods, models, rules and attacks, by family."""

    families: list[dict[str, Any]] = Field(
        description="For each family: name, title, commands that take it, and entries: name, summary, "
        "usage, example, paper, extra, and a JSON schema of the parameters."
    )


class Life(View):
    """That the service runs."""

    status: Literal["ok"] = "ok"
    version: str


class Health(View):
    """Whether the service can do its work."""

    status: Literal["ok", "not ready"]
    version: str
    problems: dict[str, str] = Field(
        description="Problem of the database, the disk and the queue; an empty text where there is none.",
        examples=[{"database": "", "disk": "", "queue": ""}],
    )


class Session(View):
    """The signed-in user."""

    name: str = Field(examples=["ann"])
    role: RoleName
    must_change: bool = Field(description="A one-time password was used and must be changed first.")
    csrf: str | None = Field(description="Value of X-CSRF-Token to send; null with a token.")
    until: dt.datetime | None = Field(description="End of the session; null with a token.")

    @classmethod
    def begun(cls, who: Person, session: SignedIn | None) -> Self:
        """A user, and their session if they have one."""
        return cls(
            name=who.name,
            role=who.role.value,
            must_change=who.must_change,
            csrf=None if session is None else session.csrf,
            until=None if session is None else session.until,
        )


class LeftView(View):
    """Remaining budget on a table: the caller's, and the table's."""

    analyst: LossShape
    table: LossShape


class ColumnView(View):
    """A column, as its card declares it."""

    name: str
    kind: str = Field(examples=["integer"])
    role: str = Field(examples=["quasi"])
    bounds: list[Any] | None
    categories: list[Any] | None
    required: bool
    max_length: int | None
    note: str


class Table(View):
    """A table: what its card declares, and what you may spend on it."""

    name: str = Field(examples=["visits"])
    public: bool = Field(description="Whether the table is public: not about people, and free.")
    unit: str | None = Field(description="Column that identifies the person of each row; null: one row per person.")
    rows_per_unit: int | None
    note: str
    columns: list[ColumnView]
    left: LeftView | None = Field(description="null: you may not query it, or it is public.")
    synthetic: str | None = Field(
        description="The release that is its synthetic stand-in, which answers what a budget does not cover."
    )
    audited: bool = Field(
        description="Whether it has query auditing: answered exactly or denied, by POST /v1/ask/audited."
    )

    @classmethod
    def of(cls, view: TableView) -> Self:
        """A table as someone may see it."""
        return cls(
            name=view.name,
            public=view.public,
            unit=view.card.unit,
            rows_per_unit=view.card.rows_per_unit,
            note=view.card.note,
            columns=[ColumnView.of(column) for column in view.card.columns],
            left=None if view.left is None else LeftView.of(view.left),
            synthetic=view.synthetic,
            audited=view.audited,
        )


class Price(View):
    """Price of an answer."""

    loss: LossShape
    errors: dict[str, float | None] = Field(
        description="Error of each column, with 95 % confidence; null: shown with the answer."
    )
    left: LossShape = Field(description="Budget left before this.")
    answered: bool = Field(description="Whether it was answered before, and is free.")
    synthetic: list[str] = Field(
        description="Tables whose synthetic stand-ins would answer, free, because the budget does not cover it."
    )
    columns: dict[str, str] = Field(description="Kind of each column of the answer to a question, in order.")


class AnswerColumn(View):
    """A column of an answer."""

    name: str
    kind: str = Field(examples=["integer"])
    error_of: str | None = Field(description="The column whose error bar this is, at 95 % confidence.")


class Grid(View):
    """Rows and columns."""

    columns: list[AnswerColumn]
    rows: list[list[Any]]

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """An Arrow table."""
        bars = {f"{name}{ERROR}": name for name in table.column_names}
        columns = [
            AnswerColumn(
                name=field.name,
                kind=kind.value if (kind := kind_of(field.type)) else "other",
                error_of=bars.get(field.name),
            )
            for field in table.schema
        ]
        values = [[plain(value) for value in column.to_pylist()] for column in table.columns]
        return cls(columns=columns, rows=[list(row) for row in zip(*values, strict=True)])


class Answer(View):
    """An answer. It is kept under its ``id`` as a release of its own, and the same question again is free."""

    id: str
    title: str
    free: bool = Field(description="Whether nothing was charged: it was answered before, or is synthetic.")
    synthetic: bool = Field(
        description="Whether the table's synthetic stand-in answered because the budget did not cover it: "
        "the figures are about people who never existed. Error bars are then the stand-in's; null: no bound is known."
    )
    price: LossShape = Field(description="Charge to each table when first answered.")
    left: dict[str, LeftView] = Field(description="Budget left on each table.")
    promise: str = Field(description="Privacy statement, in plain words.")
    answer: Grid | None = Field(description="null: the release is not a table, download it.")

    @classmethod
    def of(cls, given: Answered) -> Self:
        """View of an answer to a question, or of a method's release."""
        payload = given.release.payload
        said = {
            "id": given.identity,
            "title": given.release.title,
            "free": given.free,
            "synthetic": given.synthetic,
            "price": given.price.to_dict(),
            "left": {table: LeftView.of(left) for table, left in given.left_on.items()},
            "promise": given.release.promise,
            "answer": Grid.of(payload) if isinstance(payload, pa.Table) else None,
        }
        return cls.model_validate(said)


class ExactAnswer(View):
    """An exact answer allowed by query auditing, free of charge, stored under its ``id`` as a release."""

    id: str
    title: str
    free: bool = Field(description="Whether it had been answered before.")
    promise: str = Field(description="Privacy statement with its limits, in plain words.")
    answer: Grid

    @classmethod
    def of(cls, given: AuditedAnswer) -> Self:
        """View of an audited answer."""
        release = given.release
        grid = Grid.of(given.table)
        return cls(id=given.identity, title=release.title, free=given.free, promise=release.promise, answer=grid)


class Prices(View):
    """Price of each question."""

    prices: list[Price]


class Answers(View):
    """Answers to the questions, or their prices in a dry run."""

    answers: list[Answer]
    prices: list[Price]


class Epsilon(View):
    """The smallest sufficient epsilon."""

    epsilon: str = Field(description="Exact, as text.", examples=["137/1000"])
    about: float = Field(examples=[0.137])


def plain(value: object) -> Any:
    """A value as JSON can represent it."""
    match value:
        case Enum():
            return value.value
        case Pure() | Approximate() | Concentrated() | Renyi():
            return value.to_dict()
        case bool() | int() | str() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case dt.date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case Mapping():
            return {str(name): plain(one) for name, one in value.items()}
        case Sequence():
            return [plain(one) for one in value]
    return str(value)
