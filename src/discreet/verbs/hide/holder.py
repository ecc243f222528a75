"""Holder's copy of hidden transactions: the secrets, every change and the side effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.markup import Markup, listed, more
from discreet.core.report import Picture, grouped_bars, heading, listing, pairs, section, shortened, styled
from discreet.core.text import number
from discreet.verbs.hide.measures import MOST_COMPARED, Shift, SideEffects
from discreet.verbs.hide.mining.rules import rule_in, written
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions

_LISTED = 200
"""Largest number of changes, or of lost itemsets, on the page."""
_DRAWN = 15
"""Largest number of secrets in a drawing."""


@dataclass(frozen=True, eq=False, repr=False)
class HidingHolder:
    """The secrets, the changes that hide them, and their side effects. None of it may leave."""

    problem: HidingProblem
    result: HidingResult
    effects: SideEffects
    method: str
    notes: tuple[tuple[str, str], ...] = ()
    """Further facts, by name."""

    def __str__(self) -> str:
        return "\n".join(f"{name}: {told}" for name, told in self.in_figures())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.fragment("Secrets (confidential)")

    def rows(self) -> pa.Table:
        """A row a change: which transaction, which item, what was done and for which secret."""
        steps = self.result.steps
        texts = {name: [getattr(step, name) for step in steps] for name in ("item", "action", "secret", "why")}
        columns = {name: pa.array(column, pa.string()) for name, column in texts.items()}
        return pa.table({"row": pa.array([step.row for step in steps], pa.int64()), **columns})

    def in_figures(self) -> list[tuple[str, str]]:
        """How much was changed, and the measures of what that did."""
        effects, rows = self.effects, self.problem.transactions.rows
        secrets, before = self.problem.secrets, self.problem.visible(self.problem.transactions)
        now = self.problem.visible(self.result.after)
        facts = [
            ("method", self.method),
            ("secrets", f"{len(secrets)}, visible before: {len(before)}, visible now: {len(now)}"),
            (
                "removed" if self.result.possible is None else "made unknown",
                f"{number(effects.taken_out, 'item')} in {effects.touched:,} of {number(rows, 'transaction')}",
            ),
        ]
        if never := [str(one) for one in secrets if one not in before]:
            facts.insert(2, ("not visible before", "; ".join(never)))
        if effects.put_in:
            facts.append(("put in", number(effects.put_in, "item")))
        if effects.rules is None and self.problem.confidence is not None:
            facts.append(("rules", f"more than {MOST_COMPARED:,}, so they were not compared"))
        for what, patterns in (("itemsets", effects.itemsets), ("rules", effects.rules)):
            if patterns is not None:
                facts += [
                    (f"{what}: hiding failure", f"{patterns.hiding_failure:.1%}"),
                    (
                        f"{what}: misses cost",
                        f"{patterns.misses_cost:.2%} ({len(patterns.lost):,} of {patterns.innocent:,})",
                    ),
                    (f"{what}: artificial", f"{patterns.artificial_patterns:.2%} ({len(patterns.artificial):,})"),
                ]
        facts.append(("dissimilarity", f"{effects.dissimilarity:.3%}"))
        facts.append(("information loss", f"{effects.information_loss:.3%}"))
        return [*facts, *self.result.facts, *self.notes]

    def secrets(self) -> list[dict[str, Any]]:
        """Each secret with its support, and confidence if it is a rule, before and after, and the thresholds."""
        return [
            {
                "secret": str(one),
                "before": self._visibility(self.problem.transactions, one),
                "after": self._visibility(self.result.after, one),
                "hidden_below": _threshold(one),
            }
            for one in self.problem.secrets
        ]

    def pictures(self) -> tuple[Picture, ...]:
        """The supports of secrets, and of what was lost, before and after."""
        before, after = self.problem.transactions, self.result.after
        shown = self.problem.secrets[:_DRAWN]
        drawn = [
            grouped_bars(
                "Secrets before and after",
                [shortened(str(one), 80) for one in shown],
                {
                    "before": [before.support(one.whole) for one in shown],
                    "after": [after.support(one.whole) for one in shown],
                    "visible from": [one.support for one in shown],
                },
                caption="Number of transactions with all items of a secret. A rule may also be hidden by its "
                "confidence.",
            )
        ]
        lost = [one for one in self.effects.itemsets.lost[:_DRAWN] if isinstance(one, Shift)]
        if lost:
            names = [shortened(written(one.itemset), 80) for one in lost]
            drawn.append(
                grouped_bars(
                    "Non-sensitive itemsets lost",
                    names,
                    {
                        "before": [one.before for one in lost],
                        "after": [one.after for one in lost],
                        "frequent from": [self.problem.least] * len(lost),
                    },
                    caption="They contain no secret, and are no longer frequent.",
                )
            )
        return tuple(drawn)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        return {
            "method": self.method,
            "secrets": self.secrets(),
            "effects": self.effects.to_dict(),
            "facts": [list(pair) for pair in (*self.result.facts, *self.notes)],
            "steps": [str(step) for step in self.result.steps],
        }

    def fragment(self, title: str) -> Markup:
        """All of it as HTML."""
        rows = [[str(value) for value in one.values()] for one in self.secrets()]
        sections = [
            heading(title, "Confidential"),
            section("Secrets", listing(["secret", "before", "after", "hidden below"], ["prose", *["text"] * 3], rows)),
            section("In figures", pairs(self.in_figures())),
            *(section(picture.title, picture.figure) for picture in self.pictures()),
        ]
        for what, patterns in (("itemsets", self.effects.itemsets), ("rules", self.effects.rules)):
            if patterns is not None:
                for name, shifts in (("lost", patterns.lost), ("that appeared", patterns.artificial)):
                    if shifts:
                        sections.append(section(f"Non-sensitive {what} {name}", listed(map(str, shifts), _LISTED)))
        if self.result.steps:
            sections.append(section("Step by step", self._steps(), more(len(self.result.steps), _LISTED)))
        return styled(sections)

    @staticmethod
    def _visibility(transactions: Transactions, secret: Secret) -> str:
        support = f"{transactions.support(secret.whole):,}"
        if not secret.is_rule:
            return support
        rule = rule_in(transactions, secret.antecedent, secret.consequent)
        return f"{support} ({float(rule.confidence):.1%})" if rule else f"{support} (0.0%)"

    def _steps(self) -> Markup:
        steps = self.result.steps
        rows = [
            [f"{place:,}", f"{one.row + 1:,}", one.item, one.action, one.secret, one.why]
            for place, one in enumerate(steps[:_LISTED], 1)
        ]
        heads = ["step", "transaction", "item", "change", "secret", "why"]
        return listing(heads, ["number", "number", "text", "text", "prose", "prose"], rows)


def _threshold(secret: Secret) -> str:
    if secret.confidence is None:
        return f"{secret.support:,}"
    return f"{secret.support:,} or {float(secret.confidence):.1%}"
