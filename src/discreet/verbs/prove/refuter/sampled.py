"""The last resort: run a program many times with each input, and count.

An event is chosen by some runs and tested by others, so that choosing it does not bias the count. The bounds of both
chances are Clopper and Pearson's, each wrong with probability 2.5e-10 / (j (j + 1)) at most in the j-th test; over all
tests of all pairs that adds up to less than 1e-9 (Bonferroni), and a replay can only take something back. Draws are
made of 53 uniform bits from a hash, so a run can be repeated; they protect nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from math import comb, cos, exp, floor, log, log1p, pi, sqrt
from time import thread_time

from discreet.errors import BadInput
from discreet.verbs.prove.refuter.chances import Between, Wanted
from discreet.verbs.prove.refuter.counterexample import Counterexample, Enclosure, limit
from discreet.verbs.prove.refuter.logarithms import Logarithm
from discreet.verbs.prove.refuter.neighbours import Pair, known
from discreet.verbs.prove.refuter.worlds import PRECISION, Chance, Enclosed, ball, bounds, flint
from discreet.verbs.prove.running import Outputs, Value, run
from discreet.verbs.prove.syntax import Program, Sample

_CHOOSING = 1500
_TESTING = 5000
_WRONG = Fraction(1, 4 * 10**9)
_FEWEST = 20
_STEPS = 3000
_TINY = Fraction(1, 1 << 30)


def sampled(
    program: Program, pair: Pair, others: Mapping[str, Program], *, test: int, end: float | None = None
) -> Counterexample | None:
    """An event that the runs of ``pair`` show to break the claim; ``test`` counts the tests from 1. None at ``end``."""
    if isinstance(pair.parameters["eps"], Logarithm):
        return None
    try:
        first, second = (
            _runs(program, pair, others, side, label=f"choose {test}", count=_CHOOSING, end=end) for side in (0, 1)
        )
        event = _telling(first, second)
        return None if event is None else tested(program, pair, event, others, test=test, label="test", end=end)
    except BadInput:  # a run that does not end, or takes too long
        return None


def tested(
    program: Program,
    pair: Pair,
    event: tuple[Wanted, ...],
    others: Mapping[str, Program],
    *,
    test: int,
    label: str,
    end: float | None = None,
) -> Counterexample | None:
    """Whether fresh runs show that an event breaks the claim."""
    names = {**pair.parameters, **pair.inputs}
    claim, delta = known(program.epsilon, names), known(program.delta, names)
    if not isinstance(claim, int | Fraction) or not isinstance(delta, int | Fraction):
        return None
    hits = [
        sum(
            _fits(one, event)
            for one in _runs(program, pair, others, side, label=f"{label} {test}", count=_TESTING, end=end)
        )
        for side in (0, 1)
    ]
    wrong = _WRONG / (test * (test + 1))
    with flint().ctx.workprec(PRECISION):
        low = lower(hits[0], _TESTING, wrong)
        high = 1 - lower(_TESTING - hits[1], _TESTING, wrong)
        allowed = Enclosure(*bounds(limit(Enclosed(), claim)))
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


def lower(hits: int, runs: int, wrong: Fraction) -> Fraction:
    """Clopper and Pearson's lower bound of a chance: below it, so many hits or more have at most probability ``wrong``.

    By halving, always on the side where that is certain.
    """
    if hits == 0:
        return Fraction(0)
    low, high = Fraction(0), Fraction(hits, runs)
    for _ in range(30):
        middle = Fraction(round((low + high) / 2 * (1 << 40)), 1 << 40)
        if bool(_tail(hits, runs, middle) < ball(wrong)):
            low = middle
        else:
            high = middle
    return low


def _tail(hits: int, runs: int, chance: Fraction) -> Chance:
    """An upper bound of the probability of ``hits`` or more, each with ``chance`` below hits / runs.

    Each term is the one before times (n - i) / (i + 1) * p / (1 - p), which falls as i grows and is below 1: what is
    left of the sum is at most a geometric series.
    """
    odds = ball(chance / (1 - chance))
    term = ball(Fraction(comb(runs, hits))) * ball(chance) ** hits * ball(1 - chance) ** (runs - hits)
    total = ball(Fraction(0))
    for done in range(hits, runs):
        step = odds * ball(Fraction(runs - done, done + 1))
        if done % 64 == 63 and bool(term < total * ball(_TINY)):
            return total + term / (1 - step)
        total, term = total + term, term * step
    return total + term


# -- runs -------------------------------------------------------------------------------------------------------------


def _runs(
    program: Program,
    pair: Pair,
    others: Mapping[str, Program],
    side: int,
    *,
    label: str,
    count: int,
    end: float | None,
) -> list[tuple[Wanted, ...]]:
    """What so many runs show."""
    given: Mapping[str, Value] = (pair.inputs, pair.neighbours)[side]  # type: ignore[assignment]
    parameters: Mapping[str, Value] = dict(pair.parameters)  # type: ignore[arg-type]
    draw = _drawing(_uniform(f"{program.name} {side} {label}"))
    found = []
    for _ in range(count):
        if end is not None and thread_time() > end:
            raise BadInput("There is no time for this many runs.")
        found.append(_flat(run(program, given, parameters, draw, others, steps=_STEPS)))
    return found


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


def _drawing(uniform: Callable[[], float]) -> Callable[[Sample, tuple[Value, ...]], Value]:
    def draw(sample: Sample, arguments: tuple[Value, ...]) -> Value:
        if sample.distribution == "ExpMech":
            return _pick(arguments, uniform())
        numbers = [Fraction(one) for one in arguments if not isinstance(one, tuple)]
        first = float(numbers[0])
        match sample.distribution:
            case "Bernoulli":
                return uniform() < first
            case "Uniform":
                return int(numbers[0]) + floor(uniform() * (int(numbers[1]) - int(numbers[0]) + 1))
            case "Exp":
                return Fraction(-log(uniform()) * first)
            case "Laplace":
                return numbers[1] + Fraction(first * (log(uniform()) - log(uniform())))
            case "DLaplace":
                return int(numbers[1]) + _geometric(first, uniform()) - _geometric(first, uniform())
        return numbers[1] + Fraction(first * sqrt(-2 * log(uniform())) * cos(2 * pi * uniform()))

    return draw


def _geometric(scale: float, u: float) -> int:
    return floor(log1p(-u) * -scale)


def _pick(arguments: tuple[Value, ...], u: float) -> int:
    scores, weight = arguments
    exponents = [float(one) * float(weight) for one in scores]  # type: ignore[union-attr, arg-type]
    weights = [exp(one - max(exponents)) for one in exponents]
    left = u * sum(weights)
    for place, one in enumerate(weights):
        left -= one
        if left < 0:
            return place
    return len(weights) - 1


def _flat(outputs: Outputs) -> tuple[Wanted, ...]:
    found = [part for one in outputs.emitted for part in _parts(one)]
    if outputs.fault:
        return (*found, "fault")
    if outputs.returned is not None:
        found += ["returned", *_parts(outputs.returned)]
    return (*found, "end")


def _parts(value: Value) -> list[Wanted]:
    if isinstance(value, tuple):
        return [f"list of {len(value)}", *(part for one in value for part in _parts(one))]
    return [value if isinstance(value, bool) else Fraction(value)]


# -- events -----------------------------------------------------------------------------------------------------------


def _telling(first: Sequence[tuple[Wanted, ...]], second: Sequence[tuple[Wanted, ...]]) -> tuple[Wanted, ...] | None:
    """The event with the largest ratio among those seen often enough: what is shown exactly, or up to numbers, or with
    one of the numbers above or below one that was seen."""
    counts, others = Counter(first), Counter(second)
    kinds = Counter(_kind(one) for one in first)
    candidates = [event for event, count in counts.most_common(20) if count >= _FEWEST]
    for kind, count in kinds.most_common(8):
        if count < _FEWEST:
            continue
        candidates.append(kind)
        same = [one for one in first if _kind(one) == kind]
        for place, part in enumerate(kind):
            if isinstance(part, Between):
                seen = sorted(number for one in same if isinstance(number := one[place], Fraction))
                for share in (_FEWEST, len(seen) // 4, len(seen) // 2, 3 * len(seen) // 4):
                    for side in (Between(None, seen[share - 1]), Between(seen[-share], None)) if share > 0 else ():
                        candidates.append((*kind[:place], side, *kind[place + 1 :]))
    best, chosen = 0.0, None
    for event in dict.fromkeys(candidates):
        exact = not any(isinstance(part, Between) for part in event)
        hits = counts[event] if exact else sum(_fits(one, event) for one in first)
        misses = others[event] if exact else sum(_fits(one, event) for one in second)
        ratio = (hits - 2 * sqrt(hits)) / (misses + 2 * sqrt(misses) + 3)
        if ratio > best:
            best, chosen = ratio, event
    return chosen


def _kind(shown: tuple[Wanted, ...]) -> tuple[Wanted, ...]:
    """What is shown, with any number for a number."""
    return tuple(Between(None, None) if isinstance(one, Fraction) else one for one in shown)


def _fits(shown: tuple[Wanted, ...], event: tuple[Wanted, ...]) -> bool:
    return len(shown) == len(event) and all(_fit(*pair) for pair in zip(shown, event, strict=True))


def _fit(shown: Wanted, wanted: Wanted) -> bool:
    if isinstance(wanted, Between):
        if not isinstance(shown, Fraction):
            return False
        return (wanted.low is None or wanted.low <= shown) and (wanted.high is None or shown <= wanted.high)
    return isinstance(shown, bool) == isinstance(wanted, bool) and shown == wanted
