"""Request bodies: parsed strictly, and limited in length.

A field that is not known, a text for a number, a list too long: all refused before anything is looked at.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, create_model, field_validator
from pydantic.config import JsonDict

from discreet.budget.filter import Budget
from discreet.core import loss as losses
from discreet.core.catalogue import Family
from discreet.core.families import PRIVATE_LEARNERS
from discreet.core.loss import Loss
from discreet.curator.people.person import DAYS, SCOPES
from discreet.releases.method import Method
from discreet.service.jobs.specs import LARGEST, LONGEST, LONGEST_METHOD, MOST_TEXTS, Publish, Spec, Tabulate
from discreet.service.views import Spend
from discreet.verbs.ask.bounds import Bounds
from discreet.verbs.ask.distribution import Distribution
from discreet.verbs.tabulate.private.macro_table import MacroTable


def _plain(text: str) -> str:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it has a character that cannot be stored")
    return text


Text: TypeAlias = Annotated[str, AfterValidator(_plain)]
Line: TypeAlias = Annotated[Text, StringConstraints(max_length=LONGEST)]
Key: TypeAlias = Annotated[Text, StringConstraints(min_length=1, max_length=100)]
LONGEST_QUESTION = 20_000
"""Characters of a question, and of all questions that come together."""
Question: TypeAlias = Annotated[Text, StringConstraints(min_length=1, max_length=LONGEST_QUESTION)]
Secret: TypeAlias = Annotated[Text, StringConstraints(min_length=1, max_length=1000)]
Exact: TypeAlias = Annotated[
    int | float | Annotated[Text, StringConstraints(max_length=60)],
    Field(description='A number that is not negative, or its text: 0.5, "1/3", "1e-6".', examples=["0.5"]),
]
Rational: TypeAlias = Annotated[Text, StringConstraints(max_length=2600)]
TableName: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,39}$"), Field(examples=["visits"])
]
PersonName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9._-]{0,39}$"), Field(examples=["ann"])]
ScopeName: TypeAlias = Literal["ask", "read", "manage"]
Rows: TypeAlias = Annotated[int, Field(ge=1, le=10**12, description="Expected rows per group.")]
Tables: TypeAlias = Annotated[list[TableName], Field(min_length=1, max_length=100)]
Columns: TypeAlias = Annotated[list[Line], Field(min_length=1, max_length=100)]


def _one_of(*families: Family) -> str:
    """The names that may be given; /v1/catalogue has their parameters."""
    names = ", ".join(name for family in families for name in family.names())
    return f"See /v1/catalogue: {names}." if names else ""


class Given(BaseModel):
    """Base class of request bodies."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PureLoss(BaseModel):
    """A loss of ε."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["pure"]
    epsilon: Rational = Field(examples=["1/2"])


class ApproximateLoss(BaseModel):
    """A loss of (ε, δ)."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["approximate"]
    epsilon: Rational = Field(examples=["1"])
    delta: Rational = Field(examples=["1/1000000"])


class ConcentratedLoss(BaseModel):
    """A loss of ρ."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["concentrated"]
    rho: Rational = Field(examples=["1/8"])


class RenyiLoss(BaseModel):
    """A Rényi curve: pairs of an order and an ε."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["renyi"]
    curve: list[Annotated[list[Rational], Field(min_length=2, max_length=2)]] = Field(min_length=1, max_length=200)


LossShape: TypeAlias = Annotated[
    PureLoss | ApproximateLoss | ConcentratedLoss | RenyiLoss,
    Field(discriminator="kind", description="A privacy loss. Its numbers are exact, as text."),
]


class LimitShape(BaseModel):
    """A limit on the total privacy loss."""

    model_config = ConfigDict(extra="forbid")
    limit: LossShape
    concentrated: bool = Field(default=False, description="Whether an (ε, δ) limit is accounted as ρ.")
    reserve: Rational = Field(default="0", description="δ reserved for losses that have one, if accounted as ρ.")

    def budget(self) -> Budget:
        """The budget that it describes."""
        return Budget(self.limit_loss(), concentrated=self.concentrated, reserve=self.reserve)

    def limit_loss(self) -> Loss:
        """The limit alone."""
        return losses.from_dict(self.limit.model_dump())


class BudgetShape(LimitShape):
    """A limit on the total privacy loss; or, if it ``renews``, on the loss in each period."""

    renews: Literal["day", "week", "month", "quarter", "year"] | None = Field(
        default=None, description="The period after which it renews, at its boundary in UTC; null if never."
    )
    lifetime: LimitShape | None = Field(
        default=None, description="Cap on all periods together, of the same kind; null if there is none."
    )

    def budget(self) -> Budget:
        """The budget that it describes."""
        lifetime = None if self.lifetime is None else self.lifetime.budget()
        options: dict[str, Any] = {"concentrated": self.concentrated, "reserve": self.reserve}
        return Budget(self.limit_loss(), renews=self.renews, lifetime=lifetime, **options)


