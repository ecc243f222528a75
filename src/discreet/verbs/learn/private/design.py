"""Columns as numbers of a row, for learners that multiply and add: linear and logistic regression, components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import BadInput
from discreet.verbs.learn.frame import Figures
from discreet.verbs.learn.private.coding import FINE, CodedRows, Codes, Coding
from discreet.verbs.learn.private.meter import Lesson, Noisy, Slots
from discreet.verbs.learn.private.model import Term

MOST_TERMS = 1000
"""Coefficients of a model, at most."""


@dataclass(frozen=True)
class Design:
    """Columns as numbers of a row: 1, each number from -1 to 1, and 0 or 1 for each value of a column with values."""

    codings: tuple[Coding, ...]

    @classmethod
    def of(cls, codings: Sequence[Coding]) -> Design:
        """The design of these columns."""
        return cls(tuple(codings))

    @property
    def sizes(self) -> list[int]:
        """Coefficients of each column: one for a number, and one more if it may be missing."""
        return [1 + (one.size > one.values) if one.fine else one.size for one in self.codings]

    @property
    def size(self) -> int:
        """Coefficients with the intercept."""
        return 1 + sum(self.sizes)

    def apart(self, first: Codes, second: Codes) -> Codes:
        """Pairs of which one is always 0: two values of one column."""
        column = np.repeat(np.arange(len(self.sizes) + 1), [1, *self.sizes])
        return np.asarray((column[first] == column[second]) & (first != second))

    def entries(self, rows: CodedRows, part: slice) -> Codes:
        """Rows × coefficients, in steps of 1 / ``FINE``."""
        held = len(rows.target[part])
        found = np.zeros((held, self.size), np.int64)
        found[:, 0] = FINE
        at = 1
        for coding, codes, size in zip(self.codings, rows.columns, self.sizes, strict=True):
            code = codes[part].astype(np.int64)
            if coding.fine:
                found[:, at] = np.where(code < coding.values, 2 * code - FINE, 0)
                if size > 1:
                    found[:, at + 1] = np.where(code < coding.values, 0, FINE)
            else:
                found[np.arange(held), at + code] = FINE
            at += size
        return found

    def slots(self, rows: CodedRows, part: slice, factor: Figures) -> Slots:
        """The same numbers, multiplied by a factor of each row: only those that are not always 0."""
        found: list[tuple[Codes, Figures]] = [(np.zeros(len(factor), np.int64), factor)]
        at = 1
        for coding, codes, size in zip(self.codings, rows.columns, self.sizes, strict=True):
            code = codes[part].astype(np.int64)
            if coding.fine:
                known = code < coding.values
                found.append(
                    (np.where(known, at, at + size - 1), np.where(known, (2 * code - FINE) / FINE, 1.0) * factor)
                )
            else:
                found.append((at + code, factor))
            at += size
        return found

    def tables(self, coefficients: Figures) -> list[Figures]:
        """What each code of each column adds, from coefficients (terms × scores)."""
        found, at = [], 1
        for coding, size in zip(self.codings, self.sizes, strict=True):
            own = coefficients[at : at + size]
            at += size
            if coding.fine:
                table = coding.numbers()[:, None] * own[0]
                if size > 1:
                    table[-1] = own[1]
                found.append(table)
            else:
                found.append(own)
        return found

    def terms(self, coefficients: Figures) -> tuple[Term, ...]:
        """The model's term for each column, from coefficients (terms × scores)."""
        terms, at = [], 1
        for coding, size in zip(self.codings, self.sizes, strict=True):
            own = coefficients[at : at + size].tolist()
            none = [0.0] * coefficients.shape[1]
            at += size
            if coding.fine:
                weights = (tuple(none), tuple(own[1])) if size > 1 else ()
                terms.append(Term(coding.feature, (), weights, tuple(own[0])))
            else:
                lines = own if coding.size > coding.values else [*own, none]
                terms.append(Term(coding.feature, (), tuple(map(tuple, lines))))
        return tuple(terms)

    def measured_products(self, lesson: Lesson, share: Fraction) -> tuple[Figures, Noisy]:
        """Sums of products of all pairs of these numbers, with noise, as a symmetric matrix."""
        first, second = np.triu_indices(self.size)
        there = ~self.apart(first, second)
        pairs = np.stack([first[there], second[there]])
        rows = lesson.rows
        noisy = lesson.meter.products(lambda part: self.entries(rows, part), pairs, FINE, 1 + len(self.codings), share)
        matrix = np.zeros((self.size, self.size))
        matrix[pairs[0], pairs[1]] = noisy.sums
        return np.triu(matrix) + np.triu(matrix, 1).T, noisy


def require_terms(codings: Sequence[Coding]) -> None:
    """An error if a model of these columns has too many coefficients."""
    if (many := Design.of(codings).size) > MOST_TERMS:
        raise BadInput(
            f"{many:,} coefficients are too many: there may be {MOST_TERMS:,} at most.",
            hint="Name fewer columns (columns=[…], or on COLUMNS).",
        )
