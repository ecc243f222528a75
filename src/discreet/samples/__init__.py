"""Data to try things on.

- Small worked cases with known answers: ``inpatient``, ``got``, ``tarragona5``, ``age6``, ``students``,
  ``psychiatric``, ``drug_trial``, ``bits``, ``block7``, ``municipality`` and ``municipality_totals``, ``transactions``.
- A made-up hospital of any size, with a public voter list beside it: ``hospital``; made-up firms: ``firms``.
- Real public data: ``abalone``, ``adult``, ``contraceptive``, ``german_credit``, ``titanic``.

Each is a function that gives a `Table` with a fully declared card (``hospital`` gives several). Nothing heavy
is imported before one is called for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.samples.cases import (
        age6,
        bits,
        block7,
        drug_trial,
        got,
        inpatient,
        municipality,
        municipality_totals,
        psychiatric,
        students,
        tarragona5,
        transactions,
    )
    from discreet.samples.establishments import firms
    from discreet.samples.public.abalone import abalone
    from discreet.samples.public.adult import adult
    from discreet.samples.public.contraceptive import contraceptive
    from discreet.samples.public.german_credit import german_credit
    from discreet.samples.public.titanic import titanic
    from discreet.samples.world.generate import Hospital, hospital

__all__ = [
    "Hospital",
    "abalone",
    "adult",
    "age6",
    "bits",
    "block7",
    "contraceptive",
    "drug_trial",
    "firms",
    "german_credit",
    "got",
    "hospital",
    "inpatient",
    "municipality",
    "municipality_totals",
    "psychiatric",
    "students",
    "tarragona5",
    "titanic",
    "transactions",
]

_HOME = {
    "Hospital": "world.generate",
    "abalone": "public.abalone",
    "adult": "public.adult",
    "contraceptive": "public.contraceptive",
    "firms": "establishments",
    "german_credit": "public.german_credit",
    "hospital": "world.generate",
    "titanic": "public.titanic",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'cases')}"), name)


def __dir__() -> list[str]:
    return __all__
