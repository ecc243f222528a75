"""Tabulate: print a table of figures without giving anybody away."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.core.exact import Number
from discreet.core.families import TABLE_METHODS
from discreet.core.holder_copy import RELEASE, fingerprint, kept
from discreet.core.recipe import Recipe, versions
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.tabulate.exposure import exposures
from discreet.verbs.tabulate.intruder.audit import certify, intervals
from discreet.verbs.tabulate.intruder.seen import LEAST
from discreet.verbs.tabulate.method import Job, Outcome, Progress, Way
from discreet.verbs.tabulate.printing.holder import Holder
from discreet.verbs.tabulate.printing.information import changed_loss, hidden_loss
from discreet.verbs.tabulate.printing.printed import Printed
from discreet.verbs.tabulate.printing.tabulated import Tabulated
from discreet.verbs.tabulate.protection import Intervals
from discreet.verbs.tabulate.rules import Request, Rule, Zero, parse_rules, protect
from discreet.verbs.tabulate.tables.additive import require_additive
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, written

Source: TypeAlias = Table | CrossTable | Sequence[CrossTable]
_EVEN = 1e-9
_TOLD = 30_000
"""Of more hidden cells it is certified that they keep their intervals, and these are not computed: it takes hours."""
_BETWEEN = re.compile(r"\s*[×*]\s*|\s+x\s+")


def tabulate(
    source: Source,
    by: str | Sequence[str] = (),
    value: str | None = None,
    *,
    rules: str | Sequence[str | Rule] = (),
    method: str | Way = "suppress",
    weight: str | None = None,
    decimals: int | None = None,
    share: Number = "1/10",
    negative: Literal["refuse", "absolute"] = "refuse",
    weights: np.ndarray[Any, Any] | None = None,
    seed: int | None = None,
    secret: bytes | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    keep: str | Path | None = None,
    progress: Progress = lambda done, what: None,
) -> Tabulated:
    """A table of counts, or of the sums of ``value``, that gives nobody away.

    ``source`` is a table of rows, which is added up on its engine ``by`` some columns (``"region × activity"``;
    several such texts make several tables, protected together), or tables of figures as ``dc.read_table`` gives them.
    ``rules`` say which cells are sensitive (``share`` and ``negative`` as for ``protect``), ``method`` what is done
    about it, ``weights`` what hiding or changing each cell costs. A table whose protection cannot be shown does not
    leave: an error says which cell, and what to do.

    ``secret`` makes the numbers of records that cell keys and factors hang on: the same one changes the same people in
    the same way, so the one that was drawn (``holder.secret``) is kept for the next table.
    """
    way = TABLE_METHODS.parse(method) if isinstance(method, str) else method
    said = _rules(rules)
    if way.protects and not said:
        raise BadInput("Say which cells are sensitive: give rules.", hint='Such as "p=10", "n=1,k=0.7" or "min=3".')
    progress(0.0, "adding up")
    tables, sides = _tables(source, by, value, said, weight=weight, decimals=decimals)
    cells = _known(Cells.of(*tables), source, value, way, said)
    require_additive(cells)
    if weights is not None and (np.shape(weights) != (len(cells),) or not (np.asarray(weights) >= 0).all()):
        raise BadInput(f"There must be a weight of 0 or more for each of {len(cells):,} cells.")
    protection = protect(cells, said, share=share, negative=negative)
    job = Job(
        cells,
        protection,
        source if isinstance(source, Table) else None,
        sides,
        value,
        weight,
        weights,
        seed,
        secret,
        lambda done, what: progress(0.1 + 0.6 * done, what),
    )
    outcome = way.apply(job)
    release = _release(job, way, said, outcome, lambda done, what: progress(0.7 + 0.3 * done, what))
    _save(release, to, csv=csv, keep=keep)
    progress(1.0, "done")
    return release


def sides_of(by: str | Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The columns of each table: "region × activity; region × size" has two."""
    texts = by.split(";") if isinstance(by, str) else list(by)
    found = tuple(tuple(filter(None, map(str.strip, _BETWEEN.split(text.strip())))) for text in texts)
    if not found or not all(found):
        raise BadInput("Say what the table is by.", hint='Such as "region × activity".')
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
                f"A {type(source).__name__} is neither a table of rows nor tables of figures.",
                hint="Open rows with dc.read(data, card=…), figures with dc.read_table(file).",
            )
        if by or value or any(one is not None for one in how.values()):
            raise BadInput("A table of figures has been added up already: give it and its rules alone.")
        return given, ()
    sides = sides_of(by)
    largest = max((rule.largest for rule in rules), default=0)
    declared = any(isinstance(rule, Zero) for rule in rules)
    made = (build(source, one, value, keep_largest=max(largest, 2), declared=declared, **how) for one in sides)
    return tuple(made), sides


