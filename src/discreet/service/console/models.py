"""Privacy models as rows of a form: which one, its numbers, on which column; each says what it promises.

data-testid: model-add, and for each row model-kind-0, model-<number's name>-0, model-on-0, model-remove-0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nicegui import ui

from discreet.errors import BadInput
from discreet.service.console import explain, theme


@dataclass(frozen=True)
class Figure:
    """A number that a model is given."""

    name: str
    label: str
    value: float
    step: float = 1


@dataclass(frozen=True)
class Choice:
    """A model as somebody chooses it: its name, what it promises, its numbers, and how it is written."""

    label: str
    promise: str
    figures: tuple[Figure, ...]
    written: str
    """As ``discreet.models.catalogue`` reads it; ``{on}`` is a sensitive column."""

    @property
    def on(self) -> bool:
        """Whether it is about a sensitive column."""
        return "{on}" in self.written


CHOICES: dict[str, Choice] = {
    "k": Choice(
        "Nobody stands out (k-anonymity)",
        explain.K,
        (Figure("k", "People in a crowd, k", 5),),
        "k={k}",
    ),
    "l": Choice(
        "Secrets differ in every crowd (l-diversity)",
        explain.L,
        (Figure("l", "Different values, l", 3),),
        "l={l} on {on}",
    ),
    "entropy-l": Choice(
        "Secrets differ, and none is common (entropy l-diversity)",
        "As l-diversity, and no secret may be so common in a crowd that guessing it is nearly always right: the mix is "
        "at least as even as l equally likely values.",
        (Figure("l", "As even as so many values, l", 2, 0.5),),
        "entropy l={l} on {on}",
    ),
    "recursive-l": Choice(
        "Secrets differ, even if some are ruled out (recursive l-diversity)",
        "In every crowd the commonest secret is less than c times as frequent as the rare ones together, so that "
        "somebody who can rule a few secrets out still cannot be sure.",
        (Figure("c", "Times as frequent, c", 2, 0.5), Figure("l", "Different values, l", 3)),
        "recursive c={c} l={l} on {on}",
    ),
    "t": Choice(
        "A crowd tells no more than the whole table (t-closeness)",
        explain.T,
        (Figure("t", "Difference at most, t", 0.2, 0.05),),
        "t={t} on {on}",
    ),
    "alpha-k": Choice(
        "Nobody can be surer than a share (alpha, k)",
        "Every crowd has at least k rows, and no secret makes up more than the share alpha of it: nobody can be surer "
        "of a secret than that.",
        (Figure("alpha", "Share at most, alpha", 0.5, 0.05), Figure("k", "People in a crowd, k", 5)),
        "alpha={alpha} k={k} on {on}",
    ),
    "beta": Choice(
        "Rare secrets stay rare (beta-likeness)",
        "In no crowd does a secret become likelier than in the whole table by more than beta times. This protects rare "
        "secrets, which t-closeness may not.",
        (Figure("beta", "Gain at most, beta", 1, 0.5),),
        "enhanced beta={beta} on {on}",
    ),
    "delta": Choice(
        "No secret becomes likelier or less likely (delta-disclosure)",
        "Every secret occurs in every crowd, neither likelier nor less likely than in the whole table by a factor of 2 "
        "to the delta. The strictest of these: small tables seldom allow it.",
        (Figure("delta", "Factor 2 to the, delta", 1, 0.5),),
        "delta={delta} on {on}",
    ),
    "risk": Choice(
        "Nobody is found with more than this chance",
        "Somebody who knows that a person is in the table, and all that outsiders may know of them, points at the "
        "right row with at most this chance. It is k-anonymity, said as a chance: 0.2 is a crowd of five.",
        (Figure("risk", "Chance at most", 0.2, 0.05),),
        "risk={risk}",
    ),
    "average-risk": Choice(
        "On average, nobody is found",
        "The chance to be found, on average over everybody. It bounds nobody's own chance: one person may still stand "
        "alone. Use it beside another rule.",
        (Figure("risk", "Chance on average", 0.05, 0.01),),
        "average risk={risk}",
    ),
    "unique": Choice(
        "Few are unique in the population",
        "An estimate of how many people would stand alone among all those the rows were drawn from. It is a guess from "
        "the sizes of crowds, and promises nothing to any one person.",
        (Figure("share", "Share at most", 0.01, 0.01), Figure("people", "People in the population", 1_000_000, 1000)),
        "unique={share} of {people}",
    ),
}
"""The models that need no file of the population; all of them are in docs/models.md."""


def written(choice: Choice, figures: dict[str, float | None], on: str | None) -> str:
    """The model as text; an error for whatever is not filled in."""
    said = {}
    for figure in choice.figures:
        value = figures.get(figure.name)
        if value is None:
            raise BadInput(f"{choice.label}: {figure.label} is missing.", hint="Fill it in, or remove the rule.")
        said[figure.name] = f"{value:.15g}"
    if choice.on and not on:
        raise BadInput(f"{choice.label}: on which column?", hint="Choose one, or remove the rule.")
    return choice.written.format(**said, on=on)


@dataclass
class _Row:
    """One rule of the form, and the inputs it is made of."""

    kind: str
    figures: dict[str, ui.number] = field(default_factory=dict)
    on: ui.select | None = None

    def written(self) -> str:
        values = {name: box.value for name, box in self.figures.items()}
        return written(CHOICES[self.kind], values, None if self.on is None else self.on.value)


class ModelRows:
    """The rules that must hold, as rows that can be added and taken away."""

    def __init__(self, sensitive: Sequence[str]) -> None:
        self._sensitive = list(sensitive)
        self._rows: list[_Row] = [_Row("k")]
        self._place = ui.element("div").classes("dc-stack")
        add = ui.button("Add a rule", icon="add", on_click=self._add).classes("dc-own")
        add.props("flat dense data-testid=model-add")
        self._draw()

    def written(self) -> tuple[str, ...]:
        """All rules as text; an error for whatever is not filled in."""
        return tuple(row.written() for row in self._rows)

    def _add(self) -> None:
        self._rows.append(_Row("l" if self._sensitive else "risk"))
        self._draw()

    def _remove(self, row: _Row) -> None:
        self._rows.remove(row)
        self._draw()

    def _choose(self, row: _Row, kind: str) -> None:
        self._rows[self._rows.index(row)] = _Row(kind)
        self._draw()

    def _draw(self) -> None:
        kept = [{name: box.value for name, box in row.figures.items()} for row in self._rows]
        columns = [None if row.on is None else row.on.value for row in self._rows]
        self._place.clear()
        with self._place:
            if not self._rows:
                theme.empty("Nothing must hold. Only a masking method can be published so: it promises nothing.")
            for place, (row, values, on) in enumerate(zip(self._rows, kept, columns, strict=True)):
                with ui.element("div").classes("dc-rule"):
                    self._draw_row(place, row, values, on)

    def _draw_row(self, place: int, row: _Row, values: dict[str, float | None], on: str | None) -> None:
        choice = CHOICES[row.kind]
        labels = {kind: one.label for kind, one in CHOICES.items() if not one.on or self._sensitive}
        with theme.row():
            kind = ui.select(labels, value=row.kind, label="Rule", on_change=lambda e: self._choose(row, e.value))
            kind.props(f"outlined dense options-dense data-testid=model-kind-{place}").classes("dc-mid")
            for figure in choice.figures:
                value = values.get(figure.name, figure.value)
                box = ui.number(figure.label, value=value, min=0, step=figure.step)
                row.figures[figure.name] = box.props(f"outlined dense data-testid=model-{figure.name}-{place}")
                box.classes("dc-short")
            row.on = None
            if choice.on:
                row.on = ui.select(self._sensitive, value=on or self._sensitive[0], label="On the column")
                row.on.props(f"outlined dense options-dense data-testid=model-on-{place}").classes("dc-short")
            away = ui.button(icon="delete_outline", on_click=lambda: self._remove(row))
            away.props(f'flat round dense aria-label="Remove this rule" data-testid=model-remove-{place}')
        theme.promise(choice.promise)
