"""Rules for cells that give somebody away, as boxes to tick; each says what it is about.

data-testid: rule-<name>, and for its numbers rule-<name>-<letter>.
"""

from __future__ import annotations

from dataclasses import dataclass

from nicegui import ui

from discreet.errors import BadInput
from discreet.service.console import explain, theme


@dataclass(frozen=True)
class Rule:
    """A rule as somebody chooses it, and how it is written."""

    label: str
    about: str
    figures: tuple[tuple[str, str, float], ...]
    """A letter, what it stands for, and what is usual."""
    written: str
    """As ``discreet.verbs.tabulate.rules`` reads it."""


RULES: dict[str, Rule] = {
    "min": Rule("Few people", explain.THRESHOLD, (("min", "People at least", 3),), "min={min}"),
    "p": Rule("One can work another out (p %)", explain.P_PERCENT, (("p", "Within, %", 10),), "p={p}"),
    "pq": Rule(
        "One can work another out, knowing a little (pq)",
        explain.PQ,
        (("p", "Within, %", 10), ("q", "Known before within, %", 50)),
        "p={p},q={q}",
    ),
    "nk": Rule(
        "A few have nearly all (dominance)",
        explain.DOMINANCE,
        (("n", "The largest", 1), ("k", "Have more than, %", 70)),
        "n={n},k={k}%",
    ),
    "zero": Rule(
        "Nobody at all",
        "A cell with 0 tells of everybody in its row that they are not in its column. Hide it where that is a secret.",
        (),
        "zero",
    ),
}


class RuleBoxes:
    """The rules, those that are ticked with their numbers."""

    def __init__(self) -> None:
        self._ticks: dict[str, ui.checkbox] = {}
        self._figures: dict[str, dict[str, ui.number]] = {}
        for name, rule in RULES.items():
            with ui.element("div").classes("dc-rule"):
                self._draw(name, rule)

    def _draw(self, name: str, rule: Rule) -> None:
        with theme.row():
            tick = ui.checkbox(rule.label, value=name == "min").props(f"data-testid=rule-{name}").classes("dc-grow")
            self._ticks[name], self._figures[name] = tick, {}
            for letter, label, usual in rule.figures:
                box = ui.number(label, value=usual, min=0, step=1).classes("dc-short")
                box.props(f"outlined dense data-testid=rule-{name}-{letter}").bind_enabled_from(tick, "value")
                self._figures[name][letter] = box
        theme.prose(rule.about, soft=True).classes("dc-small dc-below")

    def written(self) -> tuple[str, ...]:
        """The rules that are ticked, as text; an error if a number is missing."""
        found = []
        for name, rule in RULES.items():
            if self._ticks[name].value:
                said = {letter: box.value for letter, box in self._figures[name].items()}
                if None in said.values():
                    raise BadInput(f"{rule.label}: a number is missing.", hint="Fill it in, or untick the rule.")
                found.append(rule.written.format(**{letter: f"{value:.15g}" for letter, value in said.items()}))
        return tuple(found)