def _rules(rules: str | Sequence[str | Rule]) -> tuple[Rule, ...]:
    if isinstance(rules, str):
        return parse_rules(rules)
    return tuple(one for rule in rules for one in (parse_rules(rule) if isinstance(rule, str) else (rule,)))


def _known(cells: Cells, source: Source, value: str | None, way: Way, rules: Sequence[Rule]) -> Cells:
    """The cells with what everybody knows of each before the table is printed.

    A count of 0 is hidden only if ``zeros`` or a rule says so; where none does, everybody knows that what is hidden is
    at least 1. Sums may be negative where the card says that what is added up may be.
    """
    if not cells.tables[0].what:
        hides = getattr(way, "zeros", False) or any(isinstance(rule, Zero | Request) for rule in rules)
        return cells if hides else cells.knowing(np.minimum(cells.values, 1).clip(0), cells.upper)
    bounds = source.card[value].bounds if isinstance(source, Table) and value is not None else None
    if bounds is not None and bounds[0] < 0:  # type: ignore[operator]  # a number, as what is added up
        return cells.knowing(np.full(len(cells), -np.inf), cells.upper)
    return cells


def _release(job: Job, way: Way, rules: Sequence[Rule], outcome: Outcome, progress: Progress) -> Tabulated:
    """The release of what was made, after everything that is claimed was checked on it."""
    cells, protection = job.cells, job.protection
    told = None
    if outcome.pattern is not None:
        certify(cells, protection, outcome.hidden, progress=lambda done, what: progress(0.5 * done, what))
        if int(outcome.hidden.sum()) <= _TOLD:
            told = intervals(cells, outcome.hidden, progress=lambda done, what: progress(0.5 + 0.5 * done, what))
    printed = Printed.of(cells, outcome.values, outcome.hidden)
    card = job.source.card if job.source is not None else None
    what = cells.tables[0].what or "counts"
    by = "; ".join(" × ".join(side.name for side in table.dimensions) for table in printed.tables)
    least = float(cells.lower[cells.values != 0].min(initial=np.inf if (cells.values != 0).any() else 0.0))
    parameters: dict[str, Any] = {
        "tables": printed.structure(),
        **({"rules": [rule.kind for rule in rules]} if way.protects else {}),
        LEAST: int(least) if np.isfinite(least) else None,
        **outcome.told,
    }
    known = f" and that it is at least {written(least, cells.decimals)}" if np.isfinite(least) else ""
    assumes = (f"Nobody knows more of a figure than what is printed{known}.",)
    statement = Statement(
        card.unit if card is not None and card.unit else "respondent",
        models=outcome.claims,
        evidence=Evidence.CHECKED if outcome.claims else Evidence.ARGUED,
        assumes=assumes if outcome.claims else (),
        caveats=outcome.caveats,
    )
    recipe = Recipe(
        way.name,
        parameters,
        outcome.steps,
        seed=job.seed,
        versions=versions(job.source.engine if job.source is not None else None),
    )
    learned = exposures(cells, protection)
    facts = _facts(job, outcome, told)
    holder = Holder(cells, protection, outcome.values, outcome.hidden, told, learned, facts, outcome.secret)
    return Tabulated(printed.rows(), statement, recipe, title=f"{what} by {by}", printed=printed, holder=holder)


def _facts(job: Job, outcome: Outcome, told: Intervals | None) -> list[tuple[str, str]]:
    facts = list(outcome.holder)
    pattern = outcome.pattern
    if pattern is not None:
        lost = hidden_loss(job.cells, job.protection, outcome.hidden, np.abs(job.cells.values).astype(float), told)
        best = "the least possible" if pattern.gap <= _EVEN else f"at most {pattern.gap:.1%} of it more than needed"
        known = best if np.isfinite(pattern.bound) else "not compared with the least possible"
        facts.append(("lost", str(lost)))
        facts.append(("what is hidden besides weighs", f"{known} ({pattern.method})"))
    else:
        facts.append(("lost", str(changed_loss(job.cells, outcome.values))))
    return facts


def _save(release: Tabulated, to: str | Path | None, *, csv: bool, keep: str | Path | None) -> None:
    rows = release.holder.rows() if release.holder is not None and keep is not None else None
    with kept(rows, keep) as notes:
        notes[RELEASE] = fingerprint(release.payload if to is None else release.save(to, csv=csv))
