"""The passengers of the Titanic: real names beside what happened to them."""

from __future__ import annotations

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.samples.public.data_files import read_data_file


def titanic() -> Table:
    """1,309 passengers of 1912, with age, class, fare, family and whether they survived.

    The ``titanic3`` data of Vanderbilt University's department of biostatistics (Harrell and Cason), after
    the Encyclopedia Titanica. Missing values (of age, fare, cabin, embarked, boat, body and
    home) are NULL.
    """
    card = Card(
        "titanic",
        (
            Column("class", Kind.INTEGER, Role.QUASI, categories=(1, 2, 3)),
            Column("survived", Kind.INTEGER, Role.SENSITIVE, categories=(0, 1)),
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            Column("sex", Kind.TEXT, Role.QUASI, categories=("female", "male")),
            Column("age", Kind.REAL, Role.QUASI, bounds=(0.0, 100.0), hierarchy=Intervals(widths=(5, 10, 20))),
            Column("siblings_spouses", Kind.INTEGER, Role.QUASI, bounds=(0, 10)),
            Column("parents_children", Kind.INTEGER, Role.QUASI, bounds=(0, 10)),
            Column("ticket", Kind.TEXT, Role.IDENTIFIER, note="Shared by those who travelled together"),
            Column("fare", Kind.REAL, Role.QUASI, bounds=(0.0, 600.0)),
            Column("cabin", Kind.TEXT, Role.QUASI),
            Column("embarked", Kind.TEXT, Role.QUASI, categories=("C", "Q", "S")),
            Column("boat", Kind.TEXT, Role.SENSITIVE, note="NULL for nearly all who died"),
            Column("body", Kind.INTEGER, Role.IDENTIFIER, bounds=(1, 400), note="Number of the body found"),
            Column("home", Kind.TEXT, Role.QUASI),
        ),
    )
    return read(read_data_file("titanic.csv", card.columns), card)
