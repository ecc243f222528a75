"""Publish a table of counts or sums with sensitive cells protected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Role
from discreet.core.exact import Number
from discreet.core.families import TABLE_METHODS
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import hold_back
from discreet.core.release import Release
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.errors import BadInput, NoPromise
from discreet.releases.facts import Choice, Facts, Opaque
from discreet.releases.method import Alternative, Bench, Made, Method, Progress, silent
from discreet.releases.pipeline import release, require_places
from discreet.releases.register import Entry
from discreet.verbs.tabulate.intruder.audit import certify, intervals
from discreet.verbs.tabulate.intruder.release_audit import LEAST
from discreet.verbs.tabulate.method import Intervals, ProtectedTable, ProtectionProblem, TableMethod
from discreet.verbs.tabulate.printing.holder import TableHolder, exposed
from discreet.verbs.tabulate.printing.information import changed_loss, hidden_loss
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.rules import PPercent, Request, Rule, Zero, parse_rules
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells, require_additive
from discreet.verbs.tabulate.tables.crosstable import HIDDEN, CrossTable, written
from discreet.verbs.tabulate.tables.figures import table_figures
from discreet.verbs.tabulate.tables.gather import measure

Source: TypeAlias = Table | CrossTable | Sequence[CrossTable]
_EVEN = 1e-9
"""Relative gap below which a pattern counts as optimal."""
_MOST_INTERVALS = 30_000
"""Largest number of hidden cells whose intervals are computed; of more it is only certified that they hold."""
_WHOSE = "Not checked together with other releases of the same people: an aggregate table does not identify people."
_BETWEEN = re.compile(r"\s*[×*]\s*|\s+x\s+")


def tabulate(
    source: Source,
    by: str | Sequence[str] = (),
    value: str | None = None,
    *,
    rules: str | Sequence[str | Rule] = (),
    method: str | TableMethod = "suppress",
    weight: str | None = None,
    decimals: int | None = None,
    share: Number = "1/10",
    negative: Literal["refuse", "absolute"] = "refuse",
    weights: np.ndarray[Any, Any] | None = None,
    seed: int | None = None,
    secret: bytes | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    holder: str | Path | None = None,
    progress: Progress = silent,
) -> Release[pa.Table]:
    """Publish a table of counts, or of the sums of ``value``, with sensitive cells protected.

    ``source`` is a table of rows, which is added up on its engine ``by`` some columns (``"region × activity"``;
    several such texts make several tables, protected together), or tables of figures as ``dc.read_table`` gives them.
    ``rules`` say which cells are sensitive (``share`` and ``negative`` as for ``protect``), ``method`` what is done
    about it, ``weights`` what hiding or changing each cell costs. A table whose protection cannot be shown does not
    leave: an error says which cell, and what to do.

    ``secret`` makes the numbers of records behind cell keys and factors: the same one changes the same people in
    the same way, so the one that was drawn (``holder.details.secret``) is kept for the next table. ``holder`` is a new
    file for the holder's copy: which cells are sensitive and why, and what an intruder can compute of each.
    """
    chosen = TABLE_METHODS.parse(method) if isinstance(method, str) else method
    sensitivity = _rules(rules)
    if chosen.needs_sensitivity_rules and not sensitivity:
        raise BadInput("No sensitivity rule given: add rules.", hint='Such as "p=10", "n=1,k=0.7" or "min=3".')
    require_places(to, csv=csv, holder=holder)
    progress(0.0, "adding up")

    def tabulation(source: Source, by: str | Sequence[str]) -> _Tabulation:
        tables, sides = _tables(source, by, value, sensitivity, weight=weight, decimals=decimals)
        cells = _known(Cells.of(*tables), source, value, chosen, sensitivity)
        require_additive(cells)
        if weights is not None and (np.shape(weights) != (len(cells),) or not (np.asarray(weights) >= 0).all()):
            raise BadInput(f"There must be a weight of 0 or more for each of {len(cells):,} cells.")
        protection = protect(cells, sensitivity, share=share, negative=negative)
        table = source if isinstance(source, Table) else None
        problem = ProtectionProblem(cells, protection, table, sides, value, weight, weights, seed, secret)
        return _Tabulation(problem, chosen, sensitivity, tabulation)

    made = tabulation(source, by)
    return release(made, made.problem.source, to=to, csv=csv, holder=holder, progress=progress)


def sides_of(by: str | Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The columns of each table: "region × activity; region × size" has two."""
    texts = by.split(";") if isinstance(by, str) else list(by)
    found = tuple(tuple(filter(None, map(str.strip, _BETWEEN.split(text.strip())))) for text in texts)
    if not found or not all(found):
        raise BadInput("No dimensions given.", hint='Such as "region × activity".')
    return found


