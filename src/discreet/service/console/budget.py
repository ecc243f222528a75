"""/budget: privacy budgets, what was spent over time, and the ledger.

data-testid: budget-<account>, burn-down, limit-account, limit-present, limit-epsilon, limit-delta, limit-note,
limit-why, limit-set, limit-renews, limit-total, renewal-<account>, verify, verdict, ledger.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui import ui

from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import budget_chart, explain, theme
from discreet.service.console.budget_dialog import Amount, doubts, terms
from discreet.service.console.dialogs import confirm
from discreet.service.console.frame import EVERYBODY, Page, Seat
from discreet.service.console.releases import when
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import READERS
from discreet.service.views import BudgetView, LedgerLine

_TERMS = ("Privacy budget", "Epsilon (ε)", "Delta (δ)", "Ledger")
_LINES = 1000
_SHOWN = 100
_LEDGER = "newest first; append-only; lines that cost nothing are left out"
_OWN = "Your privacy budget on each table, and what your questions cost."
_WORDS = {"opened": "opened", "limited": "new limit", "charged": "charged"}


async def _build(seat: Seat) -> None:
    all_ = seat.who.role in READERS
    about = "Privacy budgets of tables and analysts, and the ledger of every charge." if all_ else _OWN
    with theme.page("Budget", about, _TERMS):
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
        if view.spent_ever is not None:
            total = f"; {theme.amount(view.left_ever)} is left in total" if view.left_ever else ""
            renews = f"Renews on {view.renewal} (UTC)." if view.renewal else "Does not renew again."
            said = f"{renews} In all periods {theme.amount(view.spent_ever)} was spent{total}."
            theme.prose(f"{said} {view.budget.promise}", soft=True).props(f'data-testid="renewal-{view.account}"')


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
                mine = [view for view in budgets if view.table == chosen.value]
                if any(budget_chart.history(view, lines) for view in mine):
                    ui.html(budget_chart.chart(mine, lines), sanitize=False).classes("dc-full")
                else:
                    theme.empty("Nothing has been charged yet.", "receipt_long")
                if len(mine) > budget_chart.MOST:
                    theme.prose(f"The first {budget_chart.MOST} of {len(mine)} accounts are drawn.", soft=True)

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
        present.set_text(f"Now {terms(view.budget)}; {theme.amount(view.spent)} of it is spent.")

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
            seat.say(f"The limit of {names[view.account]} is now {terms(done.budget)}.")

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
                theme.badge("valid" if found.sound else "not valid", "good" if found.sound else "bad")
                theme.prose(str(found), soft=True)
        if after is not None:
            await after()

    button = theme.button("Verify", testid, verify, icon="verified", look=look)
    verdict = ui.element("div").props(f"data-testid={verdict_testid} aria-live=polite").classes("dc-row")
