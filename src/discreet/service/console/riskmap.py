"""The risk–utility map on the Publish page: disclosure risk and information loss of many masking methods.

data-testid: map-loss, map-methods, map-start, map-chart, map-use-<number>, map-recommend; job-compare, job-open-<id>.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from discreet.core.text import number
from discreet.service.console import explain, theme
from discreet.service.console.frame import Seat
from discreet.service.console.jobs import JobBox, list_jobs, recent
from discreet.service.jobs.queue import DONE, Job
from discreet.service.jobs.specs import Compare

_LOSSES = {
    "il1": "individual values (IL1)",
    "pil": "means, variances and correlations (PIL)",
    "propensity": "overall similarity (propensity score)",
    "marginals 2": "pairs of columns (2-way marginals)",
    "correlations": "correlations only",
}
"""Measures of information loss that the map can show."""
_ORIGINAL = "original"


class Comparison:
    """Starts comparisons of a table, and draws what came of them; ``choose`` takes the method that is picked."""

    def __init__(self, seat: Seat, table: str, choose: Callable[[str], None]) -> None:
        self._seat, self._table, self._choose = seat, table, choose

    async def begin(self) -> None:
        """Draw the choices, and the map that was made last."""
        found = await recent(self._seat, Compare.kind)
        before = [job for job in found if job.table == self._table and job.state == DONE]
        with theme.card(
            "Risk–utility map", note="Disclosure risk and information loss of each masking method, before you choose."
        ):
            theme.promise(explain.RISK_MAP, "What does the map show?")
            with theme.row():
                self._loss = theme.select(_LOSSES, "Optimise for", "map-loss")
                start = ui.button("Draw the map", icon="scatter_plot", on_click=lambda: self._box.start(self._spec))
                start.props("outline data-testid=map-start")
            with ui.expansion("Methods to compare").classes("dc-more"):
                self._methods = theme.lines("One method per line (empty: the default list)", "map-methods")
            self._box: JobBox = JobBox(self._seat, "Comparing", draw=self._draw)
            await self._box.estimate(Compare.kind, self._table)
            if before:
                with ui.expansion("Earlier maps of this table").classes("dc-more"):
                    list_jobs(before, self._box.show, lambda job: f"by {job.spec['loss']}")

    def _spec(self) -> Compare:
        return Compare(self._table, self._loss.value, theme.lines_in(self._methods))

    def _draw(self, found: Mapping[str, Any], job: Job) -> None:
        """The map that a job made."""
        theme.holder_only("The map is computed from the original rows. Do not pass it on.", "warn")
        chart = theme.chart(options(found), height=380, label=f"Risk and loss of {len(placed(found))} methods")
        chart.props("data-testid=map-chart").on_point_click(self._clicked)
        with ui.element("ul").classes("dc-prose").props("data-testid=map-recommend"):
            for told in advice(found):
                with ui.element("li"):
                    ui.label(told)
        self._listing(found)

    def _clicked(self, event: EChartPointClickEventArguments) -> None:
        method = event.data.get("method") if isinstance(event.data, Mapping) else None
        if isinstance(method, str) and method != _ORIGINAL:
            self._use(method)

    def _use(self, method: str) -> None:
        self._choose(method)
        self._seat.say(f"“{method}” is now the method in the form.")

    def _listing(self, found: Mapping[str, Any]) -> None:
        """The points as a table, so that a keyboard can choose one too."""
        front = found["frontier"]
        with ui.element("div").classes("dc-scroll dc-middle dc-full").props("tabindex=0"), ui.element("table"):
            _heads("Method", "Risk", "Loss", "On the frontier", "", numbers=(1, 2))
            with ui.element("tbody"):
                for place, point in enumerate(placed(found)):
                    with ui.element("tr"):
                        for text, kind in (
                            (point["method"], ""),
                            (f"{point['risk']:.1%}", "dc-number"),
                            (f"{point['loss']:.3f}", "dc-number"),
                            ("yes" if point["method"] in front else "", ""),
                        ):
                            with ui.element("td").classes(kind):
                                ui.label(text)
                        with ui.element("td"):
                            if point["method"] != _ORIGINAL:
                                use = ui.button("Use", on_click=lambda method=point["method"]: self._use(method))
                                use.props(f"flat dense data-testid=map-use-{place}")
                                use.props["aria-label"] = f"Use {point['method']}"
        failed = [(point["method"], point["why"]) for point in found["points"] if point["why"]]
        if failed:
            with ui.expansion(f"{number(len(failed), 'method')} could not be measured", value=True).classes("dc-more"):
                theme.facts(failed)


def placed(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The points that could be measured, the riskiest first."""
    return sorted((one for one in found["points"] if not one["why"]), key=lambda one: (-one["risk"], one["loss"]))


def advice(found: Mapping[str, Any]) -> list[str]:
    """Recommendations, a sentence each, in the words of this page."""
    said = found["recommend"].replace("use --loss ", "choose the measure ").replace("or --loss ", "or ")
    return re.split(r"(?<=[.)]) (?=[A-Z“])", said)


def options(found: Mapping[str, Any]) -> dict[str, Any]:
    """The map as a chart: risk to the right, loss upwards, a line along the best."""
    front, points = found["frontier"], placed(found)
    best = [one for one in points if one["method"] in front and one["method"] != _ORIGINAL]
    others = [one for one in points if one["method"] not in front and one["method"] != _ORIGINAL]
    original = [one for one in points if one["method"] == _ORIGINAL]
    named = ["on the frontier", *(["dominated"] if others else []), *(["original"] if original else [])]
    line = sorted((one["risk"], one["loss"]) for one in points if one["method"] in front)
    return {
        "tooltip": {"trigger": "item", "formatter": "{b}"},
        "legend": {"bottom": 0, "textStyle": {"color": "var(--dc-soft)"}, "data": named},
        "grid": {"containLabel": True, "left": 28, "right": 24, "top": 16, "bottom": 64},
        "xAxis": theme.axis(type="value", name="disclosure risk", nameLocation="middle", nameGap=28, min=0),
        "yAxis": theme.axis(type="value", name="information loss", nameLocation="middle", nameGap=38, min=0),
        "series": [
            {
                "type": "line",
                "name": "frontier",
                "data": [list(point) for point in line],
                "symbol": "none",
                "silent": True,
                "lineStyle": {"color": theme.COLOURS[0], "width": 2},
            },
            _dots("on the frontier", best, theme.COLOURS[0], 13),
            _dots("dominated", others, "var(--dc-soft)", 10),
            _dots("original", original, theme.COLOURS[1], 13, symbol="diamond"),
        ],
    }


def _dots(name: str, points: list[Mapping[str, Any]], colour: str, size: int, **more: Any) -> dict[str, Any]:
    data = [
        {
            "name": f"{one['method']}: risk {one['risk']:.1%}, loss {one['loss']:.3f}",
            "value": [one["risk"], one["loss"]],
            "method": one["method"],
        }
        for one in points
    ]
    return {
        "type": "scatter",
        "name": name,
        "data": data,
        "symbolSize": size,
        "itemStyle": {"color": colour, "opacity": 0.9},
        "emphasis": {"itemStyle": {"borderColor": "var(--dc-ink)", "borderWidth": 2}},
        **more,
    }


def _heads(*names: str, numbers: tuple[int, ...]) -> None:
    with ui.element("thead"), ui.element("tr"):
        for place, name in enumerate(names):
            if name:
                with ui.element("th").props("scope=col").classes("dc-number" if place in numbers else ""):
                    ui.label(name)
            else:
                ui.element("td")
