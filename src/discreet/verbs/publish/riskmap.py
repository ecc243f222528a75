"""A risk–utility map: its points, the efficient frontier, a picture, a page, and a recommendation in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.core.markup import Markup, drawing, listed, markup, tag
from discreet.core.report import Picture, heading, listing, page, section, shortened, styled
from discreet.errors import BadInput

ORIGINAL = "original"
_LIMITS = (0.05, 0.1, 0.2, 0.4)
_NOTHING = 1e-9
"""Largest loss that counts as rounding."""


@dataclass(frozen=True)
class Point:
    """A masking method on the map, or the reason why it is not there."""

    method: str
    risk: float | None = None
    """DR, from 0 (best) to 1."""
    loss: float | None = None
    """Loss by the map's measure; less is better."""
    interval: float | None = None
    distance: float | None = None
    probabilistic: float | None = None
    why: str = ""

    @property
    def place(self) -> tuple[float, float]:
        """Risk and loss of a point that is on the map."""
        if self.risk is None or self.loss is None:
            raise BadInput(f"{self.method} is not on the map: {self.why}")
        return self.risk, self.loss


@dataclass(frozen=True, repr=False)
class RiskMap:
    """Risk and loss of several maskings. For the table's holder only: it reveals something about the original."""

    table: str
    measure: str
    meaning: str
    points: tuple[Point, ...]
    rows: int
    seed: int

    @property
    def placed(self) -> tuple[Point, ...]:
        """The points that could be measured, the riskiest first."""
        return tuple(sorted((p for p in self.points if not p.why), key=lambda p: (-p.place[0], p.place[1])))

    @property
    def failed(self) -> tuple[Point, ...]:
        """The methods that could not be measured."""
        return tuple(p for p in self.points if p.why)

    @property
    def unseen(self) -> tuple[Point, ...]:
        """Maskings without any loss by this measure, which is blind to their changes and cannot rank them."""
        return tuple(p for p in self.placed if p.method != ORIGINAL and abs(p.place[1]) < _NOTHING)

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The points no other one beats: none has less risk and no more loss, or less loss and no more risk. The
        riskiest first. What the measure cannot see is not among them."""
        found: list[Point] = []
        unseen = self.unseen
        for point in sorted((p for p in self.placed if p not in unseen), key=lambda p: p.place):
            if not found or point.place[1] < found[-1].place[1] or point.place == found[-1].place:
                found.append(point)
        return tuple(reversed(found))

    @property
    def recommend(self) -> str:
        """The maskings to choose between, in plain words. It does not choose: how much risk is right is not in the
        data."""
        best = [p for p in self.frontier if p.method != ORIGINAL]
        masked = [p for p in self.placed if p.method != ORIGINAL and p not in self.unseen]
        if not best:
            return self._blind or "No method could be measured."
        said = [self._blind] if self.unseen else []
        if 1 < len(best) == len(masked):
            said += [f"All {len(best)} maskings are Pareto-optimal: each with less risk has more loss."]
        else:
            said += [
                f"Of {len(masked)} maskings, {len(best)} {'is' if len(best) == 1 else 'are'} Pareto-optimal; "
                "each other one is dominated in both risk and loss."
            ]
        told = ""
        for limit in _LIMITS:
            within = [p for p in best if p.place[0] <= limit]
            least = min(within, key=lambda p: p.place[1], default=None)
            if least is not None and least.method != told:
                told = least.method
                said.append(f"For a maximum risk of {limit:.0%}, “{told}” has the least loss ({_at(least)}).")
        steps = [(a.place[0] - b.place[0], b.place[1] - a.place[1], a, b) for a, b in pairwise(best)]
        if steps:
            down, up, a, b = max(steps, key=lambda step: step[0] / max(step[1], 1e-9))
            said.append(
                f"The cheapest step down is from “{a.method}” to “{b.method}”: {down:.1%} less risk for "
                f"{up:.3f} more loss."
            )
        middle = min(best, key=lambda p: sum(p.place))
        said.append(f"With equal weights for risk and loss, “{middle.method}” is best ({_at(middle)}).")
        said.append(
            "The risk is from intruders who know the quasi-identifiers and use distance, likelihood and "
            "intervals; intruders who know the method may do better, and close points may swap places by "
            "chance. Choose an acceptable risk, publish, and attack the release before you hand it over."
        )
        return " ".join(said)

    @property
    def _blind(self) -> str:
        """Advice on maskings that the measure cannot see; empty if it sees all of them."""
        if not self.unseen:
            return ""
        other = "il1" if self.measure != "il1" else "propensity"
        more = ", or --loss propensity where no number is masked" if other == "il1" else ""
        if all(p.method == ORIGINAL or p in self.unseen for p in self.placed):
            which, so = "these methods", "It cannot rank them."
        else:
            which = ", ".join(f"“{p.method}”" for p in self.unseen)
            so = f"{'It is' if len(self.unseen) == 1 else 'They are'} left out below."
        return f"{self.measure} does not measure {which}: use --loss {other}{more}. {so}"

    @property
    def picture(self) -> Picture:
        """Risk to the right, loss upwards: the best place is the corner at the lower left."""
        caption = (
            "Each dot is a masking; less is better on both axes. The line is the efficient frontier: no "
            "masking tried lies below and to its left."
        )
        if self.unseen:
            caption += f" Maskings at the bottom have no loss by {self.measure}, and are not on it."
        return _scatter(self, caption)

    def html(self, path: str | Path | None = None) -> str:
        """The map as one page that opens offline and runs nothing; with ``path``, written there too."""
        whole = page(f"Risk and loss of {self.table}", self._repr_html_())
        if path is not None:
            Path(path).write_text(whole, encoding="utf-8")
        return whole

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "table": self.table,
            "rows": self.rows,
            "measure": self.measure,
            "seed": self.seed,
            "points": [asdict(point) for point in self.points],
            "frontier": [point.method for point in self.frontier],
            "unseen": [point.method for point in self.unseen],
            "recommend": self.recommend,
        }

    def __str__(self) -> str:
        front = {p.method for p in self.frontier}
        wide = max((len(p.method) for p in self.points), default=0)
        unseen = {p.method for p in self.unseen}
        blind = f", ? is not measured by {self.measure}" if unseen else ""
        lines = [
            f"Risk and loss ({self.measure}) of {self.table}, {self.rows:,} rows; * is on the efficient frontier{blind}"
        ]
        for p in self.placed:
            risk, loss = p.place
            mark = "*" if p.method in front else "?" if p.method in unseen else " "
            lines.append(f"{mark} {p.method:<{wide}}  {risk:7.1%}  {loss:8.4f}")
        lines += [f"  {p.method:<{wide}}  {p.why}" for p in self.failed]
        return "\n".join([*lines, "", self.recommend])

    __repr__ = __str__

    def _repr_html_(self) -> Markup:
        front = {p.method for p in self.frontier}
        heads = ("method", "risk", self.measure, "intervals", "by distance", "by likelihood", "on the frontier")
        rows = [
            [
                p.method,
                _percent(p.risk),
                f"{p.place[1]:.4f}",
                *map(_percent, (p.interval, p.distance, p.probabilistic)),
                "yes" if p.method in front else "",
            ]
            for p in self.placed
        ]
        said = (
            f"{self.measure}: {self.meaning} Less is better on both axes. Seed {self.seed}; {self.rows:,} rows. "
            "This page reveals details of the original table: keep it confidential."
        )
        figures = listing(heads, ["text", *["number"] * 5, "text"], rows)
        failed = listed(f"{p.method}: {p.why}" for p in self.failed)
        return styled(
            [
                heading(f"Risk and loss of {self.table}"),
                self.picture.figure if self.placed else None,
                section("Pareto-optimal methods", tag("p", self.recommend)),
                section("All figures", figures, tag("p", said)),
                section("Not measured", failed) if failed else None,
            ]
        )


def _at(point: Point) -> str:
    risk, loss = point.place
    return f"risk {risk:.1%}, loss {loss:.3f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


_WIDTH, _HEIGHT = 760, 520
_LEFT, _TOP, _ACROSS, _UP = 70, 30, 660, 420
_LINE = 14
_LETTER = 7.4
_DOT = 5
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#243040;stroke:#fff;stroke-width:3px;paint-order:stroke}"
    ".grid{stroke:#8a97a6;stroke-opacity:.3}"
    ".front{fill:none;stroke:#2f6f8f;stroke-width:2}.dot{fill:#8a97a6}.best{fill:#2f6f8f}.first{fill:#a8501c}"
    ".lead{stroke:#8a97a6;stroke-opacity:.6}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec;stroke:#141a21}.front{stroke:#6fb3d2}.best{fill:#6fb3d2}.first{fill:#e9a06f}}"
)


def _scatter(shown: RiskMap, caption: str) -> Picture:
    """Scatter plot, with axes from 0 to the next tenth, and labels that avoid each other and the dots."""
    points, front = shown.placed, {p.method for p in shown.frontier}
    wide, high = (max(-(-max((p.place[axis] for p in points), default=0.0) * 10 // 1), 1.0) / 10 for axis in (0, 1))

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + x / wide * _ACROSS, _TOP + (1 - y / high) * _UP

    drawn = []
    for step in range(6):
        x, y = at(wide * step / 5, high * step / 5)
        drawn.append(tag("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=_TOP + _UP))
        drawn.append(tag("line", class_="grid", x1=_LEFT, x2=_LEFT + _ACROSS, y1=y, y2=y))
        drawn.append(tag("text", f"{wide * step / 5:.3g}", x=x, y=_TOP + _UP + 18, text_anchor="middle"))
        drawn.append(tag("text", f"{high * step / 5:.3g}", x=_LEFT - 8, y=y + 4, text_anchor="end"))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*p.place) for p in shown.frontier))
    drawn.append(tag("polyline", class_="front", points=path))
    taken = [_Box(x - _DOT, x + _DOT, y - _DOT, y + _DOT) for x, y in (at(*p.place) for p in points)]
    for point in sorted(points, key=lambda p: p.method not in front):
        x, y = at(*point.place)
        kind = "first" if point.method == ORIGINAL else "best" if point.method in front else "dot"
        drawn.append(tag("circle", class_=kind, cx=x, cy=y, r=4 if kind == "dot" else 5))
        drawn.append(_label(point.method, x, y, taken))
    drawn.append(tag("text", "disclosure risk (DR)", x=_LEFT + _ACROSS / 2, y=_HEIGHT - 22, text_anchor="middle"))
    drawn.append(tag("text", f"information loss ({shown.measure})", x=4, y=16))
    said = "; ".join(f"{p.method}: {p.place[0]:.3g}, {p.place[1]:.3g}" for p in points)
    title = f"Risk and loss of {shown.table}"
    return Picture(title, caption, drawing(_WIDTH, _HEIGHT, title, drawn, said=said, sheet=_STYLE))


@dataclass(frozen=True)
class _Box:
    """An occupied rectangle of the picture."""

    left: float
    right: float
    top: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def _label(text: str, x: float, y: float, taken: list[_Box]) -> Markup:
    """A label next to its dot, or as near as there is room, with a line to it; none if there is no room."""
    short = shortened(text, 40)
    width = len(short) * _LETTER
    for step in range(2 * _UP // _LINE + 2):
        base = y + 4 + (step + 1) // 2 * _LINE * (1 if step % 2 else -1)
        for left, end in ((x + 9, x + 9), (x - 9 - width, x - 9)):
            box = _Box(left, left + width, base - 10, base + 4)
            inside = left >= _LEFT and box.right <= _WIDTH and _TOP < base < _TOP + _UP + 8
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                lead = tag("line", class_="lead", x1=x, y1=y, x2=end, y2=base - 4)
                return markup(lead if step else None, tag("text", short, x=left, y=base))
    return Markup()
