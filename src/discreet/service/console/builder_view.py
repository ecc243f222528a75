"""The question builder as a form: table, filters, figures and groupings, each chosen from what the card declares.

Rows are added and removed one at a time, and a choice changes only what depends on it, so that the keyboard's focus
stays where it is.

data-testid: build-table, build-order, and of each row, counted from 0: build-figure-<n>, build-amount-<n>,
build-group-<n>, build-step-<n>, build-filter-<n>, build-comparison-<n>, build-value-<n>; build-add-figure,
build-add-group, build-add-filter, build-remove-figure-<n>, build-remove-group-<n>, build-remove-filter-<n>.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from nicegui import ui

from discreet.core.card import Card
from discreet.core.kind import MOMENTS, NUMBERS
from discreet.errors import BadInput
from discreet.service.console import explain, theme
from discreet.service.console import question_builder as builder
from discreet.service.console.question_builder import Choices, Condition, Grouping, Measure
from discreet.service.views import TableView

Changed = Callable[[], Awaitable[None]]
_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")
_SEARCHED = 8
"""Longest list that is shown without a search."""


class Builder:
    """The form, and what is chosen in it."""

    def __init__(self, tables: Sequence[TableView], changed: Changed) -> None:
        self._cards = {view.name: view.card for view in tables}
        self._tell = changed
        self._is_quiet = False
        self._table = ""

    def build(self, choices: Choices) -> None:
        """Draw it, with these choices."""
        self._table = choices.table
        with ui.element("div").classes("dc-steps"):
            with _step("Table"):
                self._tables = theme.select([*self._cards], "Table", "build-table", value=choices.table)
                self._tables.on_value_change(self._other_table)
            self._steps = ui.element("div").classes("dc-steps")
        self._draw(choices)
        theme.promise(explain.BUILDER, "What do these choices mean?")

    @property
    def choices(self) -> Choices:
        """What is chosen."""
        order = str(self._order.value) if self._groups.values else ""
        return Choices(self._table, self._figures.values, self._groups.values, self._filters.values, order)

    @property
    def sql(self) -> str:
        """The SQL of it; ``BadInput`` says what is still to be chosen."""
        return builder.sql_of(self.choices, self._cards[self._table])

    def fits(self, choices: Choices) -> bool:
        """Whether choices are about a table and columns that are here."""
        card = self._cards.get(choices.table)
        if card is None:
            return False
        try:
            for name in [one.column for one in choices.groupings] + [one.column for one in choices.conditions]:
                builder.column_of(card, name)
        except BadInput:
            return False
        figures = builder.figures(card)
        return all(one.figure in figures for one in choices.measures) and choices.order in builder.ORDERS

    def set(self, choices: Choices) -> None:
        """Choose something else; no one is told."""
        self._is_quiet = True
        self._table = choices.table
        self._tables.set_value(choices.table)
        self._draw(choices)
        self._is_quiet = False

    async def _changed(self) -> None:
        if not self._is_quiet:
            self._order_row.set_visibility(bool(self._groups.values))
            await self._tell()

    async def _other_table(self, event: Any) -> None:
        if not self._is_quiet:
            self._table = event.value
            self._draw(Choices(self._table, (Measure(next(iter(builder.figures(self._cards[self._table])))),)))
            await self._changed()

    def _draw(self, choices: Choices) -> None:
        card = self._cards[choices.table]
        self._steps.clear()
        with self._steps:
            made = partial(_Rows, card=card, changed=self._changed)
            self._filters = made("filter", _FilterRow, choices.conditions, builder.MOST_CONDITIONS)
            self._figures = made("figure", _FigureRow, choices.measures, builder.MOST_FIGURES)
            self._groups = made("group", _GroupRow, choices.groupings, builder.MOST_GROUPINGS)
            with _step("Order") as self._order_row:
                self._order = theme.select(builder.ORDERS, "Groups", "build-order", width="dc-short")
                self._order.set_value(choices.order)
                self._order.on_value_change(self._changed)
            self._order_row.set_visibility(bool(choices.groupings))


class _Row(Protocol[_T_co]):
    """A row of the form."""

    first: ui.select

    @property
    def value(self) -> _T_co:
        """What is chosen in it."""


class _Rows(Generic[_T]):
    """Rows of one kind, and the button that adds another."""

    def __init__(
        self,
        name: str,
        kind: Callable[[Card, Changed, str, _T | None], _Row[_T]],
        chosen: Sequence[_T],
        most: int,
        *,
        card: Card,
        changed: Changed,
    ) -> None:
        self._name, self._kind, self._card, self._changed, self._most = name, kind, card, changed, most
        self._rows: dict[str, tuple[_Row[_T], ui.element]] = {}
        self._count = 0
        title, another = _STEPS[name]
        with _step(title):
            self._place = ui.element("div").classes("dc-choices")
            self._add = ui.button(f"Add {another}", icon="add", on_click=self._added)
            self._add.props(f"flat dense no-caps data-testid=build-add-{name}")
        for one in chosen:
            self._put(one)

    @property
    def values(self) -> tuple[_T, ...]:
        """What is chosen in all of them."""
        return tuple(row.value for row, _ in self._rows.values())

    def _put(self, value: _T | None) -> _Row[_T]:
        number = str(self._count)
        self._count += 1
        with self._place, ui.element("div").classes("dc-choice") as element:
            row = self._kind(self._card, self._changed, number, value)
            remove = ui.button(icon="close", on_click=lambda: self._removed(number)).props("flat round dense size=sm")
            theme.marked(remove, f"build-remove-{self._name}-{number}", f"Remove this {self._name}")
        self._rows[number] = row, element
        self._add.set_visibility(len(self._rows) < self._most)
        return row

    async def _added(self) -> None:
        if len(self._rows) >= self._most:  # a click that was on its way when the button went
            return
        row = self._put(None)
        row.first.run_method("focus")
        await self._changed()

    async def _removed(self, number: str) -> None:
        _, element = self._rows.pop(number)
        element.delete()
        self._add.set_visibility(True)
        with self._place:  # the button that was pressed is gone, and its place in the page with it
            ui.run_javascript(f"getHtmlElement({self._add.id}).focus()")
            await self._changed()


class _FigureRow:
    """A count, or an aggregate and its column."""

    def __init__(self, card: Card, changed: Changed, number: str, value: Measure | None) -> None:
        figures, columns = builder.figures(card), builder.amounts(card)
        chosen = value or Measure(next(iter(figures)))
        self.first = theme.select(
            figures, "Figure", f"build-figure-{number}", width="dc-choice-wide", value=chosen.figure
        )
        column = chosen.column if chosen.column in columns else next(iter(columns), None)
        self._column = theme.select(columns, "Column", f"build-amount-{number}", width="dc-choice-wide", value=column)
        self._column.set_visibility(chosen.figure in builder.AMOUNTS)
        self._changed = changed
        self.first.on_value_change(self._other)
        self._column.on_value_change(changed)

    @property
    def value(self) -> Measure:
        figure = str(self.first.value)
        return Measure(figure, str(self._column.value) if figure in builder.AMOUNTS else "")

    async def _other(self) -> None:
        self._column.set_visibility(self.first.value in builder.AMOUNTS)
        await self._changed()


class _GroupRow:
    """A column, and the steps of its values."""

    def __init__(self, card: Card, changed: Changed, number: str, value: Grouping | None) -> None:
        self._card, self._changed = card, changed
        columns = builder.groups(card)
        chosen = value.column if value is not None else columns[0]
        self.first = theme.select(columns, "Column", f"build-group-{number}", width="dc-choice-wide", value=chosen)
        steps = builder.steps(builder.column_of(card, chosen))
        step = value.step if value is not None and value.step in steps else next(iter(steps))
        self._step = theme.select(steps, "By", f"build-step-{number}", width="dc-choice-wide", value=step)
        self._step.set_visibility(len(steps) > 1)
        self.first.on_value_change(self._other)
        self._step.on_value_change(changed)

    @property
    def value(self) -> Grouping:
        return Grouping(str(self.first.value), str(self._step.value))

    async def _other(self) -> None:
        steps = builder.steps(builder.column_of(self._card, str(self.first.value)))
        self._step.set_options(steps, value=next(iter(steps)))
        self._step.set_visibility(len(steps) > 1)
        await self._changed()


class _FilterRow:
    """A column, a comparison, and the values it is compared with."""

    def __init__(self, card: Card, changed: Changed, number: str, value: Condition | None) -> None:
        self._card, self._changed, self._number = card, changed, number
        columns = builder.filters(card)
        chosen = value.column if value is not None else columns[0]
        self.first = theme.select(columns, "Column", f"build-filter-{number}", width="dc-choice-wide", value=chosen)
        known = builder.comparisons(builder.column_of(card, chosen))
        how = value.comparison if value is not None and value.comparison in known else next(iter(known))
        self._how = theme.select(known, "Comparison", f"build-comparison-{number}", width="dc-choice-short", value=how)
        self._place = ui.element("div").classes("dc-choice-value")
        self._draw(value.values if value is not None else ())
        self.first.on_value_change(self._other)
        self._how.on_value_change(self._compared)

    @property
    def value(self) -> Condition:
        chosen = self._box.value or ()
        values = tuple(chosen) if isinstance(chosen, list) else (str(chosen),) if chosen else ()
        how = str(self._how.value)
        return Condition(str(self.first.value), how, () if how in builder.NO_VALUE else values)

    async def _other(self) -> None:
        known = builder.comparisons(builder.column_of(self._card, str(self.first.value)))
        self._how.set_options(known, value=next(iter(known)))
        self._draw(())
        await self._changed()

    async def _compared(self) -> None:
        self._place.set_visibility(self._how.value not in builder.NO_VALUE)
        await self._changed()

    def _draw(self, values: Sequence[str]) -> None:
        """The box for values: a list of those on the card, or a field."""
        column = builder.column_of(self._card, str(self.first.value))
        listed, testid = builder.listed(column), f"build-value-{self._number}"
        self._place.clear()
        self._place.set_visibility(self._how.value not in builder.NO_VALUE)
        with self._place:
            if listed:
                chosen = [one for one in values if one in listed]
                many = {"multiple": True, "with_input": len(listed) > _SEARCHED, "value": chosen}
                self._box: ui.select | ui.input = theme.select(listed, "Values", testid, width="dc-full", **many)
            else:
                self._box = theme.text("Value", testid, width="dc-full", value="".join(values[:1]))
                if column.kind in MOMENTS:
                    self._box.props("type=date stack-label")
                elif column.kind in NUMBERS and column.declared:
                    self._box.props["hint"] = column.declared
        self._box.on_value_change(self._changed)


@contextmanager
def _step(title: str) -> Iterator[ui.element]:
    """A step of the form: its title, and beside it what is chosen."""
    with ui.element("div").classes("dc-step").props("role=group") as made:
        made.props["aria-label"] = title
        ui.label(title).classes("dc-step-title").props("aria-hidden=true")
        with ui.element("div").classes("dc-step-body"):
            yield made


_STEPS = {"filter": ("Filter", "a filter"), "figure": ("Compute", "a figure"), "group": ("Group by", "a grouping")}
"""Titles of the steps, and what is added to each."""
