"""Total epsilon of a batch of mechanisms fixed in advance, from their privacy-loss distributions.

A report for people, through dp-accounting (the extra ``accounting``), and in floats. It is never used to
admit anything: composing distributions presumes that all mechanisms were fixed in advance, while an
analyst chooses each question by the answers to the last. Budgets are kept by ``discreet.budget.filter``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.core.exact import Number, exact
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.core.optional import extra
from discreet.errors import BadInput, NoPromise


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise of this scale on an integer that one unit changes by at most ``sensitivity``."""

    scale: Fraction
    sensitivity: int = 1


@dataclass(frozen=True)
class GaussianNoise:
    """Discrete Gaussian noise of this σ on an integer that one unit changes by at most ``sensitivity``."""

    sigma: Fraction
    sensitivity: int = 1


Mechanism: TypeAlias = Loss | LaplaceNoise | GaussianNoise

_STEP = 1e-4


def batch_epsilon(mechanisms: Iterable[Mechanism], delta: Number) -> float:
    """The ε of all mechanisms together at δ, rounded up by about 1e-4 a mechanism.

    Why this is private: each is dominated by a pair of distributions (a loss of (ε, δ) by the randomised
    response of Kairouz, Oh, Viswanath 2015; noise by its own at the largest shift), and so is the batch by
    their product (Zhu, Dong, Wang 2022). dp-accounting rounds privacy losses up to a grid. A concentrated
    or Rényi loss has no such pair: name the noise instead.
    """
    bound = exact(delta, "delta")
    if bound >= 1:
        raise BadInput(f"delta must be below 1, got {delta}.")
    with extra("accounting"):
        from dp_accounting.pld import common  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from dp_accounting.pld import privacy_loss_distribution as pld  # type: ignore[unused-ignore]

    def one(mechanism: Mechanism) -> Any:
        match mechanism:
            case Pure(epsilon=epsilon):
                parameters = common.DifferentialPrivacyParameters(float(epsilon), 0.0)
                return pld.from_privacy_parameters(parameters, value_discretization_interval=_STEP)
            case Approximate(epsilon=epsilon, delta=delta_):
                parameters = common.DifferentialPrivacyParameters(float(epsilon), float(delta_))
                return pld.from_privacy_parameters(parameters, value_discretization_interval=_STEP)
            case LaplaceNoise(scale=scale, sensitivity=sensitivity):
                return pld.from_discrete_laplace_mechanism(
                    float(1 / Fraction(scale)), sensitivity, value_discretization_interval=_STEP
                )
            case GaussianNoise(sigma=sigma, sensitivity=sensitivity):
                return pld.from_discrete_gaussian_mechanism(
                    float(sigma), sensitivity, value_discretization_interval=_STEP
                )
            case Concentrated() | Renyi():
                raise NoPromise(
                    f"A loss of {mechanism} does not determine a privacy-loss distribution.",
                    hint="Describe the noise itself, as LaplaceNoise or GaussianNoise.",
                )

    composed = None
    for mechanism, times in Counter(mechanisms).items():
        several = one(mechanism).self_compose(times)
        composed = several if composed is None else composed.compose(several)
    return 0.0 if composed is None else float(composed.get_epsilon_for_delta(float(bound)))
