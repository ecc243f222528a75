"""Interface of everything that makes a release: a method promises, then runs, then checks what was written.

``pipeline.py`` is the one order of things for all methods, whatever verb they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from discreet.core.card import Card
from discreet.core.holder_copy import HolderCopy
from discreet.core.markup import Markup
from discreet.core.report import Picture
from discreet.core.statement import Claim, Statement
from discreet.core.table import Table
from discreet.errors import NoPromise
from discreet.noise.entropy import SYSTEM, Entropy

T = TypeVar("T")
Progress: TypeAlias = Callable[[float, str], None]
"""Called now and then with the share of the work that is done and a word on what is being done."""


def silent(done: float, what: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Bench:
    """What a method works with."""

    entropy: Entropy = SYSTEM
    progress: Progress = silent
    scratch: Path | None = None
    """A folder for files that become part of the release, so that rows need not be held; None: make it in memory."""
    folder: Path | None = None
    """Where those files will be once the release has its name."""


@dataclass(frozen=True)
class Made(Generic[T]):
    """What a method made: the payload, and all that is said of it in the recipe and the statement."""

    payload: T
    """An Arrow table, ``Rows`` in the scratch folder, a `Table` that the pipeline is to write, or plain data."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """For the recipe, beside the method's own."""
    steps: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    """Claims that can only be put into words once the result is there, each checked by ``recheck``."""
    assumes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    """What the statement says beside what was promised."""
    pictures: tuple[Picture, ...] = ()
    layout: Markup = field(default_factory=Markup)
    """The payload as HTML, if there is a better way to show it than as rows."""
    seed: int | None = None
    from_data: tuple[str, ...] = ()
    holder: HolderCopy | None = None
    """What stays with the holder of the data."""
    title: str = ""
    notices: tuple[str, ...] = ()
    """What the holder should know before handing it over."""
    context: Any = None
    """What ``recheck`` needs to know of how it was made; it goes no further."""


class Method(Protocol[T]):
    """Anything that makes a release. Whoever derives from this gets what has an answer here."""

    name: ClassVar[str]
    """What the method is called in a recipe."""
    verb: ClassVar[str] = ""
    """The verb, where the method's name does not tell, for the register."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters that determine the result, except rows, noise and loss, as ``core/document.py`` writes them.

        Two methods of one name with the same parameters and the same loss are one and the same: the second gets the
        first one's result, for free. So nothing else that changes a result may be left out.
        """

    def promise(self, card: Card) -> Statement:
        """What the result will promise for a table with this card; an error if it cannot be made.

        Whatever can be wrong with the parameters shows here: what fails later has been paid for.
        """

    def make(self, table: Table, bench: Bench) -> Made[T]:
        """The result with all that is said of it."""
        payload = self.run(table, bench.entropy)
        return Made(payload, steps=self.steps(table.card), pictures=self.pictures(payload))

    def run(self, table: Table, entropy: Entropy) -> T:
        """The payload alone. A method defines this or ``make``."""
        return self.make(table, Bench(entropy)).payload

    def recheck(self, made: Made[T], written: Any, promised: Statement) -> Made[T]:
        """Check every claim on what was written, after it was read back; an error if one does not hold.

        What comes back is ``made`` with what the check itself has to say.
        """
        for claim in promised.models:
            if not self.holds(claim, written):
                raise NoPromise(f"What was made is not {claim.text}. Nothing was released.")
        return made

    def holds(self, claim: Claim, payload: T) -> bool:
        """Whether a privacy model that was promised holds for the result. What nobody can check does not."""
        return False

    def makes(self, card: Card) -> tuple[str, ...]:
        """The columns of the rows that it makes, if it makes rows that stand for the table's; else none."""
        return ()

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """How far each figure will be off, with 95 % confidence, as far as that is known before any row is seen."""
        return {}

    def pictures(self, payload: T) -> tuple[Picture, ...]:
        """The result as drawings. They are made of nothing but the result."""
        return ()

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words, for the recipe."""
        return ()


@dataclass(frozen=True)
class Answering(Method[Any]):
    """An answer worked out elsewhere: exact and audited, from synthetic rows, by several parties, from reports.

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
        """What was settled."""
        return self.statement

    def make(self, table: object, bench: Bench) -> Made[Any]:
        """The answer."""
        return self.result

    def holds(self, claim: Claim, payload: Any) -> bool:
        """Claims were checked where the answer was worked out."""
        return True
