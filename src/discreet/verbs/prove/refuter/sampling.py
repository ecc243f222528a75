"""Refutation by sampling, the last resort: run a program many times on each input and count.

An event is chosen by some runs and tested by others, so that choosing it does not bias the count. The bounds of both
chances are Clopper and Pearson's, each wrong with probability 2.5e-10 / (j (j + 1)) at most in the j-th test; over all
tests of all pairs that adds up to less than 1e-9 (Bonferroni), and a replay can only take something back. Draws are
made of 53 uniform bits from a hash, so a run can be repeated; they protect no one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from math import comb, sqrt
from time import thread_time

from discreet.errors import BadInput
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.interpreter import Outputs, run
from discreet.verbs.prove.number_text import Enclosure
from discreet.verbs.prove.refuter.arithmetic import BallArithmetic, Chance, Logarithm, ball, ball_precision, bounds
from discreet.verbs.prove.refuter.chances import Between, Wanted, may_show
from discreet.verbs.prove.refuter.counterexample import Counterexample, allowed_ratio
from discreet.verbs.prove.refuter.neighbours import InputPair, evaluate
from discreet.verbs.prove.syntax import Program, Sample, Value

_SELECTION_RUNS = 1500
"""Runs per input that choose an event."""
_TEST_RUNS = 5000
"""Runs per input that test it."""
_ERROR_PROBABILITY = Fraction(1, 4 * 10**9)
_MIN_HITS = 20
"""Fewest runs that show an event worth testing."""
_MAX_STATEMENTS = 3000
_NEGLIGIBLE_SHARE = Fraction(1, 1 << 30)


def search_by_sampling(
    program: Program, pair: InputPair, others: Mapping[str, Program], *, test: int, end: float | None = None
) -> Counterexample | None:
    """An event that the runs of ``pair`` show to break the claim; ``test`` counts the tests from 1. None at ``end``."""
    if isinstance(pair.parameters["eps"], Logarithm):
        return None
    try:
        first, second = (
            _runs(program, pair, others, side, label=f"choose {test}", count=_SELECTION_RUNS, end=end)
            for side in (0, 1)
        )
        event = _best_event(first, second)
        if event is None:
            return None
        return confirm_by_sampling(program, pair, event, others, test=test, label="test", end=end)
    except BadInput:  # a run that does not end, or takes too long
        return None


def confirm_by_sampling(
    program: Program,
    pair: InputPair,
    event: tuple[Wanted, ...],
    others: Mapping[str, Program],
    *,
    test: int,
    label: str,
    end: float | None = None,
) -> Counterexample | None:
    """Whether fresh runs show that an event breaks the claim."""
    names = {**pair.parameters, **pair.inputs}
    claim, delta = evaluate(program.epsilon, names), evaluate(program.delta, names)
    if not isinstance(claim, int | Fraction) or not isinstance(delta, int | Fraction):
        return None
    hits = [
        sum(
            _matches(one, event)
            for one in _runs(program, pair, others, side, label=f"{label} {test}", count=_TEST_RUNS, end=end)
        )
        for side in (0, 1)
    ]
    wrong = _ERROR_PROBABILITY / (test * (test + 1))
    with ball_precision():
        low = clopper_pearson_lower(hits[0], _TEST_RUNS, wrong)
        high = 1 - clopper_pearson_lower(_TEST_RUNS - hits[1], _TEST_RUNS, wrong)
        allowed = Enclosure(*bounds(allowed_ratio(BallArithmetic(), claim)))
    if low <= allowed.high * high + delta:
        return None
    first, second = Enclosure(low, Fraction(1)), Enclosure(Fraction(0), high)
    return Counterexample(
        pair.parameters,
        pair.inputs,
        pair.neighbours,
        (event,),
        False,
        first,
        second,
        allowed,
        Fraction(delta),
        "sampled",
    )


def clopper_pearson_lower(hits: int, runs: int, wrong: Fraction) -> Fraction:
    """Clopper and Pearson's lower bound of a chance: below it, that number of hits has at most probability ``wrong``.

    By halving, always on the side where that is certain.
    """
    if hits == 0:
        return Fraction(0)
    low, high = Fraction(0), Fraction(hits, runs)
    for _ in range(30):
        middle = Fraction(round((low + high) / 2 * (1 << 40)), 1 << 40)
        if bool(_binomial_tail(hits, runs, middle) < ball(wrong)):
            low = middle
        else:
            high = middle
    return low


def _binomial_tail(hits: int, runs: int, chance: Fraction) -> Chance:
    """An upper bound of the probability of ``hits`` or more, each with ``chance`` below hits / runs.

    Each term is the one before times (n - i) / (i + 1) * p / (1 - p), which falls as i grows and is below 1: what is
    left of the sum is at most a geometric series.
    """
    odds = ball(chance / (1 - chance))
    term = ball(Fraction(comb(runs, hits))) * ball(chance) ** hits * ball(1 - chance) ** (runs - hits)
    total = ball(Fraction(0))
    for done in range(hits, runs):
        step = odds * ball(Fraction(runs - done, done + 1))
        if done % 64 == 63 and bool(term < total * ball(_NEGLIGIBLE_SHARE)):
            return total + term / (1 - step)
        total, term = total + term, term * step
    return total + term


# -- runs -------------------------------------------------------------------------------------------------------------


def _runs(
    program: Program,
    pair: InputPair,
    others: Mapping[str, Program],
    side: int,
    *,
    label: str,
    count: int,
    end: float | None,
) -> list[tuple[Wanted, ...]]:
    """The outputs of ``count`` runs."""
    given: Mapping[str, Value] = (pair.inputs, pair.neighbours)[side]  # type: ignore[assignment]
    parameters: Mapping[str, Value] = dict(pair.parameters)  # type: ignore[arg-type]
    uniform = _uniform(f"{program.name} {side} {label}")

    def draw(sample: Sample, arguments: tuple[Value, ...]) -> Value:
        return DISTRIBUTIONS[sample.distribution].sample(arguments, uniform)

    outputs = []
    for _ in range(count):
        if end is not None and thread_time() > end:
            raise BadInput("There is not enough time for this many runs.")
        outputs.append(_observed(run(program, given, parameters, draw, others, steps=_MAX_STATEMENTS)))
    return outputs


def _uniform(label: str) -> Callable[[], float]:
    """Numbers strictly between 0 and 1, the same for the same label."""
    block, numbers = 0, list[float]()

    def draw() -> float:
        nonlocal block
        if not numbers:
            block += 1
            digest = blake2b(f"{label} {block}".encode()).digest()
            words = (int.from_bytes(digest[place : place + 8], "little") for place in range(0, 64, 8))
            numbers.extend(((word >> 11) + 0.5) / (1 << 53) for word in words)
        return numbers.pop()

    return draw


def _observed(outputs: Outputs) -> tuple[Wanted, ...]:
    shown = [part for one in outputs.emitted for part in _parts(one)]
    if outputs.fault:
        return (*shown, "fault")
    if outputs.returned is not None:
        shown += ["returned", *_parts(outputs.returned)]
    return (*shown, "end")


def _parts(value: Value) -> list[Wanted]:
    if isinstance(value, tuple):
        return [f"list of {len(value)}", *(part for one in value for part in _parts(one))]
    return [value if isinstance(value, bool) else Fraction(value)]


# -- events -----------------------------------------------------------------------------------------------------------


def _best_event(first: Sequence[tuple[Wanted, ...]], second: Sequence[tuple[Wanted, ...]]) -> tuple[Wanted, ...] | None:
    """The event with the largest ratio among those seen often enough: what is shown exactly, or up to numbers, or with
    one of the numbers above or below one that was seen."""
    counts, others = Counter(first), Counter(second)
    kinds = Counter(_numbers_free(one) for one in first)
    candidates = [event for event, count in counts.most_common(20) if count >= _MIN_HITS]
    for kind, count in kinds.most_common(8):
        if count < _MIN_HITS:
            continue
        candidates.append(kind)
        same = [one for one in first if _numbers_free(one) == kind]
        for place, part in enumerate(kind):
            if isinstance(part, Between):
                seen = sorted(number for one in same if isinstance(number := one[place], Fraction))
                for share in (_MIN_HITS, len(seen) // 4, len(seen) // 2, 3 * len(seen) // 4):
                    for side in (Between(None, seen[share - 1]), Between(seen[-share], None)) if share > 0 else ():
                        candidates.append((*kind[:place], side, *kind[place + 1 :]))
    best, chosen = 0.0, None
    for event in dict.fromkeys(candidates):
        exact = not any(isinstance(part, Between) for part in event)
        hits = counts[event] if exact else sum(_matches(one, event) for one in first)
        misses = others[event] if exact else sum(_matches(one, event) for one in second)
        ratio = (hits - 2 * sqrt(hits)) / (misses + 2 * sqrt(misses) + 3)
        if ratio > best:
            best, chosen = ratio, event
    return chosen


def _numbers_free(shown: tuple[Wanted, ...]) -> tuple[Wanted, ...]:
    """An output with any number in place of each number."""
    return tuple(Between(None, None) if isinstance(one, Fraction) else one for one in shown)


def _matches(shown: tuple[Wanted, ...], event: tuple[Wanted, ...]) -> bool:
    return len(shown) == len(event) and all(may_show(*pair) for pair in zip(shown, event, strict=True))
