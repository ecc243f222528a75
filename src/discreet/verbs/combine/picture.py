"""Message diagrams of a session: the parties on a circle, a numbered arrow for each message.

Each kind of message is a drawing of its own, in the order in which the first of each was sent, so that a step can be
read by itself. A solid line is a sealed message for one party; dashes are a broadcast. Among many parties a broadcast
is one mark at its sender, instead of an arrow to each receiver. Pointing at an arrow or a mark shows its contents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from discreet.core.markup import Markup, Value, drawing, markup, page, style, tag
from discreet.core.report import Picture, shortened
from discreet.core.text import number
from discreet.errors import BadInput
from discreet.verbs.combine.transcript import TranscriptEntry, entries_table

_WIDTH = 640
_SIDE_BY_SIDE_PARTIES, _ARROW_PARTIES, _LABELLED_PARTIES = 6, 12, 24
"""Number of parties up to which two drawings stand side by side, broadcasts are arrows, and parties have labels."""
_MAX_STEPS = 24
_FIRST_SUM = "sum 1/"
"""Prefix of kinds where there is one sum; it is left out."""
_MAX_ARROWS = 600
"""Number of arrows drawn in a step."""
_PILL_PIXELS = 26
_MIDDLE_PIXELS = 20
_BEND_PIXELS = 14
_MAX_LETTERS = 12
_MAX_WORDED_ARROWS = 8
"""Number of arrows in a drawing up to which contents are written beside them."""
_PLAIN = {
    "so far": "the running sum, passed on",
    "total": "the total, sent to all",
    "piece": "a random piece for each",
    "part": "the sum of the pieces",
    "key": "public keys",
    "keys": "public keys",
    "shares": "shares of the secrets, for each",
    "masked": "masked values",
    "arrived": "whose masked values arrived",
    "survivors": "who has not dropped out",
    "unmask": "what removes the masks",
    "heard": "comparison of what was received",
    "value": "the value itself",
}
"""Kinds of messages, in plain words."""
_PAGE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
    "svg{max-width:100%;height:auto}"
)
_TABLE = (
    ".dcl{border-collapse:collapse;font:14px/1.5 system-ui,sans-serif}"
    ".dcl td,.dcl th{padding:.2rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid #8a97a655}"
    ".dcl td:first-child{text-align:right}"
)
_STYLE = (
    ".dcc text{font:12px system-ui,sans-serif;fill:#243040;text-anchor:middle}"
    ".dcc .h{font-weight:600;text-anchor:start}.dcc .p{fill:#e8f0f4;stroke:#2f6f8f}.dcc .me{stroke-width:3}"
    ".dcc .w{fill:none;stroke:#2f6f8f;stroke-width:1.6}.dcc .t{stroke-dasharray:5 4;stroke:#a8501c}"
    ".dcc .a{fill:#2f6f8f}.dcc .b{fill:#a8501c}.dcc .n{fill:#fff;stroke:#8a97a6}"
    ".dcc .v{font-size:11px;fill:#5b6878}.dcc .s{paint-order:stroke;stroke:#fff;stroke-width:3px}"
    "@media(prefers-color-scheme:dark){.dcc text{fill:#dde4ec}.dcc .p{fill:#1d3340;stroke:#6fb3d2}"
    ".dcc .w{stroke:#6fb3d2}.dcc .t{stroke:#e9a06f}.dcc .a{fill:#6fb3d2}.dcc .b{fill:#e9a06f}"
    ".dcc .n{fill:#12202a}.dcc .v{fill:#a9b6c4}.dcc .s{stroke:#12202a}}"
)
_Point: TypeAlias = tuple[float, float]
_Curve: TypeAlias = tuple[_Point, _Point, _Point]
"""Start, middle and end of a bent line, so that both directions are two lines."""


@dataclass(frozen=True)
class MessageDiagram(Picture):
    """A picture of messages, with the list of them."""

    lines: tuple[TranscriptEntry, ...] = ()

    @property
    def page(self) -> str:
        """The picture and the list as an HTML page that opens offline."""
        return page(self.title, self._repr_html_(), sheet=_PAGE)

    def _repr_html_(self) -> str:
        """Inline SVG rather than an image, so that pointing at an arrow shows its contents."""
        caption = tag("pre" if "\n" in self.caption else "p", self.caption)
        return markup(tag("h4", self.title), Markup(self.svg), caption, style(_TABLE), entries_table(self.lines))

    def __repr__(self) -> str:
        return f"<MessageDiagram: {self.title}, {number(len(self.lines), 'message')}>"

    def __str__(self) -> str:
        return "\n".join([self.title, *map(str, self.lines), *([self.caption] if self.caption else [])])


def draw_messages(
    title: str,
    parties: Sequence[str],
    lines: Iterable[TranscriptEntry],
    *,
    values: Mapping[str, str] | None = None,
    me: str = "",
    caption: str = "",
) -> MessageDiagram:
    """Draw messages, one drawing for each kind; ``values`` stand below the names, ``me`` is the viewing party."""
    every = tuple(lines)
    if me and me not in parties:
        raise BadInput(f"{me} is not one of {', '.join(parties)}.")
    steps: dict[str, list[TranscriptEntry]] = {}
    for one in every:
        steps.setdefault(one.kind, []).append(one)
    across = 2 if len(parties) <= _SIDE_BY_SIDE_PARTIES else 1
    size = _WIDTH / across
    alone = all(kind.startswith(_FIRST_SUM) for kind in steps)
    around = _Circle(tuple(parties), size, values or {}, me)
    inside, shown = [], list(steps.items())[:_MAX_STEPS]
    for place, (kind, some) in enumerate(shown or [("no messages", [])]):
        left, top = (place % across) * size, place // across * size
        head = _describe_kind(kind, alone=alone)
        inside.append(tag("g", around.step(place + 1, head, some), transform=f"translate({left:.0f} {top:.0f})"))
    height = math.ceil(max(len(shown), 1) / across) * size
    if any(sum(around.arrows(one) for one in some) > _MAX_ARROWS for some in steps.values()):
        caption = f"{caption} Of each step the first {_MAX_ARROWS} arrows are drawn.".strip()
    if len(steps) > _MAX_STEPS:
        caption = f"{caption} {number(len(steps) - _MAX_STEPS, 'further step')} not drawn.".strip()
    aloud = "; ".join(f"{one.number}: {one.of} to {', '.join(one.to)}, {one.kind}" for one in every[:200])
    svg = drawing(_WIDTH, round(height), title, _HEADS, inside, said=aloud, sheet=_STYLE, class_="dcc")
    return MessageDiagram(title, caption, svg, every)


_BOX: dict[str, Value] = {"viewBox": "0 0 8 8", "refX": 7, "refY": 4, "markerWidth": 7, "markerHeight": 7}
_HEADS = tag(
    "defs",
    (
        tag("marker", tag("path", class_=name, d="M0 0L8 4L0 8z"), id=f"dcc-{name}", **_BOX, orient="auto")
        for name in ("a", "b")
    ),
)


@dataclass(frozen=True)
class _Circle:
    """The parties on a circle."""

    parties: tuple[str, ...]
    size: float
    values: Mapping[str, str]
    me: str

    def step(self, place: int, kind: str, some: Sequence[TranscriptEntry]) -> Markup:
        """One drawing: the arrows of a step, and the parties above them."""
        wordy = len(some) <= _MAX_WORDED_ARROWS
        sizes = accumulate(self.arrows(one) for one in some)
        few = [one for one, arrows in zip(some, sizes, strict=True) if arrows <= _MAX_ARROWS]
        arrows = [self._message(one, wordy=wordy) for one in few]
        if few and not any(map(self.arrows, few)):
            kind = f"{kind} (a dashed ring: sent to all)"
        head = tag("text", f"{place}. {kind}", class_="h", x=10, y=18)
        return markup(head, arrows, map(self._party, self.parties))

    def arrows(self, one: TranscriptEntry) -> int:
        """Number of arrows of a message; 0 for a broadcast among many, which is a mark."""
        crowd = len(self.parties) > _ARROW_PARTIES and not one.sealed and len(one.to) == len(self.parties) - 1
        return 0 if crowd else len(one.to)

    def at(self, party: str) -> _Point:
        """Position of a party: the first on top, then clockwise."""
        radius = self.size / 2 - 66
        angle = 2 * math.pi * self.parties.index(party) / len(self.parties) - math.pi / 2
        return self.size / 2 + radius * math.cos(angle), self.size / 2 + 14 + radius * math.sin(angle)

    def _party(self, party: str) -> Markup:
        x, y = self.at(party)
        if len(self.parties) > _LABELLED_PARTIES:
            return tag("g", tag("title", party), tag("circle", class_="p", cx=x, cy=y, r=5))
        wide, tall = self._wide(party), self._tall
        look = "p me" if party == self.me else "p"
        value, up = self._value(party), 7 if self.values else 0
        return tag(
            "g",
            tag("title", f"{party}: {value}" if value else party),
            tag("rect", class_=look, x=x - wide / 2, y=y - tall / 2, width=wide, height=tall, rx=_PILL_PIXELS // 2),
            tag("text", shortened(party, _MAX_LETTERS), x=x, y=y + 4 - up),
            tag("text", shortened(value, _MAX_LETTERS), class_="v", x=x, y=y + 12) if value else None,
        )

    def _value(self, party: str) -> str:
        return self.values.get(party, "?") if self.values else ""

    @property
    def _tall(self) -> int:
        return _PILL_PIXELS + (10 if self.values else 0)

    def _wide(self, party: str) -> float:
        longest = max(len(shortened(party, _MAX_LETTERS)), len(shortened(self._value(party), _MAX_LETTERS)))
        return 10 if len(self.parties) > _LABELLED_PARTIES else 22 + 7.0 * longest

    def _message(self, one: TranscriptEntry, *, wordy: bool) -> Markup:
        is_broadcast = not one.sealed
        curves = [self._curve(one.of, other) for other in one.to] if self.arrows(one) else []
        look, head = ("w t", "b") if is_broadcast else ("w", "a")
        lines = (tag("path", class_=look, d=_path(curve), marker_end=f"url(#dcc-{head})") for curve in curves)
        hover = f"{one.number}. {one.of} to {', '.join(one.to)} ({one.kind}): {one.what}"
        word = one.short if wordy else ""
        if not curves:
            mark = self._beside(one.number, one.of)
        elif len(curves) == 1:
            at = _along(curves[0], 0.42)
            if not wordy or abs(at[0] - self.size / 2) <= _MIDDLE_PIXELS:  # where lines cross
                at = _along(curves[0], 0.3)
            mark = _mark(one.number, word, at, outward=at[0] - self.size / 2)
        else:
            x, y = self.at(one.of)
            above, aside = y <= self.size / 2 + _PILL_PIXELS, abs(x - self.size / 2) > _MIDDLE_PIXELS
            off = self._tall / 2 + (27 if word and above and not aside else 12)
            mark = _mark(one.number, word, (x, y - off if above else y + off), over=above and aside)
        return tag("g", tag("title", hover), lines, mark)

    def _beside(self, count: int, party: str) -> Markup:
        """Dashed mark between a party and the middle: a broadcast."""
        (x, y), middle = self.at(party), (self.size / 2, self.size / 2 + 14)
        dx, dy = middle[0] - x, middle[1] - y
        long = math.hypot(dx, dy) or 1.0
        start = self._off(party, middle)
        at = start[0] + dx / long * 16, start[1] + dy / long * 16
        return markup(tag("circle", class_="w t", cx=at[0], cy=at[1], r=11), _mark(count, "", at))

    def _curve(self, of: str, to: str) -> _Curve:
        start, end = self.at(of), self.at(to)
        dx, dy = end[0] - start[0], end[1] - start[1]
        long = math.hypot(dx, dy) or 1.0
        middle = (start[0] + end[0]) / 2 - dy / long * _BEND_PIXELS, (start[1] + end[1]) / 2 + dx / long * _BEND_PIXELS
        return self._off(of, middle), middle, self._off(to, middle)

    def _off(self, party: str, toward: _Point) -> _Point:
        """Point where a line toward a target leaves a party's box."""
        at, wide = self.at(party), self._wide(party)
        dx, dy = toward[0] - at[0], toward[1] - at[1]
        long = math.hypot(dx, dy) or 1.0
        tall = min(self._tall, wide)
        reach = min(wide / 2 / (abs(dx) / long or 1e-9), tall / 2 / (abs(dy) / long or 1e-9)) + 3
        return at[0] + dx / long * reach, at[1] + dy / long * reach


