"""Privacy budget of a person on a table: its form fields, and the dialog that sets it.

data-testid: <prefix>-epsilon, <prefix>-delta, <prefix>-renews, <prefix>-total, <prefix>-note;
budget-table, budget-spent, budget-why, budget-go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from nicegui import ui

from discreet.budget.filter import Budget
from discreet.budget.period import PERIODS
from discreet.core.exact import rounded
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi, parse_loss
from discreet.errors import BadInput, DiscreetError, NoPromise
from discreet.service.console import theme
from discreet.service.console.dialogs import confirm
from discreet.service.console.frame import Seat
from discreet.service.views import BudgetView

_NEVER = ""
_FIRST = Budget(Pure(1))
"""What is proposed where nothing was given yet."""


class Amount:
    """What someone may spend, in a few boxes; below them a note if the tables' own budgets are smaller."""

    def __init__(self, prefix: str, above: Callable[[], Sequence[BudgetView]]) -> None:
        """``above`` gives the budgets of the tables that are chosen just now."""
        self._above = above
        self._kind = _FIRST
        with theme.row():
            self._epsilon, self._delta = (
                theme.text(label, f"{prefix}-{name}", width="dc-short", props="inputmode=decimal", on_change=self.note)
                for label, name in (("Epsilon", "epsilon"), ("Delta (0 for none)", "delta"))
            )
            self._renews = theme.select(
                {_NEVER: "never", **{one: f"every {one}" for one in PERIODS}},
                "Renews",
                f"{prefix}-renews",
                value=_NEVER,
                on_change=self._renewed,
            )
            self._total = theme.text(
                "Total, such as epsilon=10 (empty for none)", f"{prefix}-total", width="dc-grow", on_change=self.note
            )
        self._note = theme.prose("").classes("dc-small").props(f"data-testid={prefix}-note aria-live=polite")
        self.fill(_FIRST)

    def fill(self, budget: Budget) -> None:
        """Put a budget in the boxes. What they say from then on is of the same kind."""
        self._kind = budget
        limit, delta = budget.limit, "0"
        match limit:
            case Concentrated(rho=rho):
                figure = plainly(rho)
            case Renyi():
                figure = ""
            case _:
                figure = plainly(limit.epsilon)
                delta = plainly(limit.delta) if isinstance(limit, Approximate) else delta
        self._epsilon.props(f'label="{"Rho" if isinstance(limit, Concentrated) else "Epsilon"}"')
        self._epsilon.set_value(figure)
        self._delta.set_value(delta)
        self._delta.set_visibility(isinstance(limit, Pure | Approximate))
        self._renews.set_value(budget.renews or _NEVER)
        self._total.set_value("" if budget.lifetime is None else typed(budget.lifetime.limit))
        self._renewed()

    def budget(self) -> Budget:
        """What the boxes say; an error if it is no amount."""
        figure, delta = map(theme.said_in, (self._epsilon, self._delta))
        if isinstance(self._kind.limit, Renyi):
            raise BadInput(
                "This limit is a Rényi curve, which only the command line can change.", hint="Use discreet budget."
            )
        if not figure:
            raise BadInput("No epsilon given.", hint="Enter one, such as 1.")
        limit: Loss
        if isinstance(self._kind.limit, Concentrated):
            limit = Concentrated(figure)
        else:
            limit = Approximate(figure, delta) if delta.strip("0.") else Pure(figure)
        concentrated, reserve = self._kind.concentrated, self._kind.reserve
        renews, lifetime, total = self._renews.value or None, None, theme.said_in(self._total)
        if renews and total:
            kept = 0 if self._kind.lifetime is None else self._kind.lifetime.reserve
            lifetime = Budget(parse_loss(total), concentrated=concentrated, reserve=kept)
        return Budget(limit, concentrated=concentrated, reserve=reserve, renews=renews, lifetime=lifetime)

    def _renewed(self) -> None:
        """Ask for a total only of a budget that renews."""
        self._total.set_visibility(bool(self._renews.value) and self._renews.visible)
        self.note()

    def note(self) -> None:
        """Say whose budget is smaller than what the boxes say."""
        try:
            given = self.budget()
        except DiscreetError:  # it is told when it is to be given
            self._note.set_text("")
            return
        self._note.set_text(" ".join(_smaller(view) for view in self._above() if not within(given, view.budget)))

    def show(self, shown: bool) -> None:
        """Show the boxes, or hide them."""
        for one in (self._epsilon, self._delta, self._renews, self._note):
            one.set_visibility(shown)
        self._renewed()


