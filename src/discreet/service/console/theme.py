"""Visual building blocks of the console, and its style sheet for light and dark.

Pages use these pieces and the classes of ``look.css`` (``dc-…``). Tailwind is off, since it would be compiled in the
browser at every visit; Quasar's own classes and NiceGUI's elements work as usual. Why it looks as it does is in
``docs/decisions/0012-console-design.md``.

    with theme.page("Ask", "A sentence that says what this is for."):   the heading of a page
    with theme.card("Budget"):                                          a box with a heading
    with theme.columns(): …                                             boxes side by side, where there is room
    theme.budget_gauge(left, budget, account=…)                         how much is left, as a bar
    theme.promise(explain.EPSILON)                                      "What does this mean?"
    theme.empty("Nothing released yet.", "inventory_2", ("Publish a table", "/publish"))
    with theme.messages(): …                                            the place of messages, of a page or a dialog
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from nicegui import Client, ui
from starlette.responses import Response

from discreet.budget.filter import Budget
from discreet.core.exact import rounded
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.core.markup import Markup, Value, markup, style, table, tag
from discreet.errors import DiscreetError
from discreet.service.console import explain

COOKIE = "discreet_look"
MARK = Markup(
    '<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><path d="M16 2 4 7v8c0 7.5 5 12.7 12 15 '
    '7-2.3 12-7.5 12-15V7z" fill="#17858c"/><path d="M11 22v-5M16 22v-9M21 22v-7" stroke="#fff" '
    'stroke-width="2.6" stroke-linecap="round"/><path d="M9.5 14.5h3M14.5 10h3M19.5 12.5h3" stroke="#fff" '
    'stroke-width="1.4" stroke-linecap="round" opacity=".65"/></svg>'
)
ICON = MARK.replace(" viewBox", ' xmlns="http://www.w3.org/2000/svg" viewBox')
KEPT = "public, max-age=31536000, immutable"
"""Cache-Control header of files whose address changes with their content."""
_Element = TypeVar("_Element", bound=ui.element)
_GAUGES: WeakKeyDictionary[Client, dict[str, float]] = WeakKeyDictionary()
"""The share that each gauge of a page showed last, by account."""
_ADDRESS = "/_nicegui/look.css"
_SHEET = Path(__file__).with_name("look.css")
_SWITCH = """() => {
  const dark = !document.body.classList.contains('body--dark');
  setDark(dark);
  document.cookie = `%s=${dark ? 'dark' : 'light'}; path=/; max-age=31536000; samesite=strict`;
}"""


def mount(app: FastAPI) -> None:
    """Serve the style sheet."""

    @app.get(_ADDRESS, include_in_schema=False)
    def sheet() -> Response:
        return Response(_sheet(), media_type="text/css", headers={"Cache-Control": KEPT})


def link() -> Markup:
    """The tag that loads the style sheet, under an address that changes when it does."""
    return tag("link", rel="stylesheet", href=f"{_ADDRESS}?{hashlib.sha256(_sheet().encode()).hexdigest()[:12]}")


def head(chosen: str) -> None:
    """What a page's head needs. ``chosen`` is light or dark; anything else means as the system has it."""
    ui.add_head_html(link())
    if chosen in ("light", "dark"):
        ui.add_head_html(style(f"html{{color-scheme:{chosen};background:{_GROUND[chosen]}}}"))
        ui.dark_mode(chosen == "dark")


def switch() -> None:
    """The button for light and dark. The browser remembers, and no server is asked."""
    button = ui.button(icon="contrast", color=None).props(
        'flat round dense aria-label="Light or dark" data-testid=look'
    )
    button.on("click", js_handler=_SWITCH % COOKIE)


@contextmanager
def page(title: str, about: str = "", terms: Sequence[str] = ()) -> Iterator[None]:
    """The heading of a page, below it what it is for, and the terms one meets there with links into the glossary."""
    with ui.element("header").classes("dc-head"):
        ui.html(markup(tag("h1", title), tag("p", about) if about else None, _terms(terms)), sanitize=False)
    yield


