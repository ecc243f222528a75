"""Abalone: the reference data of the masking literature."""

from __future__ import annotations

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.samples.public.data_files import read_data_file

_LARGEST = {
    "length": 1.0,
    "diameter": 1.0,
    "height": 1.2,
    "whole_weight": 3.0,
    "shucked_weight": 1.5,
    "viscera_weight": 1.0,
    "shell_weight": 1.5,
}


def abalone() -> Table:
    """4,177 abalones: eight measurements (all known to an intruder) and the sex, which is the class.

    Nash, Sellers, Talbot, Cawthorn and Ford (1994), The Population Biology of Abalone; from the UCI Machine
    Learning Repository (CC BY 4.0). Lengths and weights are divided by 200.
    """
    card = Card(
        "abalone",
        (
            Column("sex", Kind.TEXT, Role.SENSITIVE, categories=("M", "F", "I"), note="I: infant"),
            *(Column(name, Kind.REAL, Role.QUASI, bounds=(0.0, most)) for name, most in _LARGEST.items()),
            Column("rings", Kind.INTEGER, Role.QUASI, bounds=(1, 30), note="1.5 more than these is the age"),
        ),
        note="A row is an abalone.",
    )
    return read(read_data_file("abalone.csv", card.columns), card)