def _tables(
    source: Source,
    by: str | Sequence[str],
    value: str | None,
    rules: Sequence[Rule],
    **how: Any,
) -> tuple[tuple[CrossTable, ...], tuple[tuple[str, ...], ...]]:
    if not isinstance(source, Table):
        given = (source,) if isinstance(source, CrossTable) else tuple(source)
        if not given or not all(isinstance(one, CrossTable) for one in given):
            raise BadInput(
                f"A {type(source).__name__} is neither a table of rows nor aggregate tables.",
                hint="Open rows with dc.read(data, card=…), figures with dc.read_table(file).",
            )
        if by or value or any(one is not None for one in how.values()):
            raise BadInput("An aggregate table takes only rules, no columns or weights.")
        return given, ()
    sides = sides_of(by)
    named = {name.split("@")[0] for side in sides for name in side}
    looked_at = [name for name in source.columns if name in named or name == source.card.unit]
    if looked_at:
        hold_back(source.select(*looked_at), named, quasi=False)
    largest = max((rule.largest for rule in rules), default=0)
    declared = any(isinstance(rule, Zero) for rule in rules)
    made = (build(source, one, value, keep_largest=max(largest, 2), declared=declared, **how) for one in sides)
    return tuple(made), sides


def _rules(rules: str | Sequence[str | Rule]) -> tuple[Rule, ...]:
    if isinstance(rules, str):
        return parse_rules(rules)
    return tuple(one for rule in rules for one in (parse_rules(rule) if isinstance(rule, str) else (rule,)))


def _known(cells: Cells, source: Source, value: str | None, method: TableMethod, rules: Sequence[Rule]) -> Cells:
    """The cells with what everyone knows of each before the table is printed.

    A count of 0 is hidden only if ``zeros`` or a rule says so; where none does, everyone knows that what is hidden is
    at least 1. Sums may be negative where the card says that what is added up may be.
    """
    if not cells.tables[0].what:
        hides = getattr(method, "zeros", False) or any(isinstance(rule, Zero | Request) for rule in rules)
        return cells if hides else cells.knowing(np.minimum(cells.values, 1).clip(0), cells.upper)
    if isinstance(source, Table) and value is not None and source.card[value].may_be_negative:
        return cells.knowing(np.full(len(cells), -np.inf), cells.upper)
    return cells