def typed(loss: Loss) -> str:
    """A loss as it can be typed."""
    match loss:
        case Approximate(epsilon=epsilon, delta=delta):
            return f"epsilon={plainly(epsilon)}, delta={plainly(delta)}"
        case Pure(epsilon=epsilon):
            return f"epsilon={plainly(epsilon)}"
        case Concentrated(rho=rho):
            return f"rho={plainly(rho)}"
        case _:
            return str(loss)


def terms(budget: Budget) -> str:
    """A budget in a few digits, with the period after which it renews."""
    per = f" per {budget.renews}" if budget.renews else ""
    return (
        theme.amount(budget.limit)
        + per
        + (f", {theme.amount(budget.lifetime.limit)} in total" if budget.lifetime else "")
    )


def plainly(value: Fraction) -> str:
    """A number as it can be typed: in digits, or as a fraction where these would never end."""
    digits = rounded(value, 12)
    return digits if Fraction(digits) == value else str(value)


def within(given: Budget, table: Budget) -> bool:
    """Whether a table's budget covers all that someone may spend; true if the two cannot be compared."""
    try:
        return table.covers(table.join(table.nothing, given.ceiling))
    except NoPromise:
        return True


def doubts(before: BudgetView, after: Budget) -> list[str]:
    """Warning before a limit changes: it is lowered, falls below what is spent, or loses its delta."""
    said = []
    old, new, spent = (_parts(loss) for loss in (before.budget.limit, after.limit, before.spent))
    if new[0] < spent[0] or new[1] < spent[1]:
        said.append(f"{theme.amount(before.spent)} is already spent: no further question could be answered.")
    if new[0] < old[0] or 0 < new[1] < old[1]:
        said.append(f"The limit is lowered from {theme.amount(before.budget.limit)} to {theme.amount(after.limit)}.")
    if after.renews and not after.lifetime and before.budget.renews is None:
        said.append("Nothing would limit all periods together.")
    if old[1] and not new[1]:
        said.append("The delta is removed: questions by groups that the card does not declare need one.")
    return said


def ask_budget(
    seat: Seat, name: str, own: Sequence[BudgetView], tables: Mapping[str, BudgetView], again: theme.Show
) -> None:
    """Ask what someone may spend on a table: a new account, or another limit of the one there is."""
    opened = {budget.table: budget for budget in own}

    def show() -> None:
        there = opened.get(table_box.value)
        amount.fill(_FIRST if there is None else there.budget)
        given = "No budget yet." if there is None else f"Now {terms(there.budget)}"
        spent.set_text(given if there is None else f"{given}; {theme.amount(there.spent)} of it is spent.")
        why.set_visibility(there is not None)

    async def give() -> None:
        table = str(table_box.value)
        there = opened.get(table)
        try:
            budget = amount.budget()
        except DiscreetError as error:
            seat.tell(error)
            return
        if there is None:
            went = await seat.did(seat.desk.access.give_budget, name, budget, [table])
        else:
            doubtful = doubts(there, budget)
            if doubtful and not await confirm(f"Change the budget of {name} on {table}?", "\n".join(doubtful)):
                return
            went = await seat.did(seat.desk.budgets.set_limit, there.account, budget, why=why.value or "")
        if went:
            dialog.close()
            await again()
            seat.say(f"{name} may now spend {terms(budget)} on {table}.")

    with ui.dialog() as dialog, ui.card():
        dialog.props["aria-label"] = f"Budget of {name}"
        ui.label(f"Budget of {name}").classes("dc-strong")
        theme.prose(
            "The limit includes what is already spent; if it renews, what is spent in the present period. The table "
            "budget must cover each question too.",
            soft=True,
        )
        first = next(iter(opened), next(iter(tables)))
        table_box = theme.select(list(tables), "Table", "budget-table", width="dc-full", value=first, on_change=show)
        spent = theme.prose("").props("data-testid=budget-spent")
        amount = Amount("budget", lambda: [tables[str(table_box.value)]])
        why = theme.text("Reason (written to the ledger)", "budget-why", width="dc-full", props="maxlength=200")
        with theme.row():
            ui.button("Set budget", on_click=give).props("unelevated data-testid=budget-go")
            ui.button("Cancel", on_click=dialog.close).props("flat")
        show()
    dialog.open()


def _smaller(view: BudgetView) -> str:
    return f"The table budget of {view.table} is only {theme.amount(view.budget.limit)}, and limits everyone together."


def _parts(loss: Loss) -> tuple[Fraction, Fraction]:
    """A loss as two numbers that can be compared with those of its kind."""
    match loss:
        case Approximate(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case Pure(epsilon=epsilon):
            return epsilon, Fraction(0)
        case Concentrated(rho=rho):
            return rho, Fraction(0)
        case Renyi(curve=curve):
            return max(epsilon for _, epsilon in curve), Fraction(0)
