"""The seam between the curator and every way of making a release.

A method says what it will promise before it sees a row, and then does the work. Whatever makes a release of private
rows is one, so that there is one order of things for all of them: see ``curator/door.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from discreet.core.card import Card
from discreet.core.picture import Picture
from discreet.core.statement import Claim, Statement
from discreet.core.table import Table

if TYPE_CHECKING:
    from discreet.noise.entropy import Entropy

T = TypeVar("T")


class Method(Protocol[T]):
    """Anything that makes a release of a private table. Whoever derives from this gets what has an answer here."""

    name: ClassVar[str]
    """What the method is called in a recipe."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything the result hangs on but the rows, the noise and the loss, as ``core/document.py`` can write it.

        Two methods of one name with the same parameters and the same loss are one and the same: the second gets the
        first one's result, for free. So nothing else that changes a result may be left out.
        """

    def promise(self, card: Card) -> Statement:
        """What the result will promise for a table with this card; an error if it cannot be made.

        Whatever can be wrong with the parameters shows here: what fails later has been paid for.
        """

    def run(self, table: Table, entropy: Entropy) -> T:
        """The result: an Arrow table, or data that ``core/document.py`` can write."""

    def makes(self, card: Card) -> tuple[str, ...]:
        """The columns of the rows that it makes, if it makes rows that stand for the table's; else none."""
        return ()

    def expected_errors(self, card: Card) -> Mapping[str, float | None]:
        """How far each figure will be off, with 95 % confidence, as far as that is known before any row is seen."""
        return {}

    def holds(self, claim: Claim, payload: T) -> bool:
        """Whether a privacy model that was promised holds for the result. What nobody can check does not."""
        return False

    def pictures(self, payload: T) -> tuple[Picture, ...]:
        """The result as drawings. They are made of nothing but the result."""
        return ()

    def steps(self, card: Card) -> tuple[str, ...]:
        """What is done, in words, for the recipe."""
        return ()
