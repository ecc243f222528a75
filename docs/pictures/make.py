"""Draw the pictures of the documentation: ``python docs/pictures/make.py``. A test draws them again and compares."""

import json
import math
from pathlib import Path

import discreet as dc
from discreet.budget.convert import to_approximate, to_concentrated
from discreet.core.loss import Concentrated, Pure
from discreet.core.report import Axis, bars, curves
from discreet.curator.advice import drawn_beliefs, lee_clifton
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs import combine

HERE = Path(__file__).parent


def unique() -> str:
    """How many patients of a made-up town are alone with what an outsider may know of them."""
    patients = dc.samples.hospital(rows=100_000, seed=1).table("patients")
    rows = patients.count()
    known = {
        "date of birth": {},
        "month of birth": {"birth_date": 1},
        "year of birth": {"birth_date": 3},
        "year, zip cut to 3": {"zip": 2, "birth_date": 3},
    }
    shares = []
    for levels in known.values():
        sizes = patients.histogram("zip", "sex", "birth_date", levels=levels)["n"].to_pylist()
        shares.append(100 * sizes.count(1) / rows)
    return bars("Share of people who are unique on zip, sex and …, in per cent", list(known), shares).svg


EPSILONS = ("0.05", "0.1", "0.5", "1", "2")


def error() -> str:
    """Error of a count for several epsilons; a larger epsilon is less private and more accurate."""
    errors = [DiscreteLaplace.for_loss(Pure(epsilon)).error("0.05") for epsilon in EPSILONS]
    labels = [f"ε = {epsilon}" for epsilon in EPSILONS]
    return bars("Error of a count at 95 % confidence", labels, errors).svg


def belief() -> str:
    """Highest posterior belief of an adversary with a prior of one in ten."""
    prior = 0.1
    beliefs = [100 * prior * math.exp(float(e)) / (1 - prior + prior * math.exp(float(e))) for e in EPSILONS]
    labels = ["before", *(f"ε = {epsilon}" for epsilon in EPSILONS)]
    return bars("Upper bound on an adversary's belief, per cent", labels, [100 * prior, *beliefs]).svg


def with_and_without() -> str:
    """Probability of each noisy count with and without one person, at an epsilon of one half."""
    q = math.exp(-0.5)

    def chance(noise: int) -> float:
        return (1 - q) / (1 + q) * q ** abs(noise)

    answers = range(92, 110)
    return curves(
        "Distribution of a noisy count, ε = 0.5",
        Axis("noisy count", range(92, 111, 2)),
        Axis("probability", (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)),
        {
            "100 people": [(answer, chance(answer - 100)) for answer in answers],
            "with you: 101": [(answer, chance(answer - 101)) for answer in answers],
        },
    ).svg


def posterior() -> str:
    """What an adversary can believe after all that an epsilon of one pays for."""
    return drawn_beliefs(1).svg


def composition() -> str:
    """Cost of the joint distribution of three bits, asked in three ways with the same epsilon per count."""
    ways = ["eight running counts", "three single bits", "one histogram"]
    return bars("Total cost, in multiples of one question's epsilon", ways, [8, 3, 1]).svg


def many() -> str:
    """What many questions at a tenth cost together: summed, and kept as rho."""
    counts = [1, 2, 5, *range(10, 201, 10)]
    each = to_concentrated(Pure("0.1")).rho
    kept = [(count, float(to_approximate(Concentrated(count * each), "1e-6").epsilon)) for count in counts]
    return curves(
        "What many questions at ε = 0.1 cost together",
        Axis("questions", range(0, 201, 25)),
        Axis("ε", range(0, 21, 5)),
        {
            "summed": [(count, count / 10) for count in counts],
            "kept as ρ, δ = 1e-6": kept,
        },
    ).svg


def averaging() -> str:
    """How near the mean of many answers to one question would come, if each had fresh noise."""
    spread = math.sqrt(DiscreteLaplace(10).variance)
    counts = [1, 10, 100, 1000, 10_000]
    return curves(
        "How far the mean of all answers is off, at ε = 0.1 each",
        Axis("times asked", counts, log=True),
        Axis("typically off by", (0.1, 1, 10, 100), log=True),
        {
            "fresh noise": [(count, spread / math.sqrt(count)) for count in counts],
            "the stored answer": [(count, spread) for count in counts],
        },
    ).svg