class SignIn(Given):
    """Name and password."""

    name: Annotated[Text, StringConstraints(min_length=1, max_length=60)] = Field(examples=["ann"])
    password: Secret = Field(examples=["your own password"])


class NewPassword(Given):
    """A new password."""

    old: Secret
    new: Secret
    tokens_end: bool = Field(default=False, description="Also revoke all your tokens.")


class Spending(Given):
    """What questions may cost in all: an ``epsilon`` (and a ``delta``, where groups are not declared), or a ``rho``."""

    epsilon: Exact | None = None
    delta: Exact = 0
    rho: Exact | None = None

    def spend(self) -> Spend:
        """As ``Operations`` takes it."""
        return Spend(self.epsilon, self.delta, self.rho)


_ASKED: JsonDict = {"questions": ["SELECT count(*) FROM visits"], "epsilon": "0.5"}


class Pricing(Spending):
    """Questions to price."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ASKED]})

    questions: list[Question] = Field(
        min_length=1, max_length=50, description="SQL, one question each.", examples=[["SELECT count(*) FROM visits"]]
    )
    rows: Rows | None = None

    @field_validator("questions")
    @classmethod
    def _together(cls, questions: list[str]) -> list[str]:
        """Planning is free of charge, so all of them together are no longer than one may be."""
        if sum(map(len, questions)) > LONGEST_QUESTION:
            raise ValueError(f"All questions together may have at most {LONGEST_QUESTION:,} characters")
        return questions


class Asking(Pricing):
    """Questions to answer."""

    key: Key | None = Field(default=None, description="Idempotency key: a retry with it is charged once.")
    dry_run: bool = Field(default=False, description="Only show the price.")
    instead: bool = Field(
        default=True,
        description="Let synthetic stand-ins answer what the budget does not cover: free, and marked.",
    )


class Auditing(Given):
    """A question about an audited table."""

    question: Question


_WISHED: JsonDict = {"question": "SELECT count(*) FROM visits", "error": "50"}


class Wishing(Given):
    """A question, and the largest acceptable error of its figures."""

    model_config = ConfigDict(json_schema_extra={"examples": [_WISHED]})

    question: Question
    error: Exact = Field(description='In the figure\'s own unit, or a share of it: "5%".', examples=["50"])
    delta: Exact = 0
    expect: Exact | None = Field(default=None, description="Expected answer, for a relative error.")
    rows: Rows | None = None


class DistributionShape(Given):
    """The distribution of a column, in bins."""

    name: Literal["distribution"]
    column: Line
    bins: int = Field(default=64, ge=1, le=100_000)
    epsilon: Exact | None = None
    rho: Exact | None = None

    def method(self) -> Method[Any]:
        """What it stands for."""
        return Distribution(self.column, self.bins, self.epsilon, self.rho)


class BoundsShape(Given):
    """Unknown bounds of a column of numbers, to be estimated."""

    name: Literal["bounds"]
    column: Line
    epsilon: Exact

    def method(self) -> Method[Any]:
        """What it stands for."""
        return Bounds(self.column, self.epsilon)


class MacroTableShape(Given):
    """Tables of counts that add up."""

    name: Literal["macro-table"]
    by: list[Columns] = Field(min_length=1, max_length=100, examples=[[["sex", "ward"]]])
    epsilon: Exact | None = None
    rho: Exact | None = None
    levels: bool = True
    whole: bool = True

    def method(self) -> Method[Any]:
        """What it stands for."""
        return MacroTable(self.by, self.epsilon, self.rho, self.levels, self.whole)


class LearnerShape(Given):
    """A model, by a learner with a privacy loss."""

    name: Literal["learn"]
    learner: Annotated[Text, StringConstraints(max_length=LONGEST_METHOD)] = Field(
        description=_one_of(PRIVATE_LEARNERS), examples=["additive target=outcome epsilon=1"]
    )

    def method(self) -> Method[Any]:
        """What it stands for."""
        from discreet.verbs.learn.learn import parse_private

        return parse_private(self.learner)


_MADE: JsonDict = {"table": "visits", "method": {"name": "bounds", "column": "cost", "epsilon": "0.5"}}


class Making(Given):
    """A method to run on a table."""

    model_config = ConfigDict(json_schema_extra={"examples": [_MADE]})

    table: TableName
    method: Annotated[DistributionShape | BoundsShape | MacroTableShape | LearnerShape, Field(discriminator="name")]
    key: Key | None = None


class NewLimit(Given):
    """A new limit of an account."""

    budget: BudgetShape
    why: Annotated[Line, StringConstraints(min_length=1)] = Field(examples=["Another year of the study."])


_TRIED: JsonDict = {"table": "visits", "by": ["sex × ward"], "rules": ["min=3"], "where": "age < 79"}


class Trying(Given):
    """A draft: a table of counts or sums (by), or rows that satisfy models."""

    model_config = ConfigDict(json_schema_extra={"examples": [_TRIED]})

    table: TableName
    by: list[Line] = Field(default=[], max_length=100, examples=[["sex × ward"]])
    models: list[Line] = Field(
        default=[], max_length=100, description="Without dimensions: privacy models of the rows."
    )
    where: Line | None = Field(default=None, description="Filter of rows: comparisons of columns and values, in SQL.")
    value: Line | None = Field(default=None, description="Column to sum; null to count rows.")
    rules: list[Line] = Field(default=[], max_length=100, examples=[["min=3"]])
    method: Line = Field(default="", description="As for the jobs tabulate (by default suppress) and publish.")

    def draft(self) -> Tabulate | Publish:
        """The job that would make it."""
        if not self.by:
            return Publish(self.table, tuple(self.models), self.method or Publish.method)
        return Tabulate(self.table, tuple(self.by), self.value, tuple(self.rules), self.method or Tabulate.method)


class Sharing(Given):
    """Whether the analysts of a release's tables have it."""

    shared: bool


