"""A cap on what a program may spend before someone looks: a conversation of an agent, a connection of a BI tool.

It protects a budget from being used up too quickly. It is the budget, in the ledger, that protects people.
"""

from __future__ import annotations

from typing import Any

from discreet.budget.filter import Budget, Spent
from discreet.core.loss import Loss
from discreet.errors import BudgetExceeded


class Cap:
    """Limit on the total loss of a conversation, whose losses are added up as a budget adds them."""

    def __init__(
        self,
        limit: Budget,
        *,
        what: str = "This conversation",
        hint: str = "Only the person who started this server can set another cap.",
    ) -> None:
        self.limit, self._spent = limit, limit.nothing
        self._what, self._hint = what, hint
        self._under_way: list[Loss] = []

    def reserve(self, loss: Loss) -> None:
        """Set a loss aside before its question is asked; an error if the cap does not cover it with all others."""
        spent = self._spent
        for other in self._under_way:
            spent = self.limit.add(spent, other)
        if not self.limit.admits(spent, loss):
            raise BudgetExceeded(
                f"{self._what} may spend {self.limit} in all; {self.limit.left(spent)} is left, and the "
                f"question costs {loss}. Nothing was charged.",
                asked=loss,
                left=self.limit.room(spent, loss),
                hint=f"Ask for less, or repeat an earlier question, which is free. {self._hint}",
            )
        self._under_way.append(loss)

    def count(self, loss: Loss) -> None:
        """Count a loss that was charged although none was expected."""
        self._spent = self.limit.add(self._spent, loss)

    def settle(self, loss: Loss, *, charged: bool) -> None:
        """Count a loss that was set aside, or give it back if nothing was charged."""
        self._under_way.remove(loss)
        if charged:
            self.count(loss)

    @property
    def spent(self) -> Spent:
        """The loss spent so far."""
        return self._spent

    @property
    def left(self) -> Loss:
        """The loss that may still be spent."""
        return self.limit.left(self._spent)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"cap": self.limit.limit.to_dict(), "left": self.left.to_dict()}
