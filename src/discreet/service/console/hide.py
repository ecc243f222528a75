"""/hide: hide sensitive itemsets and association rules in transactions.

data-testid: hide-table, hide-columns, hide-items, hide-support, hide-confidence, hide-itemsets, hide-rules, hide-keep,
hide-margin, hide-method, hide-<parameter>, hide-text, hide-title, hide-despite, hide-start; job-hide, job-open-<id>;
hide-result, hide-open, hide-csv, hide-holder.
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
from discreet.service.console.forms import DESPITE, MethodForm
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, choose_table, release_buttons
from discreet.service.jobs.checks import item_columns
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Hide

_TERMS = ("Itemsets and association rules", "Support and confidence")
_ABOUT = (
    "Hide sensitive itemsets and association rules from miners of a table. This protects your secrets, not people's "
    "privacy."
)
_SHOWN = 3


async def _build(seat: Seat) -> None:
    async def drawn(table: str, card: Card, jobs: list[Job]) -> JobBox:
        return _Form(seat, table, card, jobs).box

    with theme.page("Hide", _ABOUT, _TERMS):
        await choose_table(seat, "Table", Hide.kind, drawn)


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
    """The form for one table, and the result."""

    def __init__(self, seat: Seat, table: str, card: Card, before: Sequence[Job]) -> None:
        self._seat, self._table, self._card = seat, table, card
        self._draw_transactions()
        self._draw_secrets()
        self._draw_method()
        with theme.row():
            start = ui.button("Hide", icon="visibility_off", on_click=lambda: self.box.start(self._spec))
            start.props("unelevated data-testid=hide-start")
            ui.label("Only you see the result until you share it.").classes("dc-soft")
        self.box: JobBox = JobBox(seat, "Hiding", draw=_result)
        self.box.earlier("Earlier jobs", before, _titled)

    def _draw_transactions(self) -> None:
        with theme.card("Transactions", note="Only these columns are released."):
            self._columns = theme.select(
                item_columns(self._card),
                "Item columns",
                "hide-columns",
                width="",
                value=usual(self._card),
                multiple=True,
                on_change=self._show_items,
            )
            self._items = ui.label().classes("dc-prose dc-soft").props("data-testid=hide-items")
            self._show_items()

    def _show_items(self) -> None:
        self._items.set_text(items(self._card, self._columns.value))

    def _draw_secrets(self) -> None:
        with theme.card("Secrets", note="They stay with you: the release does not name them."):
            with theme.row():
                self._support = theme.text("Support threshold (2% or a count)", "hide-support", value="2%")
                self._confidence = theme.text("Confidence threshold for rules", "hide-confidence", value="60%")
            self._itemsets = theme.lines("Secret itemsets, one per line, such as: sex=F, ward=north", "hide-itemsets")
            self._rules = theme.lines("Secret rules, one per line, such as: sex=F => ward=north", "hide-rules")
            with ui.expansion("Options").classes("dc-more"), ui.element("div").classes("dc-stack"):
                self._keep = theme.lines("Itemsets that must stay frequent, one per line", "hide-keep")
                self._margin = theme.text("Safety margin below the thresholds", "hide-margin", value="0%")
                theme.prose(
                    "A secret can have its own thresholds after a semicolon: sex=F, ward=north; support=1%.",
                    soft=True,
                ).classes("dc-small")

    def _draw_method(self) -> None:
        with theme.card("Method"):
            self._method = MethodForm((HIDING,), "hide")
            self._title = theme.text("Title (optional)", "hide-title", props="maxlength=120")
            self._despite = theme.text(DESPITE, "hide-despite", props="maxlength=500")
            theme.promise(explain.HIDE)

    def _spec(self) -> Hide:
        if not self._columns.value:
            raise BadInput("No item columns chosen.", hint="Choose at least one column that transactions are made of.")
        return Hide(
            self._table,
            theme.said_in(self._support),
            theme.said_in(self._confidence) or None,
            theme.lines_in(self._itemsets),
            theme.lines_in(self._rules),
            tuple(self._columns.value),
            self._method.written,
            theme.lines_in(self._keep),
            theme.said_in(self._margin) or "0",
            theme.said_in(self._title),
            theme.said_in(self._despite),
        )


def _result(found: Mapping[str, Any], job: Job) -> None:
    """The secrets before and after, and what else was lost."""
    with theme.card(found["title"], testid="hide-result"):
        theme.holder_only("The release names neither the secrets nor the side effects.")
        heads = ["Secret", "Support before", "Support after", "Hidden below"]
        rows = [[one["secret"], one["before"], one["after"], one["hidden_below"]] for one in found["secrets"]]
        theme.grid(heads, rows, numbers=(1, 2, 3))
        theme.facts([(one["name"], one["told"]) for one in found["facts"]])
        for name, title in (("lost", "lost as a side effect"), ("appeared", "that appeared")):
            for what, some in found[name].items():
                if some:
                    with ui.expansion(f"Other {what} {title}").classes("dc-more"):
                        for one in some:
                            theme.prose(one)
        theme.prose(theme.statement(found["promise"]))
        with theme.row():
            release_buttons(str(job.result), "hide", job=job.id)


def _titled(job: Job) -> str:
    """What a job was to hide, in a few words."""
    return job.spec["title"] or "; ".join([*job.spec["itemsets"], *job.spec["rules"]])
