"""Our restatements beside dp-accounting's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.budget.convert import to_approximate
from discreet.core.loss import Concentrated


@pytest.mark.parametrize("rho", ["0.0001", "0.02", "0.5", "8"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_a_restated_rho_is_no_larger_than_at_any_order_they_try(rho: str, delta: str) -> None:
    """They try given orders, some close to ours; we find the best one."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    best = 1 + (np.log(1 / float(delta)) / float(rho)) ** 0.5
    orders = [1 + (best - 1) * factor for factor in np.linspace(0.3, 1.2, 91)]
    theirs, _ = rdp.compute_epsilon(orders, [order * float(rho) for order in orders], float(delta))
    ours = to_approximate(Concentrated(Fraction(rho)), delta).epsilon
    assert float(ours) <= theirs * (1 + 1e-9)
    assert float(ours) >= theirs * 0.99, "and it is the same bound"


@pytest.mark.parametrize("sigma", [1, 4, 20])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-9"])
def test_a_restated_rho_is_above_the_loss_distributions_epsilon(sigma: int, delta: str) -> None:
    """The distribution of the privacy loss gives the least epsilon there is; they round it up by 1e-4 at most."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    made = pld.from_discrete_gaussian_mechanism(sigma, 1, value_discretization_interval=1e-4)
    least = made.get_epsilon_for_delta(float(delta))
    ours = to_approximate(Concentrated(Fraction(1, 2 * sigma**2)), delta).epsilon
    assert float(ours) >= least - 2e-4
