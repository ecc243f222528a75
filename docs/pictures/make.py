"""Draw the pictures of the documentation: ``python docs/pictures/make.py``. A test draws them again and compares."""

import math
from pathlib import Path

import discreet as dc
from discreet.core.loss import Pure
from discreet.core.picture import bars
from discreet.noise.laplace import DiscreteLaplace

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
    """How far off the count of people is, for several epsilons: larger is less private and more exact."""
    errors = [DiscreteLaplace.for_loss(Pure(epsilon)).error("0.05") for epsilon in EPSILONS]
    labels = [f"ε = {epsilon}" for epsilon in EPSILONS]
    return bars("A count of people is within this, 95 times in 100", labels, errors).svg


def belief() -> str:
    """What an adversary who gave one chance in ten to a secret may believe after an answer, at most."""
    prior = 0.1
    beliefs = [100 * prior * math.exp(float(e)) / (1 - prior + prior * math.exp(float(e))) for e in EPSILONS]
    labels = ["before", *(f"ε = {epsilon}" for epsilon in EPSILONS)]
    return bars("What an adversary may believe at most, in per cent", labels, [100 * prior, *beliefs]).svg


PICTURES = {"belief.svg": belief, "error.svg": error, "unique.svg": unique}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
