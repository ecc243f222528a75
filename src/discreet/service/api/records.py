"""Response bodies about records: budgets, the ledger, releases, jobs, people, the audit log."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import Field

from discreet.core import document
from discreet.core.release import Release
from discreet.service.api.schemas import LimitShape, LossShape, ScopeName
from discreet.service.api.views import RoleName, View
from discreet.service.operations.surveys import SurveyView
from discreet.service.views import BudgetView
from discreet.verbs.collect.survey.results import SurveyFigure


class BudgetOut(View):
    """An account of the ledger: a table's, or someone's own below it."""

    account: str = Field(examples=["visits/ann"])
    table: str
    analyst: str | None
    limit: LossShape
    concentrated: bool = Field(description="Whether an (ε, δ) limit is accounted as ρ.")
    reserve: str
    spent: LossShape = Field(description="In the present period, if the budget renews.")
    left: LossShape = Field(description="Until the budget renews, if it does.")
    renews: str | None = Field(default=None, description="The period after which it renews.", examples=["month"])
    renewal: dt.date | None = Field(default=None, description="First day of the next period, in UTC.")
    lifetime: LimitShape | None = Field(default=None, description="Cap on all periods together.")
    spent_ever: LossShape | None = Field(default=None, description="In all periods, if the budget renews.")
    left_ever: LossShape | None = Field(default=None, description="What the lifetime cap leaves.")
    promise: str = Field(description="What the budget promises of all answers together.")

    @classmethod
    def of(cls, view: BudgetView) -> Self:
        """An account as someone may see it."""
        named = {name: getattr(view, name) for name in ("account", "table", "analyst", "renewal")}
        losses = {name: getattr(view, name) for name in ("spent", "left", "spent_ever", "left_ever")}
        return cls.model_validate(
            named
            | view.budget.to_dict()
            | {name: loss and loss.to_dict() for name, loss in losses.items()}
            | {"promise": view.budget.promise}
        )


class Entry(View):
    """A line of the ledger."""

    number: int
    at: dt.datetime
    account: str
    kind: Literal["opened", "limited", "charged"]
    loss: LossShape | None = Field(description="The charge, or the new limit.")
    what: str = Field(description="The questions, or the reason.")


class Verdict(View):
    """Whether the ledger and the audit log are sound."""

    sound: bool
    lines: int = Field(description="Number of valid ledger entries.")
    line: int | None = Field(description="First invalid entry.")
    problem: str
    logged: int = Field(description="Number of valid audit log entries.")


class ExposureOut(View):
    """All releases, and what they reveal together."""

    recipient: str | None = Field(description="Recipient of the releases; null for all.")
    populations: list[dict[str, Any]] = Field(
        description="For each population: its releases (departures), the policy, and for stewards what they "
        "reveal together (standings): group sizes, and the number of people exposed."
    )
    spent: list[dict[str, Any]] = Field(description="What was spent, by table and analyst.")


class WhatIfOut(View):
    """Whether a draft would be released."""

    passes: bool
    message: str
    hint: str
    checked: list[int] = Field(description="Register entries that it was checked with.")
    unchecked: list[dict[str, Any]] = Field(description="Earlier releases that it was not checked with.")
    attack: str = Field(description="Result of the joint attack with these, if any.")


class ReleaseOut(View):
    """A release, as listed in the release index."""

    id: str
    kind: str = Field(examples=["answer"])
    title: str
    tables: list[str]
    by: str
    at: dt.datetime
    method: str
    loss: LossShape | None
    private: bool = Field(description="Whether a privacy promise holds.")
    shared: bool


class Statement(View):
    """What a release promises, and how it was made, without its contents."""

    title: str
    promise: str = Field(description="In plain words.")
    statement: dict[str, Any]
    recipe: dict[str, Any]
    receipt: dict[str, Any] | None = Field(description="Ledger entry of the charge, if any.")

    @classmethod
    def of(cls, release: Release[Any]) -> Self:
        """Statement, recipe and receipt of a release."""
        return cls(
            title=release.title,
            promise=release.promise,
            statement=release.statement.to_dict(),
            recipe=json.loads(document.dumps(release.recipe.to_dict())),
            receipt=None if release.receipt is None else release.receipt.to_dict(),
        )


class JobOut(View):
    """A job, with its state and progress."""

    id: str
    kind: str = Field(examples=["publish"])
    by: str
    table: str
    spec: dict[str, Any]
    at: dt.datetime
    state: Literal["waiting", "running", "done", "failed", "lost", "cancelled"]
    progress: float | None = Field(description="Share done; null while unknown.")
    said: str
    result: str | None = Field(description="The release that it made, if any.")
    error: str
    expected_seconds: float | None = Field(description="Median time of earlier jobs like it, while it is not over.")
    expected_bytes: int | None = Field(description="The most memory that one of them took.")


class PersonOut(View):
    """A person who may sign in."""

    name: str
    role: RoleName
    since: dt.datetime
    disabled: bool
    must_change: bool


class Welcomed(View):
    """A person, and their new one-time password, if any, which is shown once."""

    person: PersonOut
    password: str | None


class TokenOut(View):
    """A token for programs, without its text."""

    id: str
    label: str
    person: str
    made: dt.datetime
    until: dt.datetime
    scopes: list[ScopeName] = Field(description="Scopes of the token.")


class TokenText(TokenOut):
    """A new token, with its text, which is shown once."""

    text: str = Field(examples=["dct_…"])


class AuditOut(View):
    """A line of the audit log."""

    number: int
    at: dt.datetime
    who: str
    action: str
    about: dict[str, str]
    well: bool = Field(description="Whether it was done (true) or refused (false).")
    digest: str


class UploadOut(View):
    """An uploaded file, with its name here."""

    upload: str = Field(examples=["1f0c9a33b2e4-visits.csv"])


class DraftOut(View):
    """A drafted card."""

    card: str = Field(description="As TOML, with the reasons as comments.")
    rows: int


class MisfitsOut(View):
    """How rows do not fit a card."""

    misfits: dict[str, list[str]] = Field(description="By column; the empty name is for the whole file.")


class RevisedOut(View):
    """What a revised card changed."""

    changes: list[str]


class SurveyOut(View):
    """A survey; people answer it at `path`, without signing in."""

    id: str = Field(examples=["0123456789abcdef"])
    title: str
    epsilon: str = Field(description="What each respondent loses at most, by all questions together.")
    questions: list[str] = Field(description="Names of the questions.")
    open: bool
    reports: int
    path: str = Field(examples=["/s/0123456789abcdef/"])

    @classmethod
    def of(cls, view: SurveyView) -> Self:
        """A survey as a steward sees it."""
        return cls(
            id=view.id,
            title=view.survey.title,
            epsilon=str(view.survey.loss.epsilon),
            questions=[one.name for one in view.survey.questions],
            open=view.open,
            reports=view.reports,
            path=f"/s/{view.id}/",
        )


class FigureOut(View):
    """An estimated figure of a survey."""

    question: str
    figure: str = Field(description="A value, mean, or the name of a quantile.")
    kind: Literal["share", "mean", "quantile"]
    estimate: float
    low: float = Field(description="Of an interval that holds with 95 %.")
    high: float
    low_together: float = Field(description="Of intervals that hold for all figures at once with 95 %.")
    high_together: float

    @classmethod
    def of(cls, figure: SurveyFigure) -> Self:
        """A figure as it was estimated."""
        return cls.model_validate(asdict(figure))


class SurveyRelease(View):
    """The release of a survey's figures."""

    release: str = Field(examples=["20260101-survey-0a1b2c3d"])
