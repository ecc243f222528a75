"""What requests bring: strictly read, and never longer than anybody needs.

A field that is not known, a text for a number, a list too long: all refused before anything is looked at.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator
from pydantic.config import JsonDict

from discreet.budget.filter import Budget
from discreet.core import loss as losses
from discreet.core.catalogue import Family
from discreet.core.families import (
    ATTACKS,
    CELL_RULES,
    HIDING,
    MASKING,
    MODELS,
    QUALITIES,
    RECODERS,
    SYNTHESIZERS,
    TABLE_METHODS,
)
from discreet.core.loss import Loss
from discreet.curator.people.person import DAYS, SCOPES
from discreet.releases.method import Method
from discreet.service.views import Spend
from discreet.verbs.ask.bounds import Bounds
from discreet.verbs.ask.distribution import Distribution
from discreet.verbs.tabulate.private.macro_table import MacroTable


def _plain(text: str) -> str:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it has a character in it that cannot be kept")
    return text


Text: TypeAlias = Annotated[str, AfterValidator(_plain)]
Line: TypeAlias = Annotated[Text, StringConstraints(max_length=1000)]
Key: TypeAlias = Annotated[Text, StringConstraints(min_length=1, max_length=100)]
LONGEST = 20_000
"""Characters of a question, and of all questions that come together."""
Question: TypeAlias = Annotated[Text, StringConstraints(min_length=1, max_length=LONGEST)]
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
Rows: TypeAlias = Annotated[int, Field(ge=1, le=10**12, description="How many rows you expect in a group.")]
Tables: TypeAlias = Annotated[list[TableName], Field(min_length=1, max_length=100)]
Columns: TypeAlias = Annotated[list[Line], Field(min_length=1, max_length=100)]


class Given(BaseModel):
    """What a request brings."""

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


class BudgetShape(BaseModel):
    """A limit on everything that will ever be lost."""

    model_config = ConfigDict(extra="forbid")
    limit: LossShape
    concentrated: bool = Field(default=False, description="Whether an (ε, δ) limit is kept as ρ.")
    reserve: Rational = Field(default="0", description="The δ set aside for losses that have one, if it is kept as ρ.")

    def budget(self) -> Budget:
        """The budget that it describes."""
        return Budget(self.limit_loss(), concentrated=self.concentrated, reserve=self.reserve)

    def limit_loss(self) -> Loss:
        """The limit alone."""
        return losses.from_dict(self.limit.model_dump())


class SignIn(Given):
    """Who comes in."""

    name: Annotated[Text, StringConstraints(min_length=1, max_length=60)] = Field(examples=["ann"])
    password: Secret = Field(examples=["a password of one's own"])


class NewPassword(Given):
    """Another password."""

    old: Secret
    new: Secret
    tokens_end: bool = Field(default=False, description="End all of one's tokens, too.")


class Spending(Given):
    """What questions may cost in all: an ``epsilon`` (and a ``delta``, where groups are not declared), or a ``rho``."""

    epsilon: Exact | None = None
    delta: Exact = 0
    rho: Exact | None = None

    def spend(self) -> Spend:
        """As the desk takes it."""
        return Spend(self.epsilon, self.delta, self.rho)


_ASKED: JsonDict = {"questions": ["SELECT count(*) FROM visits"], "epsilon": "0.5"}


class Pricing(Spending):
    """Questions, to be priced."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ASKED]})

    questions: list[Question] = Field(
        min_length=1, max_length=50, description="SQL, a question each.", examples=[["SELECT count(*) FROM visits"]]
    )
    rows: Rows | None = None

    @field_validator("questions")
    @classmethod
    def _together(cls, questions: list[str]) -> list[str]:
        """Planning is free of charge, so all of them together are no longer than one may be."""
        if sum(map(len, questions)) > LONGEST:
            raise ValueError(f"All questions together have at most {LONGEST:,} characters")
        return questions


class Asking(Pricing):
    """Questions, to be answered."""

    key: Key | None = Field(default=None, description="A name for this request: a retry under it is charged once.")
    dry_run: bool = Field(default=False, description="Say what it would cost, and answer nothing.")
    instead: bool = Field(
        default=True,
        description="Have the tables' synthetic twins answer, for nothing and marked, what the budget does not cover.",
    )


class Auditing(Given):
    """A question about an audited table."""

    question: Question


_WISHED: JsonDict = {"question": "SELECT count(*) FROM visits", "error": "50"}


class Wishing(Given):
    """A question, and how far off its figures may be."""

    model_config = ConfigDict(json_schema_extra={"examples": [_WISHED]})

    question: Question
    error: Exact = Field(description='In the figure\'s own unit, or a share of it: "5%".', examples=["50"])
    delta: Exact = 0
    expect: Exact | None = Field(default=None, description="How large the figure is expected to be, for a share.")
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
    """Bounds of a column of numbers, where nobody knows any."""

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


_MADE: JsonDict = {"table": "visits", "method": {"name": "bounds", "column": "cost", "epsilon": "0.5"}}


class Making(Given):
    """A method to be run on a table."""

    model_config = ConfigDict(json_schema_extra={"examples": [_MADE]})

    table: TableName
    method: Annotated[DistributionShape | BoundsShape | MacroTableShape, Field(discriminator="name")]
    key: Key | None = None


