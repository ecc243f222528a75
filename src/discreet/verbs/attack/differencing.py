"""Differencing: two answers that differ by one person, repeated answers averaged, and the last value from a mean.

Denning, Denning and Schwartz (1979), "The tracker: a threat to statistical database security": an interface that
refuses small groups is no protection, because two large groups may differ by one person. Noise that is drawn anew for
every repeat is none either, because it averages out. An answer that is charged, noisy and stored withstands both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.kind import NUMBERS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError, Refused
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Array, Finding, failed_finding, share_finding

Ask = Callable[[str], float]
"""Interface under attack: the number of people who fulfil an SQL condition, exact or not; or ``Refused``."""

_MEANING = (
    "Share of attacked people whose secret the attacker determines; the baseline is guessing the most "
    "frequent value, 1 means that answers reveal anyone's secret."
)


def differencing(ask: Ask, known: Table, secret: tuple[str, Any], *, people: int = 50) -> Finding:
    """Learn who has the value ``secret`` (a column and a value) from counts with and without each person.

    ``known`` is the original. The attacker knows its quasi-identifiers and attacks the first ``people`` who are alone
    with theirs; all else is there to tell who was right.
    """
    return _attack_counts("differencing", ask, known, secret, people=people, times=1)


def averaging(ask: Ask, known: Table, secret: tuple[str, Any], *, people: int = 50, times: int = 100) -> Finding:
    """Differencing with each question asked ``times`` times, and the answers averaged."""
    if times < 2:
        raise BadInput("Averaging needs at least 2 answers to a question.")
    return _attack_counts("averaging", ask, known, secret, people=people, times=times)


def _attack_counts(attack: str, ask: Ask, known: Table, secret: tuple[str, Any], *, people: int, times: int) -> Finding:
    name, value = secret
    columns = [column.name for column in known.card.having(Role.QUASI) if column.name != name]
    knows = f"The attacker knows {', '.join(columns) or 'nothing'} of everyone"
    knows += f", and asks each question {times:,} times." if times > 1 else ", and asks pairs of questions."
    try:
        rows = known.fetch()
        columns = [column for column in columns if not rows[column].null_count]
        who = _unique_rows(rows, columns)[:people]
        if not len(who):
            return failed_finding(attack, knows, "No one is unique on what the attacker knows.")
        has = np.array([one == value for one in rows[name].to_pylist()])[who]
    except (BadInput, KeyError) as problem:
        return failed_finding(attack, knows, f"The attack cannot run: {problem}.")
    interface = _RepeatedAnswers(ask, times)
    having = sql.column(name).eq(sql.literal(value))
    told = [
        _difference(interface, having, {column: rows[column][int(row)].as_py() for column in columns}) for row in who
    ]
    often = float(has.mean())
    guess = often > 0.5
    right = np.array([(guess if one is None else one > 0.5) == truth for one, truth in zip(told, has, strict=True)])
    details = {
        "people": len(who),
        "questions": interface.asked,
        "refused": interface.refused,
        "spread of repeats": interface.spread,
    }
    return share_finding(
        attack, knows, right.astype(float), max(often, 1 - often), _MEANING, details=details, people=who
    )


@dataclass
class _RepeatedAnswers:
    """An interface, asked each question several times."""

    ask: Ask
    times: int
    asked: int = 0
    refused: int = 0
    spread: float = 0.0
    """Largest standard deviation of the answers to one question: 0 if they are all the same."""
    _answers: dict[str, float | None] = field(default_factory=dict)

    def count(self, condition: exp.Expr) -> float | None:
        """The mean of the answers; None if there was none. Equal questions are put once."""
        question = condition.sql("duckdb")
        if question not in self._answers:
            self._answers[question] = self._mean_answer(question)
        return self._answers[question]

    def _mean_answer(self, question: str) -> float | None:
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


def _difference(interface: _RepeatedAnswers, having: exp.Expr, person: dict[str, Any]) -> float | None:
    """How many fewer have the secret when one person is left out."""
    unlike = exp.or_(*(sql.column(name).neq(sql.literal(value)) for name, value in person.items()))
    everybody, others = interface.count(having), interface.count(exp.and_(having, unlike))
    return None if everybody is None or others is None else everybody - others


def _unique_rows(rows: pa.Table, columns: list[str]) -> Array:
    """Places of the rows that share their values in ``columns`` with no other."""
    if not columns:
        return np.zeros(0, np.int64)
    numbered = rows.select(columns).append_column("row", pa.array(np.arange(rows.num_rows)))
    groups = numbered.group_by(columns).aggregate([("row", "count"), ("row", "min")])
    return np.sort(groups["row_min"].to_numpy()[groups["row_count"].to_numpy() == 1])


@declare(ATTACKS, "the last value from a mean", rank=20)
class LastFromMean:
    """Compute one person's value from a mean, the number of people and the values of all others.

    ``within``: how near the true value, as a share of the column's range, counts as known. For releases whose payload
    is a number and whose recipe names the ``column`` and the ``count`` of values.
    """

    within: float = parameter(
        "Tolerance within which a value counts as known, as a share of the column's range.", default=0.01
    )

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        """For a mean."""
        said = release.recipe.parameters
        number = isinstance(release.payload, int | float) and not isinstance(release.payload, bool)
        if number and isinstance(said.get("column"), str) and isinstance(said.get("count"), int):
            return None
        return "The release is not a mean of a column."

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Share of people whose value is computed."""
        knows = "The attacker knows the number of people and the values of all but any one of them."
        try:
            if why := self.applies(release):
                raise DataError(why)
            values, width = _values(known, release.recipe.parameters["column"])
            if len(values) != release.recipe.parameters["count"]:
                raise DataError(f"The mean is not of the {len(values):,} known values.")
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))
        mean = float(release.payload)
        computed = mean * len(values) - (values.sum() - values)
        near = np.abs(computed - values) <= self.within * width
        guessed = float(np.mean(np.abs(mean - values) <= self.within * width))
        special = np.argsort(-np.abs(values - np.median(values)), kind="stable")[:SHOWN_VICTIMS]
        meaning = (
            f"Share of people whose {release.recipe.parameters['column']} is computed to within "
            f"{self.within:.0%} of its range by an attacker who knows all others' values; outliers are "
            "exposed even to attackers who know less. 0 is best."
        )
        details = {"people": len(values), "computed for the largest outlier": float(computed[special[0]])}
        found = share_finding(self.name, knows, near.astype(float), guessed, meaning, details=details)
        return replace(found, victims=tuple(int(place) for place in special if near[place]))


def _values(known: Table, name: str) -> tuple[Array, float]:
    """The values, and the width of their range: as declared, or as they are."""
    column, cells = known.card[name], known.fetch()[name].drop_null()
    if column.kind not in NUMBERS:
        raise DataError(f"{name!r} holds no numbers.")
    values = np.asarray(cells.cast(pa.float64(), safe=False).to_numpy(), dtype=float)
    if not len(values):
        raise DataError(f"{name!r} holds no values.")
    low, high = column.bounds or (values.min(), values.max())
    return values, float(high) - float(low)  # type: ignore[arg-type]  # a column of numbers is bounded by numbers
