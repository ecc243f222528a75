"""/ask: a question that is built or written in SQL, its price and expected error, and its answer.

The price is shown while one chooses or types, and nothing is charged for it. What is not asked yet survives leaving the
page.

data-testid: ask-pin, ask-example-<n>, ask-mode, ask-epsilon, ask-error, ask-expect, ask-delta, ask-rows,
ask-price, ask-columns, ask-problem, ask-run, ask-result, ask-asked, ask-cost, ask-history, ask-again-<n>, ask-refused,
ask-instead, ask-people; those of ``question_editor``, ``saved_view`` and ``pinned_view``.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from discreet.core.exact import rounded
from discreet.core.loss import Loss
from discreet.core.release import Release
from discreet.curator.answer import ON_SYNTHETIC, Answer, is_synthetic
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import Shelved
from discreet.curator.saved_questions import SavedQuestion
from discreet.errors import BadInput, BudgetExceeded, DiscreetError, NotSignedIn
from discreet.service.console import answer_view, draft, explain, price_view, question_builder, suggest, theme
from discreet.service.console.draft import BUILD, MOST_PINNED, SQL, Draft
from discreet.service.console.frame import Page, Seat
from discreet.service.console.pinned_view import PinnedAnswers
from discreet.service.console.price_view import Offer
from discreet.service.console.question_builder import Choices
from discreet.service.console.question_editor import QuestionEditor
from discreet.service.console.releases import latest, when
from discreet.service.console.saved_view import SavedQuestionsView
from discreet.service.operations.operations import Operations
from discreet.service.views import BudgetView, Spend, TableView
from discreet.verbs.ask.price import Quote

_TERMS = ("Epsilon (ε)", "Delta (δ)", "Privacy budget", "Error bar", "Synthetic stand-in")
_PAUSE = 0.3
_HISTORY = 8
_IDEAS = 8
_WORKING = "Working out the price …"
_CLICKED = "(event) => emit(Number(event.currentTarget.dataset.offer))"
"""A click says which offer the button showed: the next one may be on its way already."""


async def _build(seat: Seat) -> None:
    tables, budgets = await seat.call(_found, seat.desk)
    about = "Ask about groups of people. You see the price and the expected error before you pay."
    with theme.page("Ask", about, _TERMS):
        if tables:
            _Asking(seat, tables, budgets).build()
        elif seat.who.role is Role.STEWARD:
            theme.empty("There is no table that you may ask. Stewards need a budget too: give yourself one.")
            ui.link("Give yourself a budget on the People page", "/people").props("data-testid=ask-people")
        else:
            theme.empty("There is no table that you may ask. A steward can give you a budget for one.")


PAGE = Page("/ask", "Ask", "forum", (Role.ANALYST, Role.STEWARD), 10, _build)


def _found(who: Person, desk: Operations) -> tuple[list[TableView], list[BudgetView]]:
    """The tables that someone may ask, and the budgets on each: their own, and what all together may spend."""
    tables = [view for view in desk.tables(who) if view.left is not None or view.public]
    asked = [view.name for view in tables if view.left is not None]
    budgets = [one for one in desk.budgets.accounts(who) if one.table in asked and one.analyst in (who.name, None)]
    return (tables, sorted(budgets, key=lambda one: one.analyst is None)) if asked else ([], [])


def _history(who: Person, desk: Operations) -> list[tuple[Shelved, str]]:
    """Someone's latest answers, each with its question."""
    return [(one, question) for one, question in latest(who, desk, kind="answer", most=_HISTORY) if question]


