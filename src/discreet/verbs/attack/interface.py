"""Attacks on whoever answers questions: differencing (two counts that differ by one person) and averaging (repeats).

Denning, Denning and Schwartz (1979), "The tracker: a threat to statistical database security": a door that refuses
small groups is no protection, because two large groups may differ by one person. Noise that is drawn anew for every
repeat is none either, because it averages out. An answer that is charged, noisy and stored withstands both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.table import Table
from discreet.errors import BadInput, Refused
from discreet.verbs.attack.finding import Finding, failed, share

Array = npt.NDArray[Any]
Ask = Callable[[str], float]
"""Answers how many people fulfil an SQL condition, exactly or not; raises ``Refused`` if it does not answer."""

_MEANING = (
    "The share of attacked people of whom the attacker tells rightly whether they have the secret; guessing what most "
    "have is best, 1 means that the door can be asked about anybody."
)


def differencing(ask: Ask, known: Table, secret: tuple[str, Any], *, people: int = 50) -> Finding:
    """Learn who has the value ``secret`` (a column and a value) by asking how many have it, with and without them.

    ``known`` is the original. The attacker knows its quasi-identifiers and attacks the first ``people`` who are alone
    with theirs; all else is there to tell who was right.
    """
    return _attacked("differencing", ask, known, secret, people=people, times=1)


def averaging(ask: Ask, known: Table, secret: tuple[str, Any], *, people: int = 50, times: int = 100) -> Finding:
    """As ``differencing``, but each question is asked ``times`` times, and the mean of the answers believed."""
    if times < 2:
        raise BadInput("Averaging takes at least 2 answers to a question.")
    return _attacked("averaging", ask, known, secret, people=people, times=times)


def _attacked(attack: str, ask: Ask, known: Table, secret: tuple[str, Any], *, people: int, times: int) -> Finding:
    name, value = secret
    columns = [column.name for column in known.card.having(Role.QUASI) if column.name != name]
    knows = f"The attacker knows {', '.join(columns) or 'nothing'} of everybody"
    knows += f", and asks each question {times:,} times." if times > 1 else ", and asks pairs of questions."
    try:
        rows = known.fetch()
        columns = [column for column in columns if not rows[column].null_count]
        who = _alone(rows, columns)[:people]
        if not len(who):
            return failed(attack, knows, "Nobody is alone with what the attacker knows.")
        has = np.array([one == value for one in rows[name].to_pylist()])[who]
    except (BadInput, KeyError) as problem:
        return failed(attack, knows, f"The attack lacks something: {problem}.")
    door = _Door(ask, times)
    having = sql.column(name).eq(sql.literal(value))
    told = [_told(door, having, {column: rows[column][int(row)].as_py() for column in columns}) for row in who]
    often = float(has.mean())
    guess = often > 0.5
    right = np.array([(guess if one is None else one > 0.5) == truth for one, truth in zip(told, has, strict=True)])
    details = {"people": len(who), "questions": door.asked, "refused": door.refused, "spread of repeats": door.spread}
    return share(attack, knows, right.astype(float), max(often, 1 - often), _MEANING, details=details, people=who)


@dataclass
class _Door:
    """Whoever answers, asked several times."""

    ask: Ask
    times: int
    asked: int = 0
    refused: int = 0
    spread: float = 0.0
    """The largest standard deviation among the answers to one question: 0, if they are all the same."""
    _held: dict[str, float | None] = field(default_factory=dict)

    def count(self, condition: exp.Expr) -> float | None:
        """The mean of the answers; None, if there was none. A question is put once to the attacker's own notes."""
        question = condition.sql("duckdb")
        if question not in self._held:
            self._held[question] = self._answered(question)
        return self._held[question]

    def _answered(self, question: str) -> float | None:
        got = []
        for _ in range(self.times):
            self.asked += 1
            try:
                got.append(float(self.ask(question)))
            except Refused:
                self.refused += 1
                break
        self.spread = max(self.spread, pstdev(got) if got else 0.0)
        return fmean(got) if got else None


def _told(door: _Door, having: exp.Expr, person: dict[str, Any]) -> float | None:
    """How many fewer have the secret when one person is left out."""
    unlike = exp.or_(*(sql.column(name).neq(sql.literal(value)) for name, value in person.items()))
    everybody, others = door.count(having), door.count(exp.and_(having, unlike))
    return None if everybody is None or others is None else everybody - others


def _alone(rows: pa.Table, columns: list[str]) -> Array:
    """The rows that share their values in ``columns`` with no other."""
    if not columns:
        return np.zeros(0, np.int64)
    numbered = rows.select(columns).append_column("row", pa.array(np.arange(rows.num_rows)))
    groups = numbered.group_by(columns).aggregate([("row", "count"), ("row", "min")])
    return np.sort(groups["row_min"].to_numpy()[groups["row_count"].to_numpy() == 1])