class JobGiven(Given):
    """A job to be submitted."""

    key: Key | None = Field(default=None, description="Idempotency key: a retry with it is the same job.")


def job_schema(spec: type[Spec]) -> type[JobGiven]:
    """The request that submits a job: the fields of its specification, and an idempotency key."""
    shapes: dict[str, Any] = {}
    for one in fields(spec):
        kind, said = str(one.type), one.metadata
        text: Any = Annotated[Text, StringConstraints(max_length=said.get("longest", LONGEST))]
        shape: Any = int if kind == "int" else list[Line] if kind.startswith("tuple") else text
        limits: dict[str, Any] = {"ge": 0, "le": LARGEST} if kind == "int" else {}
        if kind.startswith("tuple"):
            limits = {"max_length": MOST_TEXTS, "min_length": int(one.name == "by")}
        if one.name == "table":
            shape = TableName
        elif "pattern" in said:
            limits |= {"pattern": said["pattern"]}
        sentence = " ".join(filter(None, (said.get("sentence"), _one_of(*said.get("families", ())))))
        limits |= {"description": sentence or None, "examples": [said["example"]] if said.get("example") else None}
        default: Any = one.default if one.default is not MISSING else None if "None" in kind else ...
        optional = shape | None if "None" in kind else shape
        shapes[one.name] = (optional, Field(list(default) if isinstance(default, tuple) else default, **limits))
    return create_model(f"{spec.__name__}Job", __base__=JobGiven, __doc__=spec.__doc__, **shapes)


_LIMIT: JsonDict = {"limit": {"kind": "approximate", "epsilon": "1", "delta": "1/1000000"}}
_NEW: JsonDict = {"name": "ann", "role": "analyst", "budget": _LIMIT, "tables": ["visits"]}


class NewPerson(Given):
    """A new person, with a budget if they are to ask questions."""

    model_config = ConfigDict(json_schema_extra={"examples": [_NEW]})

    name: PersonName
    role: Literal["steward", "analyst", "auditor"]
    budget: BudgetShape | None = None
    tables: Tables | None = Field(default=None, description="Tables they may query; all if left out.")


class ChangedPerson(Given):
    """A change of an account: disabled or enabled, or a new one-time password."""

    disabled: bool | None = Field(default=None, examples=[True])
    reset: bool = False


class NewBudget(Given):
    """Budgets on tables."""

    budget: BudgetShape
    tables: Tables | None = Field(default=None, description="All if left out.")


class NewToken(Given):
    """A token for programs."""

    label: Annotated[Text, StringConstraints(min_length=1, max_length=60)] = Field(examples=["notebook"])
    days: int = Field(default=DAYS, ge=1, le=366)
    scopes: list[ScopeName] = Field(
        default=[one.value for one in SCOPES],
        min_length=1,
        max_length=3,
        description="Scopes: ask, read, or manage (make changes), within its owner's rights.",
    )


Source: TypeAlias = Annotated[
    Text,
    StringConstraints(min_length=1, max_length=LONGEST),
    Field(description="An upload, table:NAME for a table here, or the address of a database table without a password."),
]
CardToml: TypeAlias = Annotated[
    Text,
    StringConstraints(min_length=1, max_length=500_000),
    Field(description="The card of one table, as TOML.", examples=['[tables.visits.columns.age]\nkind = "integer"\n']),
]


class DataSource(Given):
    """A source of rows."""

    source: Source = Field(examples=["1f0c9a33b2e4-visits.csv"])


class CardText(DataSource):
    """A source of rows, and a card for it."""

    card: CardToml


class NewTable(CardText):
    """A table to be made, with its budget."""

    name: TableName
    budget: BudgetShape


class RevisedCard(Given):
    """The revised card of a table."""

    card: CardToml


_SURVEY = """title = "Music"
epsilon = 2
people = 1000

[questions.like]
text = "Do you like the band?"
kind = "yes/no"
"""


class NewSurvey(Given):
    """A survey, as the text of a survey file."""

    survey: Annotated[Text, StringConstraints(min_length=1, max_length=100_000)] = Field(
        description="TOML, as `discreet collect new` writes it.", examples=[_SURVEY]
    )


class OpenSurvey(Given):
    """Whether people may answer."""

    open: bool
