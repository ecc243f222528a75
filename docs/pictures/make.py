"""Draw the pictures of the documentation: ``python docs/pictures/make.py``. A test draws them again and compares."""

from pathlib import Path

import discreet as dc
from discreet.core.picture import bars

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


PICTURES = {"unique.svg": unique}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
