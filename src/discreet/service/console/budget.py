"""/budget: privacy budgets, what was spent over time, and the ledger.

data-testid: budget-<account>, burn-down, limit-account, limit-present, limit-epsilon, limit-delta, limit-note,
limit-why, limit-set, verify, verdict, ledger.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui import ui

from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import explain, theme
from discreet.service.console.budget_dialog import Amount, doubts
from discreet.service.console.dialogs import confirm
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.releases import when
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import READERS
from discreet.service.views import BudgetView, LedgerLine

_LINES = 1000
_SHOWN = 100
_DRAWN = 6
"""Accounts of a chart."""
_LEDGER = "newest first; append-only; lines that cost nothing are left out"
_OWN = "Your privacy budget on each table, and what your questions cost."
_WORDS = {"opened": "opened", "limited": "new limit", "charged": "charged"}


async def _build(seat: Seat) -> None:
    all_ = seat.who.role in READERS
    about = "Privacy budgets of tables and analysts, and the ledger of every charge." if all_ else _OWN
    with theme.page("Budget", about):
        place = ui.element("div").classes("dc-stack")

        async def show(account: str = "") -> None:
            found = await seat.run(_found, seat.desk)
            if found is not None:
                place.clear()
                with place:
                    _accounts(seat.who, found[0])
                    _over_time([view for view in found[0] if all_ or view.analyst], found[1])
                    if seat.who.role is Role.STEWARD:
                        _limit(seat, found[0], show, account)
                    _ledger(seat, found[1])

        await show()


PAGE = Page("/budget", "Budget", "account_balance_wallet", EVERYBODY, 60, _build)


def _found(who: Person, desk: Operations) -> tuple[list[BudgetView], list[LedgerLine]]:
    return desk.budgets.accounts(who), desk.budgets.lines(who, most=_LINES)


def _accounts(who: Person, budgets: Sequence[BudgetView]) -> None:
    if not budgets:
        theme.empty("No budget yet. A steward can give you one.", "account_balance_wallet")
    with theme.columns():
        for table in dict.fromkeys(view.table for view in budgets):
            with theme.card(table):
                for view in budgets:
                    if view.table == table:
                        _account(who, view)
    theme.promise(explain.BUDGET, "What is a privacy budget?")


def _account(who: Person, view: BudgetView) -> None:
    name = view.analyst or "Table budget"
    with ui.element("div").classes("dc-labelled").props(f'data-testid="budget-{view.account}"'):
        with theme.row().classes("dc-between"):
            ui.label(f"{name} (you)" if view.analyst == who.name else name).classes("dc-strong")
            ui.label(f"spent {theme.amount(view.spent)}").classes("dc-small dc-soft")
        theme.budget_gauge(view.left, view.budget, account=view.account)


def _over_time(budgets: Sequence[BudgetView], lines: Sequence[LedgerLine]) -> None:
    """Of accounts whose lines one may read: an analyst's own, not what all together spent."""
    tables = list(dict.fromkeys(view.table for view in budgets))
    if not tables:
        return
    with theme.card("Remaining budget over time", testid="burn-down"):
        chosen = ui.toggle(tables, value=tables[0]).props('unelevated no-caps aria-label="Table"')
        place = ui.element("div").classes("dc-stack")

        def draw() -> None:
            place.clear()
            with place:
                _chart([view for view in budgets if view.table == chosen.value], lines)

        chosen.on_value_change(draw)
        draw()


def _limit(seat: Seat, budgets: Sequence[BudgetView], show: Callable[[str], Awaitable[None]], chosen: str = "") -> None:
    """Another limit for an account; ``chosen`` is the one to begin with."""
    known = {view.account: view for view in budgets}
    if not known:
        return
    names = {
        account: f"{view.analyst} on {view.table}" if view.analyst else f"{view.table}, table budget"
        for account, view in known.items()
    }
    with theme.card("Change a limit", note="what is spent stays spent"):
        first = chosen if chosen in known else next(iter(known))
        account = theme.select(names, "Account", "limit-account", value=first)
        present = theme.prose("", soft=True).props("data-testid=limit-present")
        amount = Amount("limit", lambda: _above(known, str(account.value)))
        with theme.row():
            why = theme.text("Reason", "limit-why", width="dc-grow", props="maxlength=200")
            button = ui.button("Set limit").props("unelevated data-testid=limit-set")

    def fill() -> None:
        view = known[str(account.value)]
        amount.fill(view.budget)
        present.set_text(f"Now {theme.amount(view.budget.limit)}; {theme.amount(view.spent)} of it is spent.")

    async def change() -> None:
        view = known[str(account.value)]
        try:
            if not why.value.strip():
                raise BadInput("No reason given for the new limit.", hint="Enter one: it is written to the ledger.")
            wanted = amount.budget()
        except DiscreetError as error:
            seat.tell(error)
            return
        doubtful = doubts(view, wanted)
        if doubtful and not await confirm(f"Change the limit of {names[view.account]}?", "\n".join(doubtful)):
            return
        done = await seat.run(seat.desk.budgets.set_limit, view.account, wanted, why=why.value.strip())
        if done is not None:
            await show(view.account)
            seat.say(f"The limit of {names[view.account]} is now {theme.amount(done.budget.limit)}.")

    fill()
    account.on_value_change(fill)
    button.on_click(change)


