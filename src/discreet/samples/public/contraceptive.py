"""Contraceptive method choice: a small survey with a plainly sensitive answer."""

from __future__ import annotations

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.samples.public.data_files import read_data_file


def contraceptive() -> Table:
    """1,473 married women of Indonesia, 1987, and which contraceptive method they use.

    A part of the National Indonesia Contraceptive Prevalence Survey, prepared by Tjen-Sien Lim; from the UCI
    Machine Learning Repository (CC BY 4.0).
    """
    education = "1 low … 4 high"
    card = Card(
        "contraceptive",
        (
            Column("age", Kind.INTEGER, Role.QUASI, bounds=(15, 50), hierarchy=Intervals(widths=(5, 10))),
            _coded("education", Role.QUASI, range(1, 5), education),
            _coded("husband_education", Role.QUASI, range(1, 5), education),
            Column("children", Kind.INTEGER, Role.QUASI, bounds=(0, 20)),
            _coded("religion", Role.SENSITIVE, range(2), "0 other, 1 Islam"),
            _coded("working", Role.QUASI, range(2), "0 yes, 1 no"),
            _coded("husband_occupation", Role.QUASI, range(1, 5), ""),
            _coded("standard_of_living", Role.OTHER, range(1, 5), education),
            _coded("media_exposure", Role.OTHER, range(2), "0 good, 1 not good"),
            _coded("method", Role.SENSITIVE, range(1, 4), "1 none, 2 long-term, 3 short-term"),
        ),
    )
    return read(read_data_file("contraceptive.csv", card.columns), card)


def _coded(name: str, role: Role, codes: range, note: str) -> Column:
    return Column(name, Kind.INTEGER, role, categories=tuple(codes), note=note)