class NewLimit(Given):
    """Another limit for an account."""

    budget: BudgetShape
    why: Annotated[Line, StringConstraints(min_length=1)] = Field(examples=["Another year of the study."])


class Sharing(Given):
    """Whether the analysts of a release's tables have it."""

    shared: bool


def _one_of(*families: Family) -> str:
    """The names that may be given; /v1/catalogue has their parameters."""
    return f"See /v1/catalogue: {', '.join(name for family in families for name in family.names())}."


class PublishJob(Given):
    """A table to be published: see ``discreet publish``."""

    table: TableName
    models: list[Line] = Field(max_length=100, description=_one_of(MODELS), examples=[["k=5", "l=2 on disease"]])
    method: Line = Field(default="generalize", description=_one_of(RECODERS, MASKING, SYNTHESIZERS))
    suppress: Line = Field(default="0", description="The share of the rows that may be left out.", examples=["5%"])
    quality: Line = Field(default="granularity", description=_one_of(QUALITIES))
    title: Line = ""


class SynthesizeJob(Given):
    """A table's synthetic twin, charged to the table: an ``epsilon`` (best with a ``delta``), or a ``rho``."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"table": "visits", "epsilon": "1", "delta": "1e-9"}]})

    table: TableName
    epsilon: Line | None = Field(default=None, description="A number, as text.", examples=["1"])
    delta: Line | None = Field(default=None, description="With an epsilon: far less noise.", examples=["1e-9"])
    rho: Line | None = None
    by: Literal["aim", "mst", "mwem", "bayes", "independent"] = "aim"
    columns: list[Line] = Field(
        default_factory=list, max_length=100, description="Those it is to have, which the card must declare; else all."
    )
    rows: int = Field(default=0, ge=0, le=10**9, description="How many; 0: about as many as the table has.")
    bins: Line = Field(default="", description="Of columns with bounds.", examples=["32", "age:10,income:32"])
    quantiles: list[Line] = Field(
        default_factory=list, max_length=100, description="Columns whose bins are to hold about as many rows each."
    )
    person: list[Line] = Field(
        default_factory=list,
        max_length=100,
        description="Columns that are the same in all rows of a person; then rows say whose they are.",
    )


class TabulateJob(Given):
    """Tables to be printed: see ``discreet tabulate``."""

    table: TableName
    by: Columns = Field(examples=[["sex × ward"]])
    value: Line | None = None
    rules: list[Line] = Field(max_length=100, description=_one_of(CELL_RULES), examples=[["min=3"]])
    method: Line = Field(default="suppress", description=_one_of(TABLE_METHODS))
    title: Line = ""


class HideJob(Given):
    """Itemsets and rules that a miner is not to find: see ``discreet hide``. It protects nobody's privacy."""

    table: TableName
    support: Line = Field(description="The miner's: a share, or a number of transactions.", examples=["2%"])
    confidence: Line | None = Field(default=None, description="The miner's, for rules.", examples=["60%"])
    itemsets: list[Line] = Field(
        default_factory=list, max_length=100, description="Secrets.", examples=[["sex=F, insurance=private"]]
    )
    rules: list[Line] = Field(
        default_factory=list, max_length=100, description="Secrets.", examples=[["sex=F => insurance=private"]]
    )
    columns: list[Line] = Field(
        default_factory=list, max_length=100, description="Those that items are made of; all but identifiers if empty."
    )
    method: Line = Field(default="exact", description=_one_of(HIDING))
    keep: list[Line] = Field(default_factory=list, max_length=100, description="Itemsets that must stay frequent.")
    margin: Line = Field(default="0", description="How far below the thresholds secrets are put.", examples=["10%"])
    title: Line = ""


class AttackJob(Given):
    """A release to be attacked: see ``discreet attack``."""

    release: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64}|[0-9a-z-]{8,40})$")] = Field(
        examples=["20260101-visits-0a1b2c3d"]
    )
    only: list[Line] = Field(default_factory=list, max_length=100, description=_one_of(ATTACKS))
    population: int = Field(default=0, ge=0, le=10**11)


class CompareJob(Given):
    """Maskings of a table to be put on a risk-utility map: see ``discreet compare``."""

    table: TableName
    loss: Line = "pil"
    methods: list[Line] = Field(default_factory=list, max_length=100, description=_one_of(MASKING))


_LIMIT: JsonDict = {"limit": {"kind": "approximate", "epsilon": "1", "delta": "1/1000000"}}
_NEW: JsonDict = {"name": "ann", "role": "analyst", "budget": _LIMIT, "tables": ["visits"]}


class NewPerson(Given):
    """Somebody who is to come in, with a budget if they are to ask."""

    model_config = ConfigDict(json_schema_extra={"examples": [_NEW]})

    name: PersonName
    role: Literal["steward", "analyst", "auditor"]
    budget: BudgetShape | None = None
    tables: Tables | None = Field(default=None, description="What they may ask about; all if left out.")


class ChangedPerson(Given):
    """What is to change: kept out or let in, a new one-time password."""

    disabled: bool | None = Field(default=None, examples=[True])
    reset: bool = False


class NewBudget(Given):
    """A budget for each of some tables."""

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
        description="What it may be used for: ask, read, or manage (change something), as far as its maker may.",
    )
