"""/collect: make a survey whose answers are randomised in the respondents' browsers, pass its link on, see estimates.

data-testid: collect-survey, collect-title, collect-about, collect-epsilon, collect-people, question-add, and for each
question question-text-0, question-kind-0, question-values-0, question-low-0, question-high-0, question-steps-0,
question-wants-0, question-remove-0; collect-preview, collect-make, collect-protocols; collect-state, collect-reports,
collect-toggle, collect-link, collect-copy, collect-qr, collect-estimate, collect-figures, collect-release,
collect-open, collect-csv.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nicegui import ui

from discreet.core.exact import equation
from discreet.core.markup import Markup, markup, tag
from discreet.curator.people.person import Person, Role
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import explain, theme
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import release_buttons
from discreet.service.operations.surveys import LONGEST_TEXT, LONGEST_TITLE, SurveyView

if TYPE_CHECKING:
    from discreet.verbs.collect.survey.question import Question
    from discreet.verbs.collect.survey.results import SurveyFigure, SurveyResults
    from discreet.verbs.collect.survey.survey import Survey

_TERMS = ("Local differential privacy", "Epsilon (ε)", "Error bar")
_ABOUT = (
    "Ask people questions whose answers are randomised in their own browsers. No one, you included, sees an answer."
)
_NEW = ""
_KINDS = {"yes/no": "Yes or no", "choice": "Choice", "number": "Number"}
_WANTS = {"distribution": "Distribution", "mean": "Mean alone"}
_POLL_SECONDS = 2.0
"""Polling interval of the number of reports, seconds."""
_QR_BORDER = 4
"""Width of a QR code's quiet zone, modules."""


async def _build(seat: Seat) -> None:
    surveys = await seat.call(seat.desk.surveys.all)
    with theme.page("Collect", _ABOUT, _TERMS):
        labels = {one.id: f"{one.survey.title} ({one.id[:4]})" for one in surveys}
        wanted = seat.given.get("survey", _NEW)
        chosen = wanted if wanted in labels else _NEW

        async def show(id: str) -> None:
            room.clear()
            with room:
                if id == _NEW:
                    _NewSurvey(seat)
                    return
                try:
                    await _Shown(seat, await seat.call(seat.desk.surveys.find, id)).begin()
                except DiscreetError as error:
                    theme.refusal(error)

        if labels:
            options = {_NEW: "New survey"} | labels
            theme.select(options, "Survey", "collect-survey", value=chosen, on_change=lambda event: show(event.value))
        room = ui.element("div").classes("dc-stack")
        await show(chosen)


PAGE = Page("/collect", "Collect", "how_to_vote", (Role.STEWARD,), 46, _build)


# A new survey


