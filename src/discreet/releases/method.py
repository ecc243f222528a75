"""Interface of release methods: a method promises, then runs, then checks the written result.

Below it, what methods with a privacy loss promise on bounded tables: the statement, its assumptions, the loss itself.

``pipeline.py`` is the one order of things for all methods, whatever verb they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from discreet.core.card import Card, Role
from discreet.core.exact import Number, positive, probability
from discreet.core.holder_copy import HolderCopy
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.core.markup import Markup
from discreet.core.report import Picture
from discreet.core.statement import Claim, Evidence, Statement
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, NoPromise, NotDeclared
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.facts import Facts, Opaque
from discreet.releases.register import Entry

BETA = Fraction(1, 20)
"""How often an error bar may be too short."""
T = TypeVar("T")
Progress: TypeAlias = Callable[[float, str], None]
"""Callback with the share of the work that is done, 0 to 1, and the current step in a few words."""


def require_decided(statement: Statement, *cards: Card | None) -> None:
    """An error if the role of a column is undecided, unless a privacy loss protects all columns alike."""
    for card in cards if statement.loss is None else ():
        require_roles(card)


def require_roles(card: Card | None) -> None:
    """An error if the role of a column is undecided."""
    if card is None or card.public or not (undecided := card.having(Role.UNDECIDED)):
        return
    raise NotDeclared(
        f"The roles of these columns of {card.name} are undecided: "
        f"{', '.join(one.name for one in undecided)}. Nothing was released.",
        hint="Set their roles on the card (identifier, quasi, sensitive or other), or leave the columns out: "
        "delete them from the card, or table.select(…).",
    )


def silent(done: float, what: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Bench:
    """Working environment of a method: entropy, progress callback and scratch folder."""

    entropy: Entropy = SYSTEM
    progress: Progress = silent
    scratch: Path | None = None
    """Folder for files that become part of the release, so that rows need not fit in memory; None: in memory."""
    folder: Path | None = None
    """Final folder of those files, once the release has its name."""


@dataclass(frozen=True)
class Made(Generic[T]):
    """Result of a method: the payload, and its contributions to the recipe and the statement."""

    payload: T
    """An Arrow table, ``Rows`` in the scratch folder, a `Table` that the pipeline is to write, or plain data."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters for the recipe, besides the method's own."""
    steps: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    """Claims that can only be worded once the result is known, each checked by ``recheck``."""
    assumes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    """Caveats of the statement, besides the promised ones."""
    pictures: tuple[Picture, ...] = ()
    layout: Markup = field(default_factory=Markup)
    """The payload as HTML, where rows are not the best way to show it."""
    seed: int | None = None
    from_data: tuple[str, ...] = ()
    holder: HolderCopy | None = None
    """Holder's copy, which stays with the data steward."""
    title: str = ""
    notices: tuple[str, ...] = ()
    """Notices to the data steward before the release is passed on."""
    also: Any = None
    """A second table of the same people, linked to the payload; as that, but never plain data."""
    others: tuple[Table, ...] = ()
    """Tables that the result tells of, besides the one that the method was given."""
    context: Any = None
    """Details of how it was made, for ``recheck`` only."""


class Method(Protocol[T]):
    """Base class of methods that make a release, with defaults for what is optional."""

    name: ClassVar[str]
    """Name of the method in a recipe."""
    verb: ClassVar[str] = ""
    """Verb of the method for the register, where its name does not start with it."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters that determine the result, except rows, noise and loss, as ``core/document.py`` writes them.

        Two methods of one name with the same parameters and the same loss are one and the same: the second gets the
        first one's result, for free. So nothing else that changes a result may be left out.
        """

    def promise(self, card: Card) -> Statement:
        """The statement of the result for a table with this card; an error if it cannot be made.

        Whatever can be wrong with the parameters shows here: what fails later has been paid for.
        """

    def make(self, table: Table, bench: Bench) -> Made[T]:
        """The result, with its contributions to the recipe and the statement."""
        payload = self.run(table, bench.entropy)
        return Made(payload, steps=self.steps(table.card), pictures=self.pictures(payload))

    def run(self, table: Table, entropy: Entropy) -> T:
        """The payload only. A method defines this or ``make``."""
        return self.make(table, Bench(entropy)).payload

    def recheck(self, made: Made[T], written: Any, promised: Statement) -> Made[T]:
        """Check every claim on the written result, as read back; an error if one does not hold.

        What comes back is ``made`` with what the check itself has to say.
        """
        for claim in promised.models:
            if not self.holds(claim, written):
                raise NoPromise(f"What was made is not {claim.text}. Nothing was released.")
        return made

    def holds(self, claim: Claim, payload: T) -> bool:
        """Whether a promised privacy model holds for the result; False if it cannot be checked."""
        return False

    def facts(self, made: Made[T], table: Table) -> Facts:
        """What the written result tells of people, as figures that can be checked together with other releases."""
        return Opaque(f"{self.name} changes or makes up rows, so its facts are not figures")

    def alternatives(self, made: Made[T], table: Table, clashing: Sequence[Entry]) -> Iterator[Alternative[T]]:
        """Obvious changes to a result that clashes with earlier releases."""
        yield from ()

    def on(self, table: Table) -> Method[T]:
        """The same method for other rows, where rows were looked at before it was made."""
        return self

    def makes(self, card: Card) -> tuple[str, ...]:
        """Columns of the rows that stand in for the table's (synthetic data); empty if it makes none."""
        return ()

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """Expected error of each figure, with 95 % confidence, where it is known before any row is read."""
        return {}

    def pictures(self, payload: T) -> tuple[Picture, ...]:
        """Pictures of the result, made from the result alone."""
        return ()

    def steps(self, card: Card) -> tuple[str, ...]:
        """Steps of the method in words, for the recipe."""
        return ()