class _Asking:
    """A visit to the page: what was chosen and typed, and what is shown."""

    def __init__(self, seat: Seat, tables: list[TableView], budgets: list[BudgetView]) -> None:
        self._seat = seat
        self._tables = tables
        self._budgets = budgets
        self._turn = 0
        self._numbers = itertools.count(1)
        self._offer: Offer | None = None
        """What is shown, and can be asked."""
        self._editor = QuestionEditor(tables, self._changed)
        self._saved = SavedQuestionsView(seat, self._open_saved)
        self._pins = PinnedAnswers(self._keep)

    def build(self) -> None:
        chosen = self._seat.given.get("table")
        first = next((view for view in self._tables if view.name == chosen and view.left is not None), None)
        first = first or next(view for view in self._tables if view.left is not None)
        others = [view for view in self._tables if view is not first and view.left is not None]
        ideas = [one for view in (first, *others) for one in question_builder.examples(view.name, view.card)][:_IDEAS]
        if audited := [view.name for view in self._tables if view.audited]:
            theme.prose(
                f"Audited: {', '.join(audited)}. It is answered exactly or not at all, never with noise: "
                "not on this page, but by POST /v1/ask/audited, or ask_audited in a notebook."
            ).props("data-testid=ask-audited")
        # inert until the draft is back, which would replace what someone typed before
        with ui.element("div").classes("dc-side dc-ask").props("inert") as self._form:
            with ui.element("div").classes("dc-stack"):
                self._question(ideas)
                self._result = (
                    ui.element("div").classes("dc-stack dc-third").props("data-testid=ask-result aria-live=polite")
                )
            with ui.element("div").classes("dc-stack"):
                self._cost()
                self._saved.build()
                with theme.card("Asked before", note="free to open again") as card:
                    card.classes("dc-fourth").props("data-testid=ask-history")
                    self._past = ui.element("div").classes("dc-list")
        self._pins.build()
        ui.on(draft.EVENT, self._restore)
        ui.run_javascript(self._editor.keys(self._button) + draft.read(self._seat.who.name))
        ui.timer(0, self._begin, once=True)

    async def _begin(self) -> None:
        """What may take a moment, once the page is there."""
        await self._price()
        await self._remember()
        await self._saved.show()

    def _question(self, ideas: list[tuple[str, Choices]]) -> None:
        with theme.card() as card:
            card.classes("dc-first")
            self._editor.build(ideas[0][1], self._save)
            self._problem = ui.element("div").props("data-testid=ask-problem aria-live=polite").classes("dc-stack")
            with theme.row().classes("dc-chips").props('role=group aria-label="Examples"'):
                for place, (title, choices) in enumerate(ideas):
                    chip = ui.element("button").classes("dc-chip").props(f"type=button data-testid=ask-example-{place}")
                    with chip.on("click", lambda _, choices=choices: self._editor.example(choices)):
                        ui.label(title)
            with ui.expansion("Tables and columns").classes("dc-more").props("dense data-testid=ask-columns"):
                for view in self._tables:
                    ui.label(view.name).classes("dc-strong")
                    theme.grid(["Column", "Kind", "What may be assumed"], suggest.columns(view.card))

    # Drafts and saved questions

    @property
    def _boxes(self) -> dict[str, ui.input | ui.toggle]:
        """The fields of the price, by the names that drafts have for them."""
        boxes = (self._mode, self._epsilon, self._error, self._expect, self._delta, self._rows)
        return dict(zip(draft.FIELDS, boxes, strict=True))

    def _keep(self) -> None:
        """Have the browser keep what is here, for when someone comes back."""
        fields = {name: str(box.value or "") for name, box in self._boxes.items()}
        pinned, view = tuple(self._pins.identities), BUILD if self._editor.is_built else SQL
        kept = Draft(view, self._editor.written, self._editor.choices, fields, pinned)
        ui.run_javascript(kept.keep(self._seat.who.name))

    async def _restore(self, event: Any) -> None:
        """Put back what the browser kept, as far as it still fits; from then on the page can be used."""
        sent = event.args if isinstance(event.args, dict) else {}
        pinned: tuple[str, ...] = ()
        try:
            kept = Draft.from_json(sent.get("kept"))
        except BadInput:
            self._editor.show(str(sent.get("view")))
        else:
            for name, box in self._boxes.items():
                box.set_value(kept.fields[name])
            self._editor.restore(kept.view, kept.sql, kept.choices)
            pinned = kept.pinned
        self._form.props(remove="inert")
        for identity in pinned:
            release: Release[Any] | None = await self._seat.run(self._seat.desk.release, identity)
            if release is not None:
                self._pins.pin(release, identity)

    async def _save(self) -> None:
        sql, choices = self._editor.text.strip(), self._editor.choices
        name, kept = " ".join(sql.split())[:80], ""
        if self._editor.is_built:
            name, kept = question_builder.title_of(choices), json.dumps(choices.to_dict())
        await self._saved.save(name, sql, theme.said_in(self._epsilon), theme.said_in(self._delta), kept)

    def _open_saved(self, one: SavedQuestion) -> None:
        """Put a saved question back, at its price."""
        self._mode.set_value("epsilon")
        self._epsilon.set_value(one.epsilon)
        if one.delta:
            self._delta.set_value(one.delta)
        try:
            is_put = self._editor.put(Choices.from_dict(json.loads(one.choices)))
        except (BadInput, ValueError):
            is_put = False
        if not is_put:
            self._editor.write(one.question)

    # The price

    def _cost(self) -> None:
        with theme.card("What it costs") as card:
            card.classes("dc-second")
            self._mode = ui.toggle(draft.MODES, value="epsilon", on_change=self._changed)
            self._mode.props('unelevated spread no-caps data-testid=ask-mode aria-label="How to choose the price"')
            self._epsilon = self._field("Epsilon (ε) to spend", "ask-epsilon", "0.1")
            self._error = self._field("Largest error of a figure", "ask-error", "50", hint="Such as 50, or 5%")
            self._expect = self._field("Expected size of a figure", "ask-expect", "1000")
            self._proposed = price_view.usual_delta(self._mentioned())
            self._delta = self._field("Delta (δ): chance of showing a rare group", "ask-delta", self._proposed)
            self._epsilon.bind_visibility_from(self._mode, "value", value="epsilon")
            self._error.bind_visibility_from(self._mode, "value", value="error")
            self._expect.set_visibility(False)
            self._delta.set_visibility(False)
            self._price_place = ui.element("div").props("data-testid=ask-price aria-live=polite").classes("dc-price")
            hint = "A guess: enter your own"
            self._rows = self._field("Rows you expect behind an average", "ask-rows", price_view.GUESS, hint=hint)
            self._rows.set_visibility(False)
            self._button = ui.button(_WORKING).props("unelevated data-testid=ask-run").classes("dc-full")
            self._button.on("click", lambda event: self._ask(event.args), js_handler=_CLICKED).disable()
            self._meaning = ui.element("div").classes("dc-stack")

    def _field(self, label: str, testid: str, value: str, *, hint: str = "") -> ui.input:
        made = ui.input(label, value=value, on_change=self._changed).props(f"outlined dense data-testid={testid}")
        return made.props(f'hint="{hint}"').classes("dc-full") if hint else made.classes("dc-full")

    async def _changed(self) -> None:
        """What was offered holds no longer; the new price is worked out once no one has typed for a moment."""
        self._keep()
        self._turn += 1
        turn = self._turn
        self._offer = None
        self._button.set_text(_WORKING)
        self._button.disable()
        await asyncio.sleep(_PAUSE)
        if turn == self._turn:
            await self._price()

    async def _price(self) -> None:
        turn = self._turn
        self._propose()
        self._expect.set_visibility(self._mode.value == "error" and "%" in self._error.value)
        offer: Offer | None = None
        problem: DiscreetError | None = None
        try:
            offer = await self._seat.work(self._offered, next(self._numbers))
        except DiscreetError as error:
            problem = error
        if turn != self._turn:
            return  # something else was typed meanwhile
        self._offer = offer
        self._problem.clear()
        self._price_place.clear()
        if isinstance(problem, NotSignedIn):
            self._seat.tell(problem)
        elif problem is not None:
            with self._problem:
                theme.refusal(_for_page(problem))
            with self._price_place:
                theme.badge("no price yet", "warn").classes("dc-own")
                theme.prose("Fix the error shown below your question.", soft=True)
        if offer is not None and not price_view.is_covered(offer.quote, self._mentioned()):
            self._offer = None
        self._button.set_text("Ask" if offer is None else _says(offer.quote))
        self._button.set_enabled(self._offer is not None)
        if offer is not None:
            self._button.props(f"data-offer={offer.number}")
            self._show(offer)

    def _propose(self) -> None:
        """Another delta for other tables, unless someone has chosen one."""
        usual = price_view.usual_delta(self._mentioned())
        if self._delta.value == self._proposed != usual:
            self._proposed = usual
            self._delta.set_value(usual)

    def _show(self, offer: Offer) -> None:
        self._delta.set_visibility(theme.delta_of(offer.quote.loss) > 0)
        self._rows.set_visibility(bool(offer.worst))
        who, strangers = self._seat.who, suggest.strangers(offer.sql, self._tables)
        with self._price_place:
            steward = who.role is Role.STEWARD
            price_view.show(offer, self._mentioned(), name=who.name, steward=steward, strangers=strangers)
        self._meaning.clear()
        with self._meaning:
            theme.promise(explain.epsilon(str(offer.spend.epsilon)))
            if self._delta.visible:
                theme.promise(explain.DELTA, "What does delta promise?")

    def _offered(self, who: Person, number: int) -> Offer:
        """The price of what is typed."""
        sql, delta = self._editor.sql, self._delta.value.strip() or "0"
        rows = price_view.rows_in(self._rows.value)
        if self._mode.value == "epsilon":
            epsilon = self._epsilon.value.strip()
        else:
            error, expect = self._error.value.strip(), self._expect.value.strip() or None
            found = self._seat.desk.epsilon_for(who, sql, error, delta=delta, expect=expect, rows=rows)
            epsilon = str(float(found))
        spend = Spend(epsilon=epsilon, delta=delta)
        return price_view.offered(who, self._seat.desk, sql, spend, rows=rows, number=number)

    def _mentioned(self) -> list[BudgetView]:
        """The budgets that the question would take from."""
        named = suggest.mentioned(self._editor.text, [view.name for view in self._tables])
        return [view for view in self._budgets if view.table in named]

    async def _ask(self, number: int) -> None:
        """Ask what the button said when it was pressed, at the price that it said; once."""
        offer = self._offer
        if offer is None or offer.number != number:
            return
        self._turn += 1  # a price that is still being worked out is for nothing
        turn = self._turn
        self._offer = None
        self._button.props("loading").disable()
        try:
            answer = await self._seat.answer(offer.sql, offer.spend)
        except DiscreetError as error:
            self._offer = offer if turn == self._turn else self._offer
            if isinstance(error, BudgetExceeded):
                await self._refused(error, offer.sql)
            else:
                self._seat.tell(error)
        else:
            self._answer(answer, offer.sql)
            await self._renew()
        finally:
            self._button.props(remove="loading").set_enabled(self._offer is not None)

    def _answer(self, answer: Answer, question: str) -> None:
        with self._shown("A synthetic answer" if answer.synthetic else "The answer", question):
            ui.label(answer.cost).classes("dc-soft").props("data-testid=ask-cost")
            self._offer_pin(answer.release, answer.identity)
            answer_view.show(answer.release, answer.identity)

    def _offer_pin(self, release: Release[Any], identity: str) -> None:
        theme.button(
            "Pin beside others",
            "ask-pin",
            lambda: self._pin(release, identity),
            icon="push_pin",
            look="flat dense no-caps",
        ).classes("dc-own")

    def _pin(self, release: Release[Any], identity: str) -> None:
        if self._pins.is_full:
            self._seat.tell(BadInput(f"{MOST_PINNED} answers are pinned.", hint="Unpin one first."))
            return
        self._pins.pin(release, identity)

    @contextmanager
    def _shown(self, title: str, question: str) -> Iterator[ui.element]:
        """A card in the place of the answer, brought into sight. It names its question: another may be typed since."""
        self._result.clear()
        with self._result, theme.card(title) as card:
            ui.label(question).classes("dc-code dc-asked").props("data-testid=ask-asked")
            yield card
        ui.run_javascript(f"getHtmlElement({self._result.id}).scrollIntoView({{block: 'nearest'}})")

    async def _refused(self, error: BudgetExceeded, question: str) -> None:
        """The budget does not cover it: what was asked, what is left, what can be done."""
        stand_ins: dict[str, str] = {}
        for table in dict.fromkeys(view.table for view in self._mentioned()):
            found = await self._seat.run(self._seat.desk.instead, table)
            stand_ins |= {table: found} if found else {}
        with self._shown("Not enough is left", question) as card:
            card.props("data-testid=ask-refused")
            theme.refusal(BadInput(error.message))
            theme.facts([("asked for", str(error.asked)), ("left", str(error.left)), ("charged", "nothing")])
            asked, left = error.asked, error.left
            if isinstance(asked, Loss) and isinstance(left, Loss):
                steward = self._seat.who.role is Role.STEWARD
                theme.prose(price_view.advice(asked, left, theme.delta_of(left), steward=steward))
            for table, release in stand_ins.items():
                link = ui.link(
                    f"Use the synthetic stand-in of {table} instead: it costs nothing", f"/release/{release}"
                )
                link.props("data-testid=ask-instead")

    async def _renew(self) -> None:
        found = await self._seat.run(_found, self._seat.desk)
        if found is not None:
            self._tables, self._budgets = found
        await self._price()
        await self._remember()

    async def _remember(self) -> None:
        found = await self._seat.run(_history, self._seat.desk)
        self._past.clear()
        with self._past:
            if not found:
                theme.empty("Your answers will be listed here.")
            for place, (one, question) in enumerate(found or []):
                entry = ui.element("button").classes("dc-link").props(f"type=button data-testid=ask-again-{place}")
                with entry.on("click", lambda _, one=one, question=question: self._again(one, question)):
                    ui.label(question).classes("dc-link-title dc-code")
                    price = "" if one.loss is None else f"{theme.amount(one.loss)} · "
                    price = "synthetic · " if one.method == ON_SYNTHETIC else price
                    ui.label(price + when(one.at) + " UTC").classes("dc-soft dc-small")

    async def _again(self, one: Shelved, question: str) -> None:
        """Open an earlier answer, and put its question back into the editor at its price."""
        release: Release[Any] | None = await self._seat.run(self._seat.desk.release, one.id)
        if release is None:
            return
        self._editor.write(question)
        self._mode.set_value("epsilon")
        loss = None if is_synthetic(release) else release.statement.loss
        if loss is not None and hasattr(loss, "epsilon"):
            self._epsilon.set_value(rounded(loss.epsilon, 6))
        with self._shown("An earlier answer", question):
            ui.label("Answered before, so it is free.").classes("dc-soft").props("data-testid=ask-cost")
            self._offer_pin(release, one.id)
            answer_view.show(release, one.id)


def _says(quote: Quote) -> str:
    if quote.synthetic:
        return "Ask the synthetic stand-in (free)"
    return "Show it again (free)" if quote.answered else f"Ask (costs {theme.amount(quote.loss)})"


def _for_page(error: DiscreetError) -> DiscreetError:
    """An error without the words for programs and commands: here there are boxes."""
    return BadInput(error.message, hint=re.sub(r" \([^()]*--[^()]*\)", "", error.hint))