class _NewSurvey:
    """The form of a survey, with its questions as rows."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        with theme.card("New survey"):
            self._title = theme.text("Title", "collect-title", width="dc-full", props=f"maxlength={LONGEST_TITLE}")
            self._about = theme.text(
                "Introduction for respondents (optional)",
                "collect-about",
                width="dc-full",
                props=f"maxlength={LONGEST_TEXT}",
            )
            with theme.row():
                self._epsilon = theme.text("Epsilon (ε) per person", "collect-epsilon", width="dc-short", value="2")
                self._people = theme.figure(
                    "People expected", "collect-people", width="dc-short", value=200, min=1, step=1, precision=0
                )
            theme.promise(explain.LOCAL, "What does epsilon promise to a respondent?")
        with theme.card("Questions", note="All questions together lose at most ε."):
            self._place = ui.element("div").classes("dc-stack")
            self._rows: dict[int, _QuestionRow] = {}
            self._count = 0
            theme.button("Add a question", "question-add", self._add, icon="add", look="flat dense").classes("dc-own")
            self._add()
        with theme.row():
            theme.button("Make the survey", "collect-make", self._make, icon="how_to_vote", look="unelevated")
            theme.button("Preview", "collect-preview", self._preview, icon="visibility", look="outline")
            ui.label("No one can answer it before you open it.").classes("dc-soft")
        self._shown = ui.element("div").classes("dc-stack").props("aria-live=polite")

    def _add(self) -> None:
        number, self._count = self._count, self._count + 1

        def remove() -> None:
            del self._rows[number]
            row.room.delete()

        with self._place:
            row = self._rows[number] = _QuestionRow(number, remove)

    def _survey(self) -> Survey:
        """The survey as it is written; protocols are chosen here, which may take a moment."""
        from discreet.core.exact import exact
        from discreet.verbs.collect.survey.survey import Survey, better_share

        questions = tuple(row.question(number) for number, row in enumerate(self._rows.values(), 1))
        epsilon, people = exact(theme.said_in(self._epsilon), "epsilon"), int(self._people.value or 0)
        made = Survey(theme.said_in(self._title), epsilon, "split", people, questions, theme.said_in(self._about))
        made = replace(made, share=better_share(made)[0])
        _ = made.protocols  # what cannot be asked is said here
        return made

    async def _preview(self) -> None:
        self._shown.clear()
        try:
            survey = await self._seat.work(lambda _: self._survey())
        except DiscreetError as error:
            with self._shown:
                theme.refusal(error)
            return
        with self._shown, theme.card("Protocols", testid="collect-protocols"):
            _protocols(survey)

    async def _make(self) -> None:
        self._shown.clear()
        try:
            view = await self._seat.work(lambda who: self._seat.desk.surveys.make(who, self._survey()))
        except DiscreetError as error:
            with self._shown:
                theme.refusal(error)
            return
        ui.navigate.to(f"/collect?survey={view.id}")


class _QuestionRow:
    """One question: its text, its kind, and its possible answers."""

    def __init__(self, number: int, remove: Any) -> None:
        with ui.element("div").classes("dc-rule") as self.room:
            with theme.row():
                self._text = theme.text("Question", f"question-text-{number}", props=f"maxlength={LONGEST_TEXT}")
                self._kind = theme.select(
                    _KINDS, "Kind", f"question-kind-{number}", width="dc-short", on_change=self._show
                )
                away = ui.button(icon="delete_outline", on_click=remove).props("flat round dense")
                theme.marked(away, f"question-remove-{number}", f"Remove question {number + 1}")
            self._values = theme.text(
                "Answers, separated by |", f"question-values-{number}", placeholder="yes | no | maybe"
            )
            with theme.row() as self._numbers:
                self._low = theme.text("From", f"question-low-{number}", width="dc-short", value="0")
                self._high = theme.text("To", f"question-high-{number}", width="dc-short", value="10")
                self._steps = theme.figure(
                    "Steps", f"question-steps-{number}", width="dc-short", value=10, min=1, step=1
                )
                self._wants = theme.select(_WANTS, "Estimate", f"question-wants-{number}", width="dc-short")
        self._show()

    def question(self, number: int) -> Question:
        """The question as it is written; the first words of its text are its name."""
        from discreet.verbs.collect.numbers.grid import NumberGrid
        from discreet.verbs.collect.survey.question import Question

        text, kind = theme.said_in(self._text), self._kind.value
        if not text:
            raise BadInput(f"Question {number} is empty.", hint="Write it, or remove it.")
        name = question_name(text, number)
        if kind == "choice":
            values = tuple(part.strip() for part in theme.said_in(self._values).split("|") if part.strip())
            if len(values) < 2:
                raise BadInput(f"Question {number} has fewer than two answers.", hint="Separate answers by |.")
            return Question(name, text, kind, values)
        if kind == "number":
            grid = NumberGrid(theme.said_in(self._low), theme.said_in(self._high), int(self._steps.value or 0))
            return Question(name, text, kind, grid=grid, wants=self._wants.value)
        return Question(name, text, kind)

    def _show(self) -> None:
        self._values.set_visibility(self._kind.value == "choice")
        self._numbers.set_visibility(self._kind.value == "number")


def question_name(text: str, number: int) -> str:
    """A name for a question: the first words of its text, and its number."""
    words = re.findall("[a-z0-9]+", text.lower())[:3]
    return "_".join(["q" + str(number), *words])[:40]


def _protocols(survey: Survey) -> None:
    """How each question is asked, what it loses, and how far off its figures will be."""
    from discreet.verbs.collect.survey.question import expected_error
    from discreet.verbs.collect.survey.survey import better_share

    rows = []
    for one in survey.protocols:
        off = expected_error(one.mechanism, survey.people_per_question)
        loss = equation("ε", one.mechanism.epsilon)
        rows.append((one.question.text, _KINDS[one.question.kind], one.mechanism.name, loss, f"{off:.1%}"))
    theme.grid(["Question", "Kind", "Protocol", "Loss", "Expected error"], rows, numbers=(4,))
    theme.prose(f"Expected errors are standard deviations with {survey.people:,} people.", soft=True).classes(
        "dc-small"
    )
    theme.promise(better_share(survey)[1], "How is epsilon shared among questions?")


# A survey that was made


class _Shown:
    """A survey: its link, its reports as they come, and estimates."""

    def __init__(self, seat: Seat, view: SurveyView) -> None:
        self._seat, self._view = seat, view

    async def begin(self) -> None:
        """Draw it, and look for new reports from time to time."""
        survey = self._view.survey
        with theme.columns():
            with theme.card(survey.title, note=equation("ε", survey.loss.epsilon)):
                with theme.row():
                    self._state = ui.label().props("data-testid=collect-state")
                    self._reports = (
                        ui.label().classes("dc-strong").props("data-testid=collect-reports aria-live=polite")
                    )
                    self._toggle = theme.button("", "collect-toggle", self._open_or_close, look="unelevated")
                self._link()
            with theme.card("QR code", note="Leads to the survey."):
                ui.html(qr_code(self._address), sanitize=False).props("data-testid=collect-qr").classes("dc-qr")
        with theme.card("Estimates", testid="collect-estimates"):
            theme.prose(
                "Estimated shares and means of the answers, with intervals: reports are randomised, so estimates are "
                "not exact.",
                soft=True,
            )
            estimate = theme.button("Estimate", "collect-estimate", self._estimate, icon="query_stats", look="outline")
            estimate.classes("dc-own")
            self._figures = ui.element("div").classes("dc-stack").props("aria-live=polite")
        with theme.card("Questions"):
            _protocols(survey)
        self._show()
        self._timer = ui.timer(_POLL_SECONDS, self._look)

    @property
    def _address(self) -> str:
        """Address of the survey, as the browser calls the service."""
        request = ui.context.client.request
        assert request is not None  # noqa: S101  # a page is always asked for
        return f"{request.base_url}s/{self._view.id}/"

    def _link(self) -> None:
        with theme.row():
            address = self._address
            ui.link(address, address, new_tab=True).props("data-testid=collect-link").classes("dc-code dc-address")

            def copied() -> None:
                ui.clipboard.write(address)
                self._seat.say("Copied.")

            theme.button("Copy", "collect-copy", copied, icon="content_copy", look="outline dense")
        if urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1"):
            theme.prose(
                "This address works on this computer only. For others to answer, start the service with --host, --name "
                "and a certificate.",
                soft=True,
            ).classes("dc-small")
        theme.prose(
            "There are no one-time codes: anyone who has the link can answer more than once.", soft=True
        ).classes("dc-small")

    def _show(self) -> None:
        view = self._view
        self._state.set_text("open" if view.open else "closed")
        self._state.classes(replace=f"dc-badge dc-{'good' if view.open else 'plain'}")
        self._reports.set_text(f"{view.reports:,} {'report' if view.reports == 1 else 'reports'}")
        self._toggle.set_text("Close the survey" if view.open else "Open the survey")

    async def _look(self) -> None:
        try:
            self._view = await self._seat.poll(self._seat.desk.surveys.find, self._view.id)
        except DiscreetError as error:
            self._timer.cancel()
            self._seat.tell(error)
            return
        self._show()

    async def _open_or_close(self) -> None:
        if await self._seat.did(self._seat.desk.surveys.set_open, self._view.id, open=not self._view.open):
            await self._look()

    async def _estimate(self) -> None:
        self._figures.clear()
        try:
            found, promise = await self._seat.work(self._estimated)
        except DiscreetError as error:
            with self._figures:
                theme.refusal(error)
            return
        with self._figures:
            draw_figures(found)
            for name, alarm in found.alarms:
                theme.refusal(BadInput(f"Alarm about {name}: {alarm}", hint="Reports may have been made up."))
            theme.promise(promise, "What was promised to respondents?")
            with theme.row():
                theme.button(
                    "Release these figures", "collect-release", self._release, icon="ios_share", look="unelevated"
                )
            self._released = theme.row()

    def _estimated(self, who: Person) -> tuple[SurveyResults, str]:
        found = self._seat.desk.surveys.estimates(who, self._view.id)
        return found, theme.statement(str(found.survey.statement(found.people, codes=found.codes)))

    async def _release(self) -> None:
        try:
            name = await self._seat.work(self._seat.desk.surveys.release, self._view.id)
        except DiscreetError as error:
            self._seat.tell(error)
            return
        self._released.clear()
        with self._released:
            release_buttons(name, "collect")
            ui.label("Only you have this release; share it on its page.").classes("dc-soft")


def draw_figures(found: SurveyResults) -> None:
    """Estimates of each question: shares as bars with intervals, means and quantiles as figures."""
    figures = found.figures
    theme.prose(
        f"{found.people:,} people took part. Each interval contains the true figure with probability "
        f"{found.confidence:.0%}."
    )
    if any(each.kind == "share" and not 0 <= each.estimate <= 1 for each in figures):
        theme.prose(
            "Estimates are unbiased, so that with few reports some lie below 0% or above 100%.", soft=True
        ).classes("dc-small")
    for one in found.tallies:
        mine = [each for each in figures if each.question == one.protocol.name]
        shares = [each for each in mine if each.kind == "share"]
        with ui.element("div").classes("dc-rule").props("data-testid=collect-figures"):
            ui.label(one.protocol.question.text).classes("dc-strong")
            if shares:
                ui.html(_bars(shares), sanitize=False).classes("dc-full")
            others = [each for each in mine if each.kind != "share"]
            if others:
                theme.facts([(each.figure, _interval(each)) for each in others])


def _bars(shares: Sequence[SurveyFigure]) -> Markup:
    """A bar for each share, with its interval as a line; the whole width is 100 %."""
    rows = []
    for each in shares:
        low, high, share = (100 * min(max(value, 0.0), 1.0) for value in (each.low, each.high, each.estimate))
        said = f"{each.figure}: {_interval(each)}"
        bar = tag("i", class_="dc-figure", style=f"width:{share:.2f}%")
        line = tag("b", style=f"left:{low:.2f}%;width:{high - low:.2f}%")
        hit = tag("div", bar, line, class_="dc-hit", role="img", aria_label=said, title=said)
        rows += [tag("span", each.figure), hit, tag("span", _interval(each))]
    return markup(tag("div", rows, class_="dc-hits"))


def _interval(each: SurveyFigure) -> str:
    """A figure with its interval; a share cannot be below 0 or above 1, whatever its estimate."""
    if each.kind == "share":
        low, high = (min(max(value, 0.0), 1.0) for value in (each.low, each.high))
        return f"{each.estimate:.1%} ({low:.1%} to {high:.1%})"
    return f"{each.estimate:,.4g} ({each.low:,.4g} to {each.high:,.4g})"


def qr_code(address: str) -> Markup:
    """A QR code as SVG, black on white in light and dark, since not every camera reads others."""
    import segno

    rows = [list(row) for row in segno.make(address, micro=False).matrix_iter(border=_QR_BORDER)]
    dark = " ".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, bit in enumerate(row) if bit)
    size = len(rows)
    ground = tag("rect", width=size, height=size, fill="#fff")
    code = tag("path", d=dark, fill="#000", shape_rendering="crispEdges")
    about = f"QR code of {address}"
    return tag("svg", ground, code, viewBox=f"0 0 {size} {size}", role="img", aria_label=about, class_="dc-qr-code")