@contextmanager
def card(title: str = "", *, note: str = "", testid: str = "") -> Iterator[ui.element]:
    """A box, with a heading and beside it a note."""
    with marked(ui.element("section").classes("dc-card"), testid) as made:
        if title:
            ui.html(tag("h2", title, tag("small", note) if note else None), sanitize=False)
        yield made


def columns() -> ui.element:
    """Boxes side by side; below each other where there is little room."""
    return ui.element("div").classes("dc-columns")


def row() -> ui.element:
    """Things in a line, wrapped where there is little room."""
    return ui.element("div").classes("dc-row")


def text(label: str, testid: str = "", *, width: str = "dc-mid", props: str = "", **more: Any) -> ui.input:
    """A field for a line of text."""
    return marked(ui.input(label, **more).props(f"outlined dense {props}").classes(width), testid)


def figure(label: str, testid: str, *, width: str = "dc-mid", **more: Any) -> ui.number:
    """A field for a number."""
    return marked(ui.number(label, **more).props("outlined dense").classes(width), testid)


def select(
    options: Sequence[Any] | Mapping[Any, str], label: str, testid: str = "", *, width: str = "dc-mid", **more: Any
) -> ui.select:
    """A list that drops down; by default its first option is chosen, or of several none."""
    several = more.get("multiple", False)
    chosen: dict[str, Any] = {"value": [] if several else next(iter(options), None)} | more
    made = ui.select(dict(options) if isinstance(options, Mapping) else list(options), label=label, **chosen)
    made.props(f"outlined dense options-dense {'use-chips' if several else ''}").classes(width)
    return marked(made, testid)


def lines(label: str, testid: str) -> ui.textarea:
    """A field for several lines of text."""
    return marked(ui.textarea(label).props("outlined autogrow rows=2").classes("dc-code dc-full"), testid)


def said_in(box: ui.input) -> str:
    """What is in a field of text."""
    return (box.value or "").strip()


def lines_in(box: ui.textarea) -> tuple[str, ...]:
    """What is in each line of a field that is not empty."""
    return tuple(line.strip() for line in (box.value or "").splitlines() if line.strip())


def button(label: str, testid: str, click: Callable[..., Any], *, icon: str | None = None, look: str = "") -> ui.button:
    """A button; ``look`` is unelevated, outline or flat."""
    return marked(ui.button(label, icon=icon, on_click=click).props(look), testid)


def editor_setup(editor: ui.codemirror, label: str, button: ui.button, extend: str) -> str:
    """The program that sets up an editor: its label, its keys (Ctrl+Enter presses ``button``), light and dark.

    ``extend`` is a function in JavaScript, from CodeMirror to its further extensions.
    """
    press = f"() => getHtmlElement({button.id}).click()"
    return f"({_editor()})(getElement({editor.id}), {json.dumps(label)}, {press}, {extend});"


def marked(made: _Element, testid: str = "", label: str = "") -> _Element:
    """An element with a name for tests, and a label for those who cannot see it.

    Whatever comes from data is set by itself: in a text of several props it could end its own and begin another one,
    and one whose name begins with a colon is a program.
    """
    for key, value in (("data-testid", testid), ("aria-label", label)):
        if value:
            made.props[key] = value
    return made


def prose(text: str, *, soft: bool = False) -> ui.label:
    """A paragraph."""
    return ui.label(text).classes("dc-prose dc-soft" if soft else "dc-prose")


def badge(text: str, tone: str = "plain") -> ui.element:
    """A word in a coloured pill: ``good``, ``bad``, ``warn`` or ``plain``."""
    return ui.label(text).classes(f"dc-badge dc-{tone}")