Alternative: TypeAlias = tuple[str, Callable[[], Method[T]], Table]
"""Another way to make a result: in words, the method, and the rows."""


@dataclass(frozen=True)
class Answering(Method[Any]):
    """A release whose answer was computed elsewhere: query auditing, synthetic data, several parties, or reports.

    It has no table of its own to look at; what it promises was settled where it was worked out.
    """

    name: str  # type: ignore[misc]
    statement: Statement
    result: Made[Any]
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The details."""
        return self.details

    def promise(self, card: object) -> Statement:
        """The statement given with the answer."""
        return self.statement

    def make(self, table: object, bench: Bench) -> Made[Any]:
        """The answer itself."""
        return self.result

    def holds(self, claim: Claim, payload: Any) -> bool:
        """True: claims were checked where the answer was computed."""
        return True


def promised(loss: Loss, *cards: Card) -> Statement:
    """A loss that was proved, given what these cards declare."""
    assumes = ["What the card declares (bounds, categories, rows per unit) was declared independently of the data."]
    for card in cards:
        two = ", and no one has two values of it." if card.unit is not None else "."
        assumes.append(card.whose.removesuffix(".") + two)
    assumes = list(dict.fromkeys(assumes))
    whose = next((card.unit for card in cards if card.unit is not None), "row")
    return Statement(whose, loss, evidence=Evidence.PROVED, assumes=tuple(assumes))


def kept_rows(*cards: Card) -> str:
    """Contribution bounds of the bounded tables with these cards, as a step of a recipe."""
    said = [
        "every row counted as one unit"
        if card.unit is None
        else f"no more than {number(card.rows_per_unit or 0, 'row')} of each {card.unit} counted"
        for card in cards
    ]
    return f"{'; '.join(dict.fromkeys(said))}; values outside their declared bounds were clamped to them"


def rows_per_unit(card: Card) -> int:
    """How many rows one unit may have: what a count can change by."""
    if card.unit is None:
        return 1
    if card.rows_per_unit is None:
        raise NotDeclared(
            f"The card of {card.name} does not declare how many rows one {card.unit} may have.",
            hint="Declare rows_per_unit.",
        )
    return card.rows_per_unit


def loss_of(epsilon: Number | None, rho: Number | None) -> Pure | Concentrated:
    """The loss to spend: exactly one of ``epsilon`` and ``rho`` is given."""
    if (epsilon is None) == (rho is None):
        both = "" if epsilon is None else ", not both"
        raise BadInput(f"No privacy loss given: set epsilon or rho{both}.")
    if epsilon is not None:
        return Pure(positive(epsilon, "epsilon"))
    assert rho is not None  # noqa: S101  # one of the two is given
    return Concentrated(positive(rho, "rho"))


def loss_with_delta(
    epsilon: Number | None, delta: Number | None, rho: Number | None
) -> Pure | Concentrated | Approximate:
    """The loss to spend, as ``loss_of``, where an epsilon may come with a delta."""
    if delta is None or delta == 0:
        return loss_of(epsilon, rho)
    if epsilon is None or rho is not None:
        raise BadInput("A delta needs an epsilon.", hint="Such as epsilon=1 delta=1e-9.")
    return Approximate(positive(epsilon, "epsilon"), probability(delta, "delta"))
