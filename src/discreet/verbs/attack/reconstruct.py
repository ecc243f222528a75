"""Database reconstruction from noisy counts: enough counts that are too exact reveal every secret bit.

Dinur and Nissim (2003), "Revealing information while preserving privacy"; Dwork, McSherry and Talwar (2007), "The price
of privacy and the limits of LP decoding". Noise well below the square root of the number of people does not help
against someone who may ask a few random questions a person; noise well above it does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from discreet.core.optional import extra
from discreet.core.programs import Program
from discreet.errors import DataError
from discreet.verbs.attack.finding import Array, Finding, failed_finding, share_finding

_MEANING = (
    "Share of people whose secret bit the attacker reconstructs from the answers; the guessing rate is best, "
    "1 means that the whole column is revealed."
)


class Decoding(Enum):
    """Method by which the secret bits are computed."""

    LINEAR = "a linear program"
    """The bits between 0 and 1 for which the errors sum to least: a few answers that are far off do no harm."""
    SQUARES = "least squares"
    """The numbers for which the squared errors sum to least: best for normal noise, if bounds are left out."""


@dataclass(frozen=True)
class Reconstruction:
    """Reconstructed bits, and the finding."""

    bits: Array
    """Bit of each person, 0 or 1."""
    finding: Finding


def reconstruct(
    queries: Array, answers: Array, truth: Array | None = None, *, by: Decoding = Decoding.LINEAR
) -> Reconstruction:
    """Compute everyone's secret bit from noisy counts: a row of ``queries`` says (0 or 1) whom its answer counts.

    ``truth`` is the holder's: only with it can be told whether the bits are right.
    """
    asked, told = np.asarray(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if asked.ndim != 2 or not asked.size or told.shape != asked.shape[:1]:
        raise DataError(f"An answer is needed for each query: got {told.shape} for {asked.shape}.")
    if not (np.isfinite(asked).all() and np.isfinite(told).all()):
        raise DataError("Queries and answers must be finite numbers.")
    estimate = (
        _linear(asked, told)
        if by is Decoding.LINEAR
        else np.linalg.lstsq(asked.T @ asked, asked.T @ told, rcond=None)[0]
    )
    bits = (estimate > 0.5).astype(np.int8)
    return Reconstruction(bits, _evaluate(bits, truth, len(told), by))


def expected_share(people: int, queries: int, deviation: float) -> float:
    """The share of bits that least squares gets right from random subsets and normal noise, for many people.

    Each estimate is off by a normal error of variance 4 s² / (m - n): entries of the matrix have variance 1/4, and n of
    the m answers are used up by the unknowns. A bit is right if its error stays within 1/2.
    """
    if queries <= people or deviation < 0:
        raise DataError("Least squares need more answers than people, and noise that is not negative.")
    if not deviation:
        return 1.0
    return 0.5 * math.erfc(-math.sqrt(queries - people) / (4 * deviation) / math.sqrt(2))


def _linear(queries: Array, answers: Array) -> Array:
    """Minimise the sum of |Qx - a| over 0 <= x <= 1 by its dual, which has a row a person instead of one an answer:
    maximise a·y - Σ z over |y| <= 1, z >= 0, Qᵗy <= z. The bits are the prices of its rows."""
    with extra("attack"):
        from scipy.sparse import csr_array, eye_array, hstack
    count, people = queries.shape
    cost = np.concatenate([-answers, np.ones(people)])
    least, most = (np.repeat(ends, [count, people]) for ends in ((-1.0, 0.0), (1.0, np.inf)))
    matrix = hstack([csr_array(queries.T), -eye_array(people)], format="csr")
    solved = Program(cost, matrix, -np.inf, 0.0, least, most).solve(solver="ipm")
    if solved.x is None:
        raise DataError(f"The linear program was not solved: {solved.status.value}.")
    return -solved.duals


def _evaluate(bits: Array, truth: Array | None, answers: int, by: Decoding) -> Finding:
    attack = f"reconstruction by {by.value}"
    knows = f"The attacker knows who is counted in each of {answers:,} counts, and their answers."
    if truth is None:
        return failed_finding(attack, knows, "Scoring this attack needs the true bits.")
    secret = np.asarray(truth)
    if secret.shape != bits.shape or not np.isin(secret, (0, 1)).all():
        raise DataError(f"The truth must be 0 or 1 for each of {len(bits):,} people.")
    often = float(np.mean(secret))
    details = {"people": len(bits), "answers": answers}
    return share_finding(
        attack, knows, (bits == secret).astype(float), max(often, 1 - often), _MEANING, details=details
    )