def holder_only(text: str, tone: str = "bad") -> None:
    """Says that what follows is for the holder of the data alone, and why."""
    with row():
        badge("holder only", tone)
        ui.label(text).classes("dc-soft dc-small")


def facts(pairs: Sequence[tuple[str, str]]) -> ui.element:
    """Names and what they stand for."""
    said = ((tag("dt", name), tag("dd", value)) for name, value in pairs)
    return ui.html(tag("dl", said, class_="dc-facts"), sanitize=False)


@dataclass(frozen=True)
class Folded:
    """A cell of a grid that says little, and more when it is opened."""

    said: str
    more: str


def grid(heads: Sequence[str], rows: Sequence[Sequence[str | Folded]], *, numbers: Sequence[int] = ()) -> ui.element:
    """A plain table; columns in ``numbers`` stand to the right."""
    kinds = ["dc-number" if place in numbers else None for place in range(len(heads))]
    top = [tag("th", one, scope="col", class_=kind) for one, kind in zip(heads, kinds, strict=True)]
    body = ([tag("td", _cell(one), class_=kind) for one, kind in zip(line, kinds, strict=True)] for line in rows)
    return ui.html(tag("div", table(top, body), class_="dc-scroll", tabindex=0), sanitize=False).classes("dc-grid")


def statement(text: str) -> str:
    """What is promised, with each thing that is assumed, and each note, on a line of its own."""
    return re.sub(r" (?=(?:Assumed|Note): )", "\n", text)


def empty(text: str, icon: str = "inbox", action: tuple[str, str] | None = None) -> ui.element:
    """An empty state: an icon, one sentence, and a link to the next action as its label and address."""
    with ui.element("div").classes("dc-empty") as made:
        ui.icon(icon).props("aria-hidden=true")
        ui.html(tag("span", text), sanitize=False, tag="span")
        if action is not None:
            link_button(*action, plain=True)
    return made


def link_button(label: str, address: str, testid: str = "", *, plain: bool = False, icon: str = "") -> ui.element:
    """A link that looks like a button; ``plain`` is for the less important one."""
    made = marked(ui.element("a").classes("dc-button dc-plainly" if plain else "dc-button"), testid)
    made.props["href"] = address
    with made:
        if icon:
            ui.icon(icon).props("aria-hidden=true")
        ui.label(label)
    return made


def round_icon(icon: str, tone: str = "") -> ui.element:
    """An icon in a coloured circle; ``tone`` is good, bad or warn."""
    return ui.icon(icon).props("aria-hidden=true").classes(f"dc-round dc-{tone}" if tone else "dc-round")


def messages() -> ui.element:
    """The place where messages about actions appear, above what they are about."""
    return ui.element("div").classes("dc-messages")


def message(text: str, hint: str = "", tone: str = "good") -> ui.element:
    """A message that stays until it is closed: ``good`` for what was done, ``warn`` and ``bad`` for what was not.

    A message that closes by itself is gone before slow readers have read it (WCAG 2.2.1).
    """
    urgent = tone != "good"
    with ui.element("div").classes(f"dc-message dc-{tone}").props(f"role={'alert' if urgent else 'status'}") as made:
        with ui.element("div"):
            ui.label(text).classes("dc-strong")
            if hint:
                ui.label(hint)
        close = ui.button(icon="close", on_click=made.delete).props('flat round dense aria-label="Close this message"')
        close.props("color=inherit")
    return marked(made, "told")


def refusal(error: DiscreetError) -> ui.element:
    """An error in its place on the page."""
    return ui.html(tag("div", said(error), class_="dc-refusal", role="alert"), sanitize=False)


def said(error: DiscreetError) -> Markup:
    """An error as HTML: what happened, and what to do."""
    return markup(tag("strong", error.message), tag("span", error.hint.strip()) if error.hint else None)