def _path(curve: _Curve) -> str:
    (ax, ay), (bx, by), (cx, cy) = curve
    return f"M{ax:.1f} {ay:.1f}Q{bx:.1f} {by:.1f} {cx:.1f} {cy:.1f}"


def _along(curve: _Curve, share: float) -> _Point:
    """Point at a share of a curve."""
    weights = (1 - share) ** 2, 2 * share * (1 - share), share**2
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def _mark(count: int, word: str, at: _Point, *, outward: float = 0.0, over: bool = False) -> Markup:
    """Number of a message in a small ring, with its contents on the outer side, below or above."""
    x, y = at
    place: dict[str, Value] = {"x": x, "y": y - 13 if over else y + 20}
    if abs(outward) > _MIDDLE_PIXELS:
        side, end = (12, "start") if outward > 0 else (-12, "end")
        place = {"x": x + side, "y": y + 4, "style": f"text-anchor:{end}"}
    return markup(
        tag("circle", class_="n", cx=x, cy=y, r=8.5),
        tag("text", count, class_="v", x=x, y=y + 4),
        tag("text", word, class_="v s", **place) if word else None,
    )


def _describe_kind(kind: str, *, alone: bool) -> str:
    """Describe a kind of messages: ``sum 1/so far 2`` is the sum so far, on the second ring."""
    head, slash, word = kind.rpartition("/")
    base, _, ring = word.rpartition(" ")
    if ring.isdecimal() and base in _PLAIN:
        words = f"{_PLAIN[base]}{f' (ring {ring})' if ring != '1' else ''}"
    else:
        words = _PLAIN.get(word, word)
    return words if alone or not slash else f"{head}: {words}"
