"""/hide: keep a miner from finding itemsets and rules in a table's transactions.

data-testid: hide-table, hide-columns, hide-items, hide-support, hide-confidence, hide-itemsets, hide-rules, hide-keep,
hide-margin, hide-method, hide-<parameter>, hide-text, hide-title, hide-start; job-hide, job-open-<id>; hide-result,
hide-open, hide-csv, hide-holder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from discreet.core.card import Card
from discreet.core.families import HIDING
from discreet.core.kind import Kind
from discreet.curator.people.person import Role
from discreet.errors import BadInput
from discreet.service.console import explain, theme
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, by_table, listed
from discreet.service.console.methods import MethodForm
from discreet.service.jobs.checks import item_columns
from discreet.service.jobs.job import Job
from discreet.service.jobs.specs import Hide

_ABOUT = (
    "Keep whoever mines transactions from finding what you name. It protects secrets of yours, and nobody's privacy."
)
_SHOWN = 3


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        return _Form(seat, table, card, jobs).box

    with theme.page("Hide", _ABOUT):
        await by_table(seat, "Transactions of", Hide.kind, drawn)


PAGE = Page("/hide", "Hide", "visibility_off", (Role.STEWARD,), 45, _build)


def usual(card: Card) -> list[str]:
    """The columns whose values are few and declared: good items."""
    return [name for name in item_columns(card) if card[name].categories or card[name].kind is Kind.BOOLEAN]


def items(card: Card, columns: Sequence[str]) -> str:
    """What a transaction is, and how its items are written, with a few that the card declares."""
    whose = "Each row is a transaction" if card.unit is None else f"All rows of one {card.unit} are a transaction"
    bare = card.unit is not None and len(columns) == 1
    shown: list[str] = []
    for column in (card[name] for name in columns):
        if column.kind is Kind.BOOLEAN and not bare:
            shown.append(column.name)
            continue
        values = column.categories[:1] if column.categories and not bare else column.categories or ("…",)
        shown += [str(value) if bare else f"{column.name}={value}" for value in values]
    more = ", …" if len(shown) > _SHOWN else ""
    return f"{whose}. Its items are written: {', '.join(shown[:_SHOWN])}{more}" if shown else f"{whose}."


class _Form:
    """The choices for one table, and what was made of them."""

    def __init__(self, seat: Seat, table: str, card: Card, before: Sequence[Job]) -> None:
        self._seat, self._table, self._card = seat, table, card
        self._draw_transactions()
        self._draw_secrets()
        self._draw_method()
        with theme.row():
            start = ui.button("Hide", icon="visibility_off", on_click=lambda: self.box.start(self._spec))
            start.props("unelevated data-testid=hide-start")
            ui.label("You see what came of it before anybody else does.").classes("dc-soft")
        self.box: JobBox = JobBox(seat, "Hiding", self._show)
        if before:
            with theme.card("Earlier jobs"):
                listed(before, self.box.follow, _titled)

    def _draw_transactions(self) -> None:
        with theme.card("The transactions", note="Only these columns leave."):
            self._columns = ui.select(
                item_columns(self._card),
                value=usual(self._card),
                label="Columns that items are made of",
                multiple=True,
                on_change=self._show_items,
            )
            self._columns.props("outlined dense options-dense use-chips data-testid=hide-columns")
            self._items = ui.label().classes("dc-prose dc-soft").props("data-testid=hide-items")
            self._show_items()

    def _show_items(self) -> None:
        self._items.set_text(items(self._card, self._columns.value))

    def _draw_secrets(self) -> None:
        with theme.card("What a miner must not find", note="Secrets stay with you: the release does not tell them."):
            with theme.row():
                self._support = ui.input("The miner's support: 2%, or a number", value="2%").classes("dc-mid")
                self._support.props("outlined dense data-testid=hide-support")
                self._confidence = ui.input("The miner's confidence, for rules", value="60%").classes("dc-mid")
                self._confidence.props("outlined dense data-testid=hide-confidence")
            self._itemsets = _lines("Secret itemsets, one in each line, such as: sex=F, ward=north", "hide-itemsets")
            self._rules = _lines("Secret rules, one in each line, such as: sex=F => ward=north", "hide-rules")
            with ui.expansion("More choices").classes("dc-more"), ui.element("div").classes("dc-stack"):
                self._keep = _lines("Itemsets that must stay frequent, one in each line", "hide-keep")
                self._margin = ui.input("Margin: so much below the thresholds", value="0%").classes("dc-mid")
                self._margin.props("outlined dense data-testid=hide-margin")
                theme.prose(
                    "A secret may have thresholds of its own, behind a semicolon: sex=F, ward=north; support=1%.",
                    soft=True,
                ).classes("dc-small")

    def _draw_method(self) -> None:
        with theme.card("How to hide them"):
            self._method = MethodForm((HIDING,), "hide")
            self._title = ui.input("Title, if you like").classes("dc-mid")
            self._title.props("outlined dense maxlength=120 data-testid=hide-title")
            theme.promise(explain.HIDE)

    def _spec(self) -> Hide:
        if not self._columns.value:
            raise BadInput("What are transactions made of?", hint="Choose at least one column.")
        return Hide(
            self._table,
            _said(self._support),
            _said(self._confidence) or None,
            _each(self._itemsets),
            _each(self._rules),
            tuple(self._columns.value),
            self._method.written,
            _each(self._keep),
            _said(self._margin) or "0",
            _said(self._title),
        )

    async def _show(self, job: Job) -> None:
        found = await self._seat.run(self._seat.desk.job_result, job.id)
        self.box.made.clear()
        if found is not None and job.result is not None:
            with self.box.made:
                _result(found, job.id, job.result)


def _result(found: Mapping[str, Any], job: str, release: str) -> None:
    """The secrets before and after, and what else was lost."""
    with theme.card(found["title"]) as box:
        box.props("data-testid=hide-result")
        with theme.row():
            theme.badge("for you alone", "bad")
            ui.label("Neither the secrets nor what was lost is told by the release.").classes("dc-soft dc-small")
        heads = ["secret", "before", "after", "hidden below"]
        rows = [[one["secret"], one["before"], one["after"], one["hidden_below"]] for one in found["secrets"]]
        theme.grid(heads, rows, numbers=(1, 2, 3))
        theme.facts([(one["name"], one["told"]) for one in found["facts"]])
        for name, title in (("lost", "that are lost"), ("appeared", "that were not there before")):
            for what, some in found[name].items():
                if some:
                    with ui.expansion(f"Other {what} {title}").classes("dc-more"):
                        for one in some:
                            theme.prose(one)
        theme.prose(theme.statement(found["promise"]))
        with theme.row():
            opened = ui.button("Open the release", icon="description").props("unelevated data-testid=hide-open")
            opened.on_click(lambda: ui.navigate.to(f"/release/{release}"))
            csv = ui.button("CSV", icon="download").props("outline data-testid=hide-csv")
            csv.on_click(lambda: ui.download.from_url(f"/v1/releases/{release}/rows.csv"))
            holder = ui.button("The page for you alone", icon="lock").props("flat data-testid=hide-holder")
            holder.on_click(lambda: ui.download.from_url(f"/v1/jobs/{job}/papers/holder.html", "holder.html"))


def _titled(job: Job) -> str:
    """What a job was to hide, in a few words."""
    return job.spec["title"] or "; ".join([*job.spec["itemsets"], *job.spec["rules"]])


def _lines(label: str, testid: str) -> ui.textarea:
    return ui.textarea(label).props(f"outlined autogrow rows=2 data-testid={testid}").classes("dc-code")


def _said(box: ui.input) -> str:
    return (box.value or "").strip()


def _each(box: ui.textarea) -> tuple[str, ...]:
    """What is in each line that is not empty."""
    return tuple(line.strip() for line in (box.value or "").splitlines() if line.strip())
