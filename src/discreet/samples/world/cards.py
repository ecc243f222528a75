"""The cards of the made-up hospital's tables. What they declare holds by construction, for any seed."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.samples.world.diagnoses import DIAGNOSES, tree
from discreet.samples.world.people import AS_OF, INSURANCES, OLDEST, SEXES
from discreet.samples.world.places import ETHNICITIES, PARTIES
from discreet.samples.world.visits import DEAREST, LONGEST_STAY, MOST_VISITS, OUTCOMES, SINCE, WARDS


def cards() -> dict[str, Card]:
    """A card for each table, by name."""
    return {card.name: card for card in (_patients(), _visits(), _voters())}


def _patients() -> Card:
    return Card(
        "patients",
        (
            Column("patient_id", Kind.INTEGER, Role.IDENTIFIER),
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            *_known_to_all(),
            Column("ethnicity", Kind.TEXT, Role.QUASI, categories=ETHNICITIES),
            Column("insurance", Kind.TEXT, Role.SENSITIVE, categories=INSURANCES),
        ),
        unit="patient_id",
        rows_per_unit=1,
    )


def _visits() -> Card:
    day, moment = dt.time.min, dt.time(23, 59, 59, 999_999)
    return Card(
        "visits",
        (
            Column("visit_id", Kind.INTEGER, Role.IDENTIFIER),
            Column("patient_id", Kind.INTEGER, Role.IDENTIFIER),
            Column(
                "admitted",
                Kind.TIMESTAMP,
                Role.QUASI,
                bounds=(dt.datetime.combine(SINCE, day), dt.datetime.combine(AS_OF, moment)),
                hierarchy=Dates(("day", "month", "quarter", "year")),
            ),
            Column(
                "diagnosis",
                Kind.TEXT,
                Role.SENSITIVE,
                categories=tuple(diagnosis.name for diagnosis in DIAGNOSES),
                hierarchy=Taxonomy.from_tree(tree()),
            ),
            Column("ward", Kind.TEXT, Role.QUASI, categories=WARDS),
            Column(
                "length_of_stay",
                Kind.INTEGER,
                Role.QUASI,
                bounds=(0, LONGEST_STAY),
                hierarchy=Intervals(widths=(3, 15, 30)),
                note="Nights",
            ),
            Column("cost", Kind.DECIMAL, Role.SENSITIVE, bounds=(Decimal(0), Decimal(DEAREST))),
            Column("outcome", Kind.TEXT, Role.SENSITIVE, categories=OUTCOMES),
        ),
        unit="patient_id",
        rows_per_unit=MOST_VISITS,
    )


def _voters() -> Card:
    return Card(
        "voters",
        (
            Column("voter_id", Kind.INTEGER, Role.IDENTIFIER),
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            *_known_to_all(),
            Column("party", Kind.TEXT, categories=PARTIES),
            Column("registered", Kind.INTEGER, bounds=(AS_OF.year - OLDEST, AS_OF.year), note="Year"),
        ),
        unit="voter_id",
        rows_per_unit=1,
        note="A public list: what an intruder has.",
    )


def _known_to_all() -> tuple[Column, ...]:
    """What the hospital and the list of voters both hold."""
    return (
        Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(5)),
        Column("sex", Kind.TEXT, Role.QUASI, categories=SEXES),
        Column(
            "birth_date",
            Kind.DATE,
            Role.QUASI,
            bounds=(dt.date(AS_OF.year - OLDEST, 1, 1), AS_OF),
            hierarchy=Dates(("month", "quarter", "year", "decade")),
        ),
    )
