"""Methods that do almost nothing, to see what the door does around them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.core.card import Card
from discreet.core.loss import Loss, Pure
from discreet.core.statement import Claim, Evidence, Statement
from discreet.releases.method import Method

HALF = Pure("0.5")


def nothing(*_: Any) -> str:
    return "told"


@dataclass(frozen=True)
class Telling(Method[Any]):
    """Tells whatever ``act`` makes of the table."""

    name = "telling"
    what: str = "a secret"
    loss: Loss | None = HALF
    act: Callable[..., Any] = nothing
    models: tuple[Claim, ...] = ()
    kept: bool = False

    @property
    def parameters(self):
        return {"what": self.what}

    def promise(self, card: Card) -> Statement:
        return Statement(card.unit or "row", self.loss, self.models, evidence=Evidence.PROVED)

    def run(self, table, entropy):
        return self.act(table)

    def holds(self, claim, payload):
        return self.kept or super().holds(claim, payload)


@dataclass(frozen=True)
class MadeUp(Method[Any]):
    """Rows that ``make`` makes up, as a synthetic stand-in has them."""

    name = "made-up"
    draw: Callable[..., Any]
    what: str = "rows"
    loss: Loss = HALF

    @property
    def parameters(self):
        return {"what": self.what}

    def promise(self, card: Card) -> Statement:
        return Statement(card.unit or "person", self.loss, evidence=Evidence.PROVED)

    def makes(self, card: Card) -> tuple[str, ...]:
        return tuple(column.name for column in card.columns)

    def run(self, table, entropy):
        return self.draw(table)
