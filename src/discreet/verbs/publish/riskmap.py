"""A risk–utility map: its points, the efficient frontier, a picture, a page, and what there is to choose between."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.core.markup import listed, markup, page, table, tag
from discreet.core.report import Picture
from discreet.errors import BadInput
from discreet.verbs.publish.scatter import Dot, scatter

ORIGINAL = "original"
_LIMITS = (0.05, 0.1, 0.2, 0.4)
_NOTHING = 1e-9
"""A loss below this is none: what is left of it is rounding."""
_PAGE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#243040}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{padding:.3rem .6rem;border-bottom:1px solid #d5dbe2;text-align:left}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}img{max-width:100%}tr.best th{font-weight:700}"
    "@media(prefers-color-scheme:dark){body{background:#141a21;color:#dde4ec}th,td{border-color:#3a4653}}"
)


@dataclass(frozen=True)
class Point:
    """A method on the map, or why it is not there."""

    method: str
    risk: float | None = None
    """DR, from 0 (best) to 1."""
    loss: float | None = None
    """What is lost by the map's measure; less is better."""
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
    """What ``compare`` found. For the holder of the table: it tells about the original, and is no release."""

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
        """The maskings that lose nothing by this measure: it is blind to what they did, so it cannot rank them."""
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
        """What there is to choose between, in plain words. It does not choose: how much risk is right is not in the
        data."""
        best = [p for p in self.frontier if p.method != ORIGINAL]
        masked = [p for p in self.placed if p.method != ORIGINAL and p not in self.unseen]
        if not best:
            return self._blind or "No method could be measured, so there is nothing to choose between."
        said = [self._blind] if self.unseen else []
        if 1 < len(best) == len(masked):
            said += [f"All {len(best)} maskings are worth a look: whichever has less risk than another loses more."]
        else:
            said += [
                f"Of {len(masked)} maskings, {len(best)} {'is' if len(best) == 1 else 'are'} worth a look: for each "
                "other one there is one with less risk that loses no more, or as little risk and less loss."
            ]
        told = ""
        for limit in _LIMITS:
            within = [p for p in best if p.place[0] <= limit]
            least = min(within, key=lambda p: p.place[1], default=None)
            if least is not None and least.method != told:
                told = least.method
                said.append(f"If a risk of {limit:.0%} is the most you accept, “{told}” loses least ({_at(least)}).")
        steps = [(a.place[0] - b.place[0], b.place[1] - a.place[1], a, b) for a, b in pairwise(best)]
        if steps:
            down, up, a, b = max(steps, key=lambda step: step[0] / max(step[1], 1e-9))
            said.append(
                f"The cheapest step down is from “{a.method}” to “{b.method}”: {down:.1%} less risk for "
                f"{up:.3f} more loss."
            )
        middle = min(best, key=lambda p: sum(p.place))
        said.append(f"Weighing both alike (half risk, half loss), “{middle.method}” comes out first ({_at(middle)}).")
        said.append(
            "The risk is that of intruders who know the quasi-identifiers and use no more than distance, likelihood "
            "and intervals; whoever knows the method may do better, and chance moves close points past each other. "
            "Decide what risk is right for those the table is about, publish, and attack the release before you let it "
            "go."
        )
        return " ".join(said)

    @property
    def _blind(self) -> str:
        """What to do about maskings that the measure cannot see; empty if it sees all of them."""
        if not self.unseen:
            return ""
        other = "il1" if self.measure != "il1" else "propensity"
        more = ", or --loss propensity where no number is masked" if other == "il1" else ""
        if all(p.method == ORIGINAL or p in self.unseen for p in self.placed):
            which, so = "these methods", "None of them is better than another by it."
        else:
            which = ", ".join(f"“{p.method}”" for p in self.unseen)
            so = f"{'It is' if len(self.unseen) == 1 else 'They are'} left out of what follows."
        return f"{self.measure} cannot see what {which} did: use --loss {other}{more}. {so}"

    @property
    def picture(self) -> Picture:
        """Risk to the right, loss upwards: the best place is the corner at the lower left."""
        front = {p.method for p in self.frontier}
        dots = [Dot(p.method, *p.place, p.method in front, p.method == ORIGINAL) for p in self.placed]
        caption = (
            "Each dot is a masking; less is better on both sides. The line is the efficient frontier: no masking tried "
            "lies below it and to its left."
        )
        if self.unseen:
            caption += f" Maskings at the bottom lose nothing that {self.measure} sees, and are not on it."
        axes = "disclosure risk (DR)", f"information loss ({self.measure})"
        return scatter(f"Risk and loss of {self.table}", axes, dots, [p.place for p in self.frontier], caption)

    def html(self, path: str | Path | None = None) -> str:
        """The map as one page that opens offline and runs nothing; with ``path``, written there too."""
        whole = page(f"Risk and loss of {self.table}", self._repr_html_(), sheet=_PAGE)
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
        blind = f", ? is not seen by {self.measure}" if unseen else ""
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

    def _repr_html_(self) -> str:
        front = {p.method for p in self.frontier}
        rows = (
            tag(
                "tr",
                tag("th", p.method, scope="row"),
                (tag("td", text, class_="n") for text in _figures(p)),
                tag("td", "yes" if p.method in front else None),
                class_="best" if p.method in front else None,
            )
            for p in self.placed
        )
        heads = ("method", "risk", self.measure, "intervals", "by distance", "by likelihood", "on the frontier")
        said = (
            f"{self.measure}: {self.meaning} Less is better on both sides. Seed {self.seed}; {self.rows:,} rows. "
            "This page tells about the original table: it is for its holder."
        )
        failed = listed(f"{p.method}: {p.why}" for p in self.failed)
        return markup(
            tag("h1", f"Risk and loss of {self.table}"),
            self.picture.figure if self.placed else None,
            tag("h2", "What there is to choose between"),
            tag("p", self.recommend),
            tag("h2", "All figures"),
            table(heads, rows),
            tag("p", said),
            (tag("h2", "Not measured"), failed) if failed else None,
        )


def _at(point: Point) -> str:
    risk, loss = point.place
    return f"risk {risk:.1%}, loss {loss:.3f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _figures(point: Point) -> list[str]:
    shares = [_percent(share) for share in (point.risk, point.interval, point.distance, point.probabilistic)]
    return [shares[0], f"{point.place[1]:.4f}", *shares[1:]]
