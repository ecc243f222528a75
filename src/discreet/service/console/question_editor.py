"""The editor of a question: the builder, the SQL, and the switch between them.

The SQL of what is chosen in the builder is shown below it and can be edited. SQL that was edited by hand goes its own
way: the builder stays as it was, and the page says so. Neither is lost by switching.

data-testid: ask-save, ask-view, ask-edited, ask-sql; those of ``builder_view``.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from discreet.core.markup import tag
from discreet.errors import BadInput, DiscreetError
from discreet.service.console import draft, question_builder, suggest, theme
from discreet.service.console.builder_view import Builder
from discreet.service.console.draft import BUILD, SQL
from discreet.service.console.question_builder import Choices
from discreet.service.views import TableView

_BUILT = "The SQL of your choices. If you edit it, the choices above stay as they are."
_WRITTEN = "Written by hand; the choices in Build are unchanged. Ctrl+Enter asks, Tab leaves the editor."
_COMPLETIONS = "(CM) => CM.EditorState.languageData.of(() => [{autocomplete: %s}])"


class QuestionEditor:
    """What is built, what is written, and which of the two is the question."""

    def __init__(self, tables: Sequence[TableView], changed: Callable[[], Awaitable[None]]) -> None:
        """``changed`` is called whenever the question is another one, or the other view is shown."""
        self._tables = tables
        self._changed = changed
        self._builder = Builder([view for view in tables if view.left is not None], self._chose)
        self._built = ""
        """SQL of what is chosen in the builder."""
        self._unfinished: DiscreetError | None = None
        """What is still to be chosen there."""
        self._hand = ""
        """SQL that was written by hand; empty if none was."""

    def build(self, choices: Choices, save: Callable[[], Awaitable[None]]) -> None:
        """Draw it, with these choices in the builder and a button that saves the question."""
        with theme.row().classes("dc-between"):
            ui.html(tag("h2", "Your question"), sanitize=False).classes("dc-grow")
            theme.button("Save", "ask-save", save, icon="bookmark_add", look="flat no-caps dense padding='4px 10px'")
            self._view = ui.toggle({BUILD: "Build", SQL: "SQL"}, value=BUILD, on_change=self._switched)
            self._view.props('unelevated no-caps data-testid=ask-view aria-label="How to write the question"')
            self._view.on_value_change(self._changed)
        with ui.element("div").classes("dc-steps") as self._form:
            self._builder.build(choices)
        self._built = self._builder.sql
        self._note = theme.prose("", soft=True).classes("dc-small").props("data-testid=ask-edited aria-live=polite")
        with ui.element("div").classes("dc-full") as self._frame:
            self._sql = ui.codemirror(self._built, language="SQL", line_wrapping=True, on_change=self._typed)
            self._sql.props("data-testid=ask-sql").on_value_change(self._changed)
        self._show_view()

    def keys(self, button: ui.button) -> str:
        """The program that gives the SQL its completions and its keys; Ctrl+Enter presses the button."""
        words = json.dumps(suggest.words(self._tables))
        return theme.editor_setup(self._sql, "Your question, in SQL", button, _COMPLETIONS % words)

    @property
    def sql(self) -> str:
        """The question; ``BadInput`` says what is still to be chosen."""
        if self.is_built and self._unfinished is not None:
            raise self._unfinished
        return self.text.strip().removesuffix(";")

    @property
    def text(self) -> str:
        """The SQL that is shown."""
        return str(self._sql.value)

    @property
    def written(self) -> str:
        """The SQL that was written by hand; empty if none was."""
        return self._hand if self.is_built else self.text

    @property
    def is_built(self) -> bool:
        """Whether the question is the builder's."""
        return bool(self._view.value == BUILD)

    @property
    def choices(self) -> Choices:
        """What is chosen in the builder."""
        return self._builder.choices

    def example(self, choices: Choices) -> None:
        """Put an example into the builder, or into the SQL where that is written."""
        if self.is_built:
            self.put(choices)
        else:
            card = next(view.card for view in self._tables if view.name == choices.table)
            self._sql.set_value(question_builder.sql_of(choices, card))

    def put(self, choices: Choices) -> bool:
        """Make choices the question; whether they fit the tables that are here."""
        if not self._builder.fits(choices):
            return False
        self._builder.set(choices)
        self._work_out()
        self._view.set_value(BUILD)
        self._sql.set_value(self._built)
        return True

    def write(self, sql: str) -> None:
        """Make SQL the question."""
        self._hand = sql
        self._view.set_value(SQL)
        self._sql.set_value(sql)

    def restore(self, view: str, sql: str, choices: Choices) -> None:
        """Put back what was built and what was written, and show one of them."""
        self.put(choices)
        self._hand = sql
        self.show(view)

    def show(self, view: str) -> None:
        """Show what is built, or what is written."""
        if view in (BUILD, SQL):
            self._view.set_value(view)

    def _work_out(self) -> None:
        """The SQL of what is chosen, or what is still to be chosen."""
        self._unfinished = None
        try:
            self._built = self._builder.sql
        except BadInput as error:
            self._unfinished = error

    async def _chose(self) -> None:
        """Something else was chosen in the builder."""
        self._work_out()
        if self._unfinished is None and self._sql.value != self._built:
            self._sql.set_value(self._built)  # which tells that it changed
        else:
            await self._changed()

    def _typed(self) -> None:
        """The SQL is another: by the builder, or by hand, which the builder does not follow."""
        if self.is_built and self._sql.value != self._built:
            self._hand = self._sql.value
            self._view.set_value(SQL)

    def _switched(self) -> None:
        if self.is_built:
            self._hand = self._sql.value if self._sql.value != self._built else ""
            self._sql.set_value(self._built)
        elif self._hand:
            self._sql.set_value(self._hand)
        self._show_view()
        ui.run_javascript(draft.remember(self._view.value))

    def _show_view(self) -> None:
        self._form.set_visibility(self.is_built)
        # not the editor's own classes: an update of it would bring back a text that is older than what is being typed
        self._frame.classes(add="dc-quiet" if self.is_built else "", remove="" if self.is_built else "dc-quiet")
        self._note.set_text(_BUILT if self.is_built else _WRITTEN)
