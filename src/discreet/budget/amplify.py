"""Privacy amplification by subsampling: a mechanism run on a secret sample loses less."""

from __future__ import annotations

from discreet.core.directed_rounding import exp_upper, ln_upper, round_up
from discreet.core.exact import Number, exact
from discreet.core.loss import Approximate, Loss, Pure
from discreet.errors import BadInput, NoPromise

_MOST = 64


def subsampled(loss: Loss, rate: Number) -> Loss:
    """The loss on everybody when ``loss`` is that of a run on a sample holding each unit with chance ``rate``.

    Why this is private: units are sampled independently of each other, with everything that belongs to
    them, by coins nobody sees. Output is produced with the unit in the sample with chance q, and without it
    as on the neighbour otherwise; mixing the two gives ε' = ln(1 + q(e^ε - 1)) and δ' = qδ (Balle, Barthe,
    Gaboardi 2018, Theorem 8, for neighbours that add or remove a unit). Rounded up; an ε of 64 or more is
    left as it is, which is never too little. A sample that is fixed, published or used twice earns nothing.
    """
    q = exact(rate, "rate")
    if q > 1:
        raise BadInput(f"A sampling rate lies between 0 and 1, got {rate}.")
    if not isinstance(loss, Pure | Approximate):
        raise NoPromise(
            "Subsampling amplifies a pure or an (ε, δ) loss; a concentrated or Rényi one has no such bound here.",
            hint="Restate it as (ε, δ) first, or account for it as if nothing had been sampled.",
        )
    epsilon = loss.epsilon
    if epsilon < _MOST and q * epsilon > 0 and q < 1:
        epsilon = min(epsilon, round_up(ln_upper(1 + q * (exp_upper(epsilon) - 1))))
    if q == 0:
        epsilon = q
    return Pure(epsilon) if isinstance(loss, Pure) else Approximate(epsilon, q * loss.delta)