def candidates() -> str:
    """How surely an adversary picks the one of four who is missing, by epsilon (Lee and Clifton's example)."""
    chosen = lee_clifton(4, "1/3", sensitivity="17/6", spread=3)
    epsilons = [step / 20 for step in range(41)]
    risk = [(one, 1 / (1 + 3 * math.exp(-one * 3 / (17 / 6)))) for one in epsilons]
    return curves(
        "Picking one out of four",
        Axis("ε", (0.0, 0.5, 1.0, 1.5, 2.0)),
        Axis("right with probability, at most", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
        {"at most": risk, "accepted: 1/3": [(0.0, 1 / 3), (2.0, 1 / 3)]},
        dots={f"ε = {chosen:.4f}": (chosen, 1 / 3)},
    ).svg


def published() -> str:
    """What publishing with 5-anonymity does to the risk of people in a made-up town."""
    patients = dc.samples.hospital(rows=20_000, seed=1).table("patients")
    release = dc.publish(patients, dc.Generalize(suppress="0.05"), dc.KAnonymity(5))
    return next(picture.svg for picture in release.pictures if picture.title.startswith("Risk"))


def reconstruction() -> str:
    """How many of 500 secrets are computed from 2,000 noisy counts, as ``bench/reconstruct.py`` measured it."""
    curve = json.loads((HERE / "reconstruction.json").read_text())
    return curves(
        "Secrets computed from 2,000 noisy counts of 500 people",
        Axis(
            "standard deviation of the noise (the square root of the people is 22)",
            (1, 3, 10, 30, 100, 300, 500),
            log=True,
        ),
        Axis("share that is right (guessing: 0.5)", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        {
            name: [(one["noise"], one[key]) for one in curve]
            for name, key in (("theory", "expected"), ("least squares", "squares"), ("linear program", "program"))
        },
    ).svg


def exposure_law() -> str:
    """How much tables tell together as they pile up, as ``bench/exposure.py --law`` measured it."""
    shares = json.loads((HERE / "exposure.json").read_text())["shares"]
    return curves(
        "Counts that follow from all tables together, a million people",
        Axis("unprotected tables that are out", (1, 10, 100, 1000), log=True),
        Axis("share that is determined", (0, 0.25, 0.5, 0.75, 1)),
        {
            "of all counts": [(tables, share) for tables, share, _ in shares],
            "weighted by people": [(tables, share) for tables, _, share in shares],
        },
    ).svg


def exposure_growth() -> str:
    """How long it takes to check a table together with earlier ones, as ``bench/exposure.py --law`` measured it."""
    growth = json.loads((HERE / "exposure.json").read_text())["growth"]
    return curves(
        "Checking one more table, a million people",
        Axis("tables that are out", (10, 30, 100, 300, 1000), log=True),
        Axis("CPU seconds", range(0, 31, 5)),
        {"the check": [tuple(one) for one in growth]},
    ).svg


PAY = {"north": 31_000, "east": 42_000, "south": 27_500, "west": 55_000}


def combined(protocol: str, party: str = "", **more: int) -> str:
    """How four people learn the sum of their salaries, or what one of them sees of it."""
    return combine.simulate(protocol, PAY, bounds=(0, 100_000), seed=1, **more).show(party).svg


def dining() -> str:
    """How three people learn that one of them paid, and not who."""
    paid = {"north": 0, "east": 1, "south": 0}
    return combine.simulate("dining", paid, function="parity", seed=1).show().svg


PICTURES = {
    "averaging.svg": averaging,
    "belief.svg": belief,
    "candidates.svg": candidates,
    "combine-dining.svg": dining,
    "combine-leaving.svg": lambda: combined("masks", threshold=3),
    "combine-masks.svg": lambda: combined("masks"),
    "combine-paths.svg": lambda: combined("paths count=2"),
    "combine-ring.svg": lambda: combined("ring"),
    "combine-shares.svg": lambda: combined("shares"),
    "combine-south.svg": lambda: combined("ring", "south"),
    "combine-trusted.svg": lambda: combined("trusted"),
    "composition.svg": composition,
    "error.svg": error,
    "exposure-growth.svg": exposure_growth,
    "exposure-law.svg": exposure_law,
    "many.svg": many,
    "posterior.svg": posterior,
    "published.svg": published,
    "reconstruction.svg": reconstruction,
    "unique.svg": unique,
    "with-and-without.svg": with_and_without,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
