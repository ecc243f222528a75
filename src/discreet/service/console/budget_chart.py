"""What was left of budgets over time, as a chart: worked out backwards from what is left now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.service.console import theme
from discreet.service.views import BudgetView, LedgerLine

_MOST = 6


def burned(budgets: Sequence[BudgetView], lines: Sequence[LedgerLine]) -> None:
    """A line for each account of a table; ``lines`` are the ledger's, newest first."""
    drawn = {view: history(view, lines) for view in budgets[:_MOST]}
    unit = "ρ" if any(isinstance(view.left, Concentrated) for view in budgets) else "ε"
    series = [
        {
            "type": "line",
            "step": "end",
            "name": view.analyst or "all together",
            "data": [[at.isoformat(), left] for at, left in points],
            "symbol": "circle",
            "symbolSize": 5,
            "lineStyle": {"width": 2.5, "color": colour},
            "itemStyle": {"color": colour},
        }
        for (view, points), colour in zip(drawn.items(), theme.colours(len(drawn)), strict=True)
    ]
    if not series:
        theme.empty("Nothing was charged yet.")
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
        label="What was left of each budget over time",
    )
    if len(budgets) > _MOST:
        theme.prose(f"The first {_MOST} of {len(budgets)} accounts are drawn.", soft=True)


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
