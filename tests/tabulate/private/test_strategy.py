"""What is counted, and for what share: the error that is compared is exact, and nothing simple is better."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.noise.deviation import Noise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.tabulate.private.counts import Precision
from discreet.verbs.tabulate.private.strategy import Columns, Strategy, Workload, choose, closed_below


def workload(sizes: dict[str, int], *tables: str, groups: dict[str, tuple[int, ...]] | None = None) -> Workload:
    """Columns with a letter each; a column has leaves alone, or these groups too."""
    every = tuple((groups or {}).get(name, ()) + (1,) * n for name, n in sizes.items())
    return Workload(tuple(sizes), tuple(sizes.values()), every, tuple(map(frozenset, tables)))


def precision(work: Workload, strategy: Strategy, *, pure: bool) -> Precision:
    """At a loss so small that discrete noise has the variance of continuous noise, to many digits."""
    small = Fraction(1, 10**6)
    noises: list[Noise] = []
    for share in strategy.shares:
        noises.append(DiscreteLaplace(1 / (small * share)) if pure else DiscreteGaussian(1 / (2 * small * share)))
    return Precision(work.leaves, strategy.sets, tuple(noises))


def error(work: Workload, strategy: Strategy, *, pure: bool) -> float:
    """The summed variance of every printed cell, one by one."""
    found, groups = precision(work, strategy, pure=pure), dict(zip(work.names, work.groups, strict=True))
    return sum(
        found.variance(dict(zip(sorted(columns), cell, strict=True)))
        for columns in work.printed
        for cell in product(*(groups[name] for name in sorted(columns)))
    )


WORKS = [
    workload({"a": 3, "b": 2, "c": 4}, "ab", "bc", "ac"),
    workload({"a": 6, "b": 2}, "ab", groups={"a": (4, 2)}),
    workload({"a": 2, "b": 3, "c": 5, "d": 2}, "abc", "cd", "b"),
    workload({"a": 40}, "a", groups={"a": (10, 30)}),
    workload({"a": 2, "b": 2}, "a", "b"),
]


@pytest.mark.parametrize("work", WORKS, ids=lambda work: str([sorted(one) for one in work.tables]))
def test_the_error_that_is_compared_is_the_sum_over_all_cells(work: Workload) -> None:
    strategy = choose(work, pure=False)
    total = 0.0
    for part, need in work.needs.items():
        total += need / sum(share * 2e-6 / work.size(one) for one, share in pairs(strategy) if part <= one)
    assert total == pytest.approx(error(work, strategy, pure=False), rel=1e-6)


def pairs(strategy: Strategy) -> list[tuple[Columns, float]]:
    return [(one, float(share)) for one, share in zip(strategy.sets, strategy.shares, strict=True)]


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("work", WORKS, ids=lambda work: str([sorted(one) for one in work.tables]))
def test_shares_add_up_to_one_and_no_other_is_better(work: Workload, pure: bool) -> None:
    chosen = choose(work, pure=pure)
    assert sum(chosen.shares) == 1
    assert all(any(table <= one for one in chosen.sets) for table in work.tables)
    best = error(work, chosen, pure=pure)
    tables = [one for one in work.tables if not any(one < other for other in work.tables)]
    draws = np.random.default_rng(3)
    for sets in (tables, list(closed_below(tables)), [frozenset(work.names)]):
        cells = np.array([work.size(one) for one in sets], dtype=float)
        rule = cells ** (1 / 3 if pure else 1 / 2)
        for parts in (rule, np.ones(len(sets)), *draws.dirichlet(np.ones(len(sets)), size=5)):
            shares = [Fraction(float(part)) for part in parts / parts.sum()]
            if all(shares):
                assert best <= error(work, Strategy(tuple(sets), tuple(shares)), pure=pure) * (1 + 1e-6)


def test_small_tables_are_counted_as_one_when_losses_add_up() -> None:
    """Two yes-or-no columns: counted together each figure is a sum of two, and gets twice the epsilon."""
    work = workload({"a": 2, "b": 2}, "a", "b")
    assert choose(work, pure=True).sets == (frozenset("ab"),)
    assert set(choose(work, pure=False).sets) >= {frozenset("a"), frozenset("b")}


def test_the_total_of_many_cells_is_worth_counting() -> None:
    for pure in (True, False):
        assert set(choose(workload({"a": 1000}, "a"), pure=pure).sets) == {frozenset(), frozenset("a")}


def test_least_squares_beats_counting_all_pairs_alone_by_what_is_predicted() -> None:
    sizes = dict(zip("abcdefghi", (2, 74, 5, 7, 16, 41, 7, 14, 2), strict=True))
    work = workload(sizes, *("".join(pair) for pair in combinations(sizes, 2)))
    found = precision(work, choose(work, pure=True), pure=True)
    made = sum(work.size(one) * found.variance(dict.fromkeys(one, 1)) for one in work.tables)
    alone = sum(map(work.size, work.tables)) * DiscreteLaplace(36 * 10**6).variance
    assert alone / made == pytest.approx(3.25, abs=0.01)


def test_with_gaussian_noise_no_strategy_at_all_is_much_better() -> None:
    """Whatever is counted, with Gaussian noise of any covariance, the error is at least (Σ √(need · dimension))² / 2ρ.

    Why: that is the least when each part may be given a precision c of its own, at the price Σ c · dimension = 2ρ
    (Xiao, He, Zhang, Kifer 2023).
    """
    sizes = dict(zip("abcdefghi", (2, 74, 5, 7, 16, 41, 7, 14, 2), strict=True))
    work = workload(sizes, *("".join(pair) for pair in combinations(sizes, 2)))
    roots = [np.sqrt(need * np.prod([sizes[name] - 1 for name in part])) for part, need in work.needs.items()]
    least = float(np.sum(roots)) ** 2 / 2e-6
    found = error(work, choose(work, pure=False), pure=False)
    assert 1 <= found / least < 1.05