def _above(known: Mapping[str, BudgetView], account: str) -> list[BudgetView]:
    """The budget of the table, if the account is an analyst's."""
    return [known[known[account].table]] if known[account].analyst else []


def _ledger(seat: Seat, lines: Sequence[LedgerLine]) -> None:
    with theme.card("Ledger", note=_LEDGER) as card:
        card.classes("dc-ledger").props("data-testid=ledger")
        if seat.who.role in READERS:
            with theme.row():
                verify_button(seat, "verify", "verdict", "outline")
        if not lines:
            theme.empty("Nothing has been charged yet.", "receipt_long")
            return
        rows = []
        for line in lines[:_SHOWN]:
            amount = "–" if line.loss is None else theme.amount(line.loss)
            rows.append([str(line.number), when(line.at), line.account, _WORDS[line.kind], amount, line.what])
        theme.grid(["Line", "Time (UTC)", "Account", "Event", "Amount", "Question or reason"], rows, numbers=[0, 4])
        if len(lines) > _SHOWN:
            theme.prose(
                f"Showing the latest {_SHOWN} lines. For more, use discreet budget or GET /v1/ledger.", soft=True
            )


def verify_button(seat: Seat, testid: str, verdict_testid: str, look: str, after: theme.Show | None = None) -> None:
    """A button that goes through ledger and audit log, and what it finds."""

    async def verify() -> None:
        button.props("loading")
        found = await seat.run(seat.desk.budgets.verify)
        button.props(remove="loading")
        verdict.clear()
        if found is not None:
            with verdict:
                theme.badge("sound" if found.sound else "not sound", "good" if found.sound else "bad")
                theme.prose(str(found), soft=True)
        if after is not None:
            await after()

    button = theme.button("Verify", testid, verify, icon="verified", look=look)
    verdict = ui.element("div").props(f"data-testid={verdict_testid} aria-live=polite").classes("dc-row")


def _chart(budgets: Sequence[BudgetView], lines: Sequence[LedgerLine]) -> None:
    """What was left over time, a line for each account of a table; ``lines`` are the ledger's, newest first."""
    drawn = {view: history(view, lines) for view in budgets[:_DRAWN]}
    unit = "ρ" if any(isinstance(view.left, Concentrated) for view in budgets) else "ε"
    series = [
        {
            "type": "line",
            "step": "end",
            "name": view.analyst or "table budget",
            "data": [[at.isoformat(), left] for at, left in points],
            "symbol": "circle",
            "symbolSize": 5,
            "lineStyle": {"width": 2.5, "color": colour},
            "itemStyle": {"color": colour},
        }
        for (view, points), colour in zip(drawn.items(), theme.colours(len(drawn)), strict=True)
    ]
    if not series:
        theme.empty("Nothing has been charged yet.", "receipt_long")
        return
    theme.chart(
        {
            "tooltip": {"trigger": "axis"},
            "legend": {"top": 0, "textStyle": {"color": "var(--dc-soft)"}},
            "grid": {"containLabel": True, "left": 12, "right": 24, "top": 44, "bottom": 8},
            "xAxis": theme.axis(type="time"),
            "yAxis": theme.axis(type="value", name=f"{unit} left", min=0),
            "series": series,
        },
        height=300,
        label="Remaining budget of each account over time",
    )
    if len(budgets) > _DRAWN:
        theme.prose(f"The first {_DRAWN} of {len(budgets)} accounts are drawn.", soft=True)


def history(view: BudgetView, lines: Sequence[LedgerLine]) -> list[tuple[dt.datetime, float]]:
    """What was left of an account after each line about it, oldest first, as far back as the lines tell.

    What an analyst spends, the table's account spends too. A limit that was changed is followed if the one before is
    among the lines.
    """
    own = [line for line in lines if _about(view, line)]
    left, found = _size(view.left, view), []
    if not left and not view.budget.concentrated:
        left = _size(view.budget.limit, view) - _size(view.spent, view)  # below 0 if the limit was lowered since
    if own:
        found.append((dt.datetime.now(dt.UTC), max(left, 0.0)))
    for place, line in enumerate(own):
        found.append((line.at, max(left, 0.0)))
        if line.kind == "charged":
            left += _size(line.loss, view)
        else:
            before = next((one for one in own[place + 1 :] if one.kind != "charged"), None)
            if before is None or view.budget.concentrated:
                break
            left -= _size(line.loss, view) - _size(before.loss, view)
    return found[::-1]


def _about(view: BudgetView, line: LedgerLine) -> bool:
    if line.account == view.account:
        return True
    return view.analyst is None and line.kind == "charged" and line.account.startswith(f"{view.table}/")


def _size(loss: Loss | None, view: BudgetView) -> float:
    """A loss as one number, in the kind that the account is kept in."""
    match loss, view.budget.ceiling.core:
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon), Concentrated():
            return float(epsilon) ** 2 / 2
        case ((Pure(epsilon=epsilon) | Approximate(epsilon=epsilon)), _):
            return float(epsilon)
        case Concentrated(rho=rho), _:
            return float(rho)
        case _:
            return 0.0