def promise(text: str, title: str = "What does this mean?") -> ui.element:
    """An explanation that opens on demand, with a link to the glossary; blank lines in ``text`` divide paragraphs."""
    said = (tag("p", part.strip()) for part in text.split("\n\n"))
    more = tag("p", tag("a", "All terms", href="/glossary"))
    return ui.html(tag("details", tag("summary", title), said, more, class_="dc-promise"), sanitize=False)


def budget_gauge(left: Loss, budget: Budget, *, asked: Loss | None = None, account: str = "") -> ui.element:
    """How much of a budget is left, as a bar; with ``asked``, the part of it that a question would take.

    A gauge of an ``account`` that is drawn again on the same page drains from where it was.
    """
    remaining = min(share(left, budget), 1.0)
    taken = 0.0 if asked is None else min(share(asked, budget), remaining)
    rest = remaining - taken
    tone = "bad" if rest < 0.1 else "warn" if rest < 0.3 else "good"
    said = f"{short(left)} of {short(budget.ceiling.core).split()[-1]} left{_delta_said(left, budget)}"
    bars = [tag("i", class_=f"dc-{kind}", style=f"width:{part:.2%}") for kind, part in ((tone, rest), ("taken", taken))]
    before = _drawn_before(account, remaining)
    if before > remaining:
        bars.append(tag("i", class_="dc-spent", style=f"--dc-from:{before:.2%};--dc-to:{remaining:.2%}"))
    meter: dict[str, Value] = {
        "role": "meter",
        "aria-valuemin": 0,
        "aria-valuemax": 100,
        "aria-valuenow": round(100 * remaining),
    }
    bar = tag("div", bars)
    return ui.html(tag("div", bar, tag("span", said), class_="dc-gauge", aria_label=said, **meter), sanitize=False)


def _drawn_before(account: str, remaining: float) -> float:
    """The share that this page's gauge of an account showed last, if it showed one; the present one is remembered."""
    if not account:
        return remaining
    drawn = _GAUGES.setdefault(ui.context.client, {})
    before = drawn.get(account, remaining)
    drawn[account] = remaining
    return before


def share(loss: Loss, budget: Budget) -> float:
    """How large a loss is beside all that a budget allows, in the coordinate that is nearest its end."""
    match loss, budget.ceiling.core:
        case Pure() | Approximate(), Pure(epsilon=most):
            found = _ratio(loss.epsilon, most)
        case Pure() | Approximate(), Concentrated(rho=most):
            found = _ratio(loss.epsilon**2 / 2, most)
        case Concentrated(rho=rho), Concentrated(rho=most):
            found = _ratio(rho, most)
        case Renyi(curve=curve), Renyi(curve=most_):
            found = min(_ratio(one, most) for (_, one), (_, most) in zip(curve, most_, strict=True))
        case _:
            found = 0.0
    return found


def beyond(asked: Loss, left: Loss, budget: Budget) -> bool:
    """Whether a loss is more than what is left of a budget, its delta too."""
    if delta_of(asked) > delta_left(left, budget):
        return True
    match asked, left:
        case Pure() | Approximate(), Pure() | Approximate():
            return asked.epsilon > left.epsilon
        case _:
            return share(asked, budget) > share(left, budget)


def delta_of(loss: Loss) -> Fraction:
    """The delta of a loss; most have none."""
    return loss.delta if isinstance(loss, Approximate) else Fraction(0)


def delta_left(left: Loss, budget: Budget) -> Fraction:
    """The delta that may still be spent. Of a budget that is kept as rho it is all that was set aside, or less."""
    return delta_of(left) if isinstance(left, Approximate) else budget.reserve


def amount(loss: Loss) -> str:
    """A loss in a few digits."""
    delta = delta_of(loss)
    return short(loss) + (f", δ {rounded(delta, 2)}" if delta else "")


def short(loss: Loss) -> str:
    """A loss in a few digits, without its delta."""
    match loss:
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon):
            return f"ε {rounded(epsilon, 3)}"
        case Concentrated(rho=rho):
            return f"ρ {rounded(rho, 3)}"
        case _:
            return str(loss)