@dataclass(frozen=True, eq=False)
class _Tabulation(Method[pa.Table]):
    """A table whose protection is shown before it leaves."""

    verb: ClassVar[str] = "tabulate"
    problem: ProtectionProblem
    method: TableMethod
    rules: Sequence[Rule]
    make_again: Callable[[Table, Sequence[str]], _Tabulation]
    """The same of other rows, or by other columns."""

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.method.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    def promise(self, card: Card | None) -> Statement:
        """To whom; what is claimed of the cells depends on which of them are sensitive, and comes with the table."""
        return Statement(card.unit if card is not None and card.unit else "respondent", evidence=Evidence.ARGUED)

    def make(self, table: Table | None, bench: Bench) -> Made[pa.Table]:
        """Protect the cells, and compute what an intruder can tell of every hidden one."""
        problem = replace(self.problem, progress=lambda done, what: bench.progress(0.1 + 0.6 * done, what))
        cells, protection, made = problem.cells, problem.protection, self.method.apply(problem)
        computed = None
        if made.pattern is not None:
            hidden, report = made.hidden, bench.progress
            certify(cells, protection, hidden, progress=lambda done, what: report(0.7 + 0.2 * done, what))
            if int(hidden.sum()) <= _MOST_INTERVALS:
                computed = intervals(cells, hidden, progress=lambda done, what: report(0.9 + 0.1 * done, what))
        printed = PublishedTable.of(cells, made.values, made.hidden)
        by = "; ".join(" × ".join(side.name for side in one.dimensions) for one in printed.tables)
        least = float(cells.lower[cells.values != 0].min(initial=np.inf if (cells.values != 0).any() else 0.0))
        parameters: dict[str, Any] = {
            "tables": printed.structure(),
            **({"rules": [rule.name for rule in self.rules]} if self.method.needs_sensitivity_rules else {}),
            LEAST: int(least) if np.isfinite(least) else None,
            **made.recipe_details,
        }
        known = f" and that it is at least {written(least, cells.decimals)}" if np.isfinite(least) else ""
        learned = tuple(map(str, exposed(cells, protection)))
        facts = _holder_facts(problem, made, computed)
        details = TableHolder(cells, protection, made.values, made.hidden, computed, learned, facts, made.secret)
        title = f"{cells.tables[0].what or 'counts'} by {by}"
        copy = HolderCopy(
            "cells",
            details.rows(),
            dict(details.in_figures()),
            draw=lambda: details.fragment(f"{title} (confidential)"),
            details=details,
        )
        return Made(
            printed.rows(),
            parameters,
            made.steps,
            claims=made.claims,
            assumes=(f"No one knows more about a figure than the published table{known}.",) if made.claims else (),
            caveats=made.caveats if table is not None else (*made.caveats, _WHOSE),
            layout=printed.html(),
            seed=problem.seed,
            holder=copy,
            title=title,
            context=(printed, made),
        )

    def recheck(self, made: Made[pa.Table], written: pa.Table, promised: Statement) -> Made[pa.Table]:
        """What leaves is what was certified: every hidden figure is missing, every other one is as it was meant."""
        if not written.equals(made.context[0].rows()) or written.filter(pc.field(HIDDEN)).column(-2).null_count != int(
            pc.sum(written.column(HIDDEN)).as_py() or 0
        ):
            raise NoPromise("The written table differs from the protected one. Nothing was released.")
        return made

    def on(self, table: Table) -> _Tabulation:
        """The same table of other rows."""
        return self.make_again(table, [" × ".join(one) for one in self.problem.by])

    def alternatives(
        self, made: Made[pa.Table], table: Table, clashing: Sequence[Entry]
    ) -> Iterator[Alternative[pa.Table]]:
        """The same without a column that everyone knows, or with one at a coarser level of its hierarchy."""
        columns = {
            name: name if name in table.card else name.partition("@")[0] for one in self.problem.by for name in one
        }
        for name, column in columns.items():
            fewer = [" × ".join(one for one in sides if one != name) for sides in self.problem.by]
            if all(fewer) and table.card[column].role is Role.QUASI:
                yield f"the same table without {name}", partial(self.make_again, table, fewer), table
        for name, column in columns.items():
            hierarchy = table.card[column].hierarchy
            level = int(name[len(column) + 1 :] or 0)
            for coarser in range(level + 1, hierarchy.height if hierarchy else 0):
                asked = f"{column}@{coarser}"
                by = [" × ".join(asked if one == name else one for one in sides) for sides in self.problem.by]
                yield f"the same table with {asked} instead of {name}", partial(self.make_again, table, by), table

    def facts(self, made: Made[pa.Table], table: Table) -> Facts:
        """Every printed figure, and what is known of every hidden or rounded one."""
        _, protected = made.context
        known, cells = protected.known, self.problem.cells
        if self.problem.weight is not None:
            return Opaque("weighted figures represent people who are not in the table")
        if known is None and protected.pattern is None:
            return Opaque(f"{self.name} changes figures without an interval for the true ones")
        if known is None:
            low = np.where(protected.hidden, cells.lower, protected.values)
            known = Intervals(low, np.where(protected.hidden, cells.upper, protected.values))
        share = max((Fraction(rule.p) / 100 for rule in self.rules if isinstance(rule, PPercent)), default=None)
        choice = Choice.of(table)
        if isinstance(choice, Opaque):
            return choice
        what = measure(table, self.problem.value, None, cells.decimals if self.problem.value else None)
        if choice.condition is not None and self.problem.value is not None:
            return Opaque(f"its rows were chosen by {' and '.join(choice.tells)}", (*choice.tells, self.problem.value))
        figures = tuple(
            table_figures(
                what,
                one,
                asked,
                (known.low[places], known.high[places]),
                choice,
                value=self.problem.value,
                share=share,
                declared=any(isinstance(rule, Zero) for rule in self.rules),
            )
            for one, asked, places in zip(cells.tables, self.problem.by, cells.places, strict=True)
        )
        told = sorted({name for one in figures for side in one.sides for name in side.tells})
        if self.problem.value is not None and told:
            why = f"its sums are by {' and '.join(told)}, which are not public"
            return Opaque(why, (*told, self.problem.value))
        return figures


def _holder_facts(
    problem: ProtectionProblem, made: ProtectedTable, computed: Intervals | None
) -> list[tuple[str, str]]:
    facts = list(made.holder)
    pattern = made.pattern
    if pattern is not None:
        lost = hidden_loss(
            problem.cells, problem.protection, made.hidden, np.abs(problem.cells.values).astype(float), computed
        )
        best = "the least possible" if pattern.gap <= _EVEN else f"at most {pattern.gap:.1%} above the least possible"
        known = best if np.isfinite(pattern.bound) else "not known how far above the least possible"
        facts.append(("lost", str(lost)))
        facts.append(("weight of secondary suppressions", f"{known} (method {pattern.method})"))
    else:
        facts.append(("lost", str(changed_loss(problem.cells, made.values))))
    return facts
