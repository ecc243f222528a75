"""The chart of budgets over time: a stepped line for each account, as SVG and HTML that the service draws.

ECharts would be most of what the page weighs, for a few lines. The drawing is stretched to the room there is; labels
and points are HTML, and are not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, log10

from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.core.markup import Markup, tag
from discreet.service.console import theme
from discreet.service.console.releases import when
from discreet.service.views import BudgetView, LedgerLine

MOST = 6
"""Maximum number of accounts in a chart."""
_POINTS = 60
"""Maximum number of marked points on a line."""
_STEPS = 4
"""Maximum number of steps of the upward axis."""
_DAYS = dt.timedelta(days=3)
"""Time span from which the axis shows days without hours."""

Points = list[tuple[dt.datetime, float]]


def chart(budgets: Sequence[BudgetView], lines: Sequence[LedgerLine]) -> Markup:
    """What was left over time, a line for each account of a table; ``lines`` are the ledger's, newest first."""
    known = {view: points for view in budgets[:MOST] if (points := history(view, lines))}
    unit = "ρ" if any(isinstance(view.left, Concentrated) for view in known) else "ε"
    times = [at for points in known.values() for at, _ in points]
    first, last = min(times), max(times)
    ticks = _ticks(max(left for points in known.values() for _, left in points))
    reach = (last - first).total_seconds() or 1.0

    def place(at: dt.datetime, left: float) -> tuple[float, float]:
        return 100 * (at - first).total_seconds() / reach, 100 * (1 - left / ticks[-1])

    across = [place(first, tick)[1] for tick in ticks]
    rules = [tag("path", d=f"M0 {y:.2f}H100", class_="dc-rule-line") for y in across]
    paths, dots, names = [], [], []
    for (view, points), colour in zip(known.items(), theme.colours(len(known)), strict=True):
        name, spots = view.analyst or "table budget", [place(*point) for point in points]
        paths.append(tag("path", d=_stepped(spots), stroke=colour))
        names.append(tag("span", tag("i", style=f"background:{colour}"), f"{name}: {unit} {points[-1][1]:.3g} left"))
        for (x, y), (at, left) in zip(spots, points if len(points) <= _POINTS else (), strict=False):
            said = f"{name}, {when(at)} UTC: {unit} {left:.3g} left"
            dots.append(tag("i", title=said, style=f"left:{x:.2f}%;top:{y:.2f}%;background:{colour}"))
    drawn = tag("svg", rules, paths, viewBox="0 0 100 100", preserveAspectRatio="none", aria_hidden="true")
    up = [tag("span", f"{tick:g}", style=f"top:{y:.2f}%") for tick, y in zip(ticks, across, strict=True)]
    middle = first + (last - first) / 2
    along = [tag("span", _time(at, last - first)) for at in (first, middle, last)]
    said = f"Remaining budget of {len(known)} accounts from {when(first)} to {when(last)} UTC"
    return tag(
        "div",
        tag("div", names, class_="dc-plot-names"),
        tag("div", f"{unit} left", class_="dc-plot-unit", aria_hidden="true"),
        tag("div", tag("div", up, class_="dc-plot-up", aria_hidden="true"),
            tag("div", drawn, dots, class_="dc-plot-room", role="img", aria_label=said), class_="dc-plot-body"),
        tag("div", along, class_="dc-plot-along", aria_hidden="true"),
        class_="dc-plot",
    )  # fmt: skip


def _stepped(spots: Sequence[tuple[float, float]]) -> str:
    """A line that stays level until the next point, and is there at once."""

    def parts() -> Iterator[str]:
        yield f"M{spots[0][0]:.2f} {spots[0][1]:.2f}"
        for (_, before), (x, y) in pairwise(spots):
            yield f"H{x:.2f}" + (f"V{y:.2f}" if y != before else "")

    return "".join(parts())


def _ticks(most: float) -> list[float]:
    """Round numbers from 0 to one that is no smaller than ``most``."""
    raw = (most or 1.0) / _STEPS
    power = 10.0 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw * (1 - 1e-9))
    return [place * step for place in range(ceil((most or 1.0) / step - 1e-9) + 1)]


def _time(at: dt.datetime, reach: dt.timedelta) -> str:
    return when(at) if reach < _DAYS else f"{at:%Y-%m-%d}"


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