def number(value: Any) -> str:
    """A figure as people read it."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (abs(value) >= 1000 and abs(value) < 1e15):
        return f"{value:,.0f}"
    return f"{value:,.4g}"


def axis(**more: Any) -> dict[str, Any]:
    """An axis of a chart, in the colours of the page."""
    text, line = (
        {"color": "var(--dc-soft)", "fontSize": 12, "hideOverlap": True},
        {"lineStyle": {"color": "var(--dc-line)"}},
    )
    within = {**text, "alignMaxLabel": "right"}  # the last one would stick out
    return {"axisLabel": within, "nameTextStyle": text, "axisLine": line, "splitLine": line, **more}


def chart(options: dict[str, Any], *, height: int = 320, label: str) -> ui.echart:
    """A chart; ``label`` says to those who cannot see it what it shows."""
    room = {"containLabel": True, "left": 24, "right": 28, "top": 12, "bottom": 34}
    plain = {"animation": False, "textStyle": {"fontFamily": "system-ui, sans-serif"}, "grid": room}
    drawn = {**plain, **options, "series": [_pointed(one) for one in options["series"]]}
    if "tooltip" in options:
        drawn["tooltip"] = {**_TIP, **options["tooltip"]}
    made = ui.echart(drawn, renderer="svg").style(f"height:{height}px").classes("dc-chart")
    return marked(made.props("role=img"), label=label)


COLOURS = ("var(--dc-accent)", "var(--dc-second)", "var(--dc-third)", "var(--dc-fourth)")
"""Of the lines and bars of a chart, in order."""
Show: TypeAlias = Callable[[], Awaitable[None]]
"""Shows a part of a page again."""
_TIP = {
    "backgroundColor": "var(--dc-paper)",
    "borderColor": "var(--dc-line)",
    "textStyle": {"color": "var(--dc-ink)", "fontSize": 13},
}
_GROUND = {"light": "#f5f2ec", "dark": "#101517"}


@cache
def _editor() -> str:
    return Path(__file__).with_name("editor.js").read_text(encoding="utf-8").strip()


@cache
def _sheet() -> str:
    return _SHEET.read_text(encoding="utf-8")


def colours(count: int) -> list[str]:
    """As many colours, over again if there are not enough."""
    return [COLOURS[place % len(COLOURS)] for place in range(count)]


def _pointed(series: dict[str, Any]) -> dict[str, Any]:
    """A series whose marks keep their colours when pointed at: ECharts cannot make those of the style sheet lighter."""
    more = series.get("emphasis", {})
    kept = {name: {**series.get(name, {}), **more.get(name, {})} for name in ("itemStyle", "lineStyle")}
    return {**series, "emphasis": {**more, **kept}}


def _cell(one: str | Folded) -> str:
    if isinstance(one, str):
        return one
    return tag("details", tag("summary", one.said), one.more, class_="dc-fold")


def _terms(names: Sequence[str]) -> Markup | None:
    """Links to terms of the glossary; pointing at one shows its first sentence."""
    if not names:
        return None
    links = []
    for name in names:
        first = re.split(r"(?<=[.:?]) (?=[A-Z])", explain.GLOSSARY[name])[0]
        links.append(tag("a", name, href=f"/glossary#{explain.term_id(name)}", title=first))
    parted = [links[0], *(part for one in links[1:] for part in (" · ", one))]
    return tag("p", "Terms: ", parted, class_="dc-terms")


def _delta_said(left: Loss, budget: Budget) -> str:
    """What is left of a budget's delta, if it has one that is kept apart."""
    whole = budget.ceiling.delta
    if not whole or not isinstance(left, Approximate):
        return ""
    return f"; δ {rounded(left.delta, 2)} of {rounded(whole, 2)} left"


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0
