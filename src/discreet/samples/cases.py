"""Small worked cases with known answers, from the literature and from teaching."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.ranges import Range, Ranges
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type
from discreet.core.table import Table
from discreet.engines.read import read

_AGE = (0, 120)


def inpatient() -> Table:
    """Twelve inpatients (after Machanavajjhala and others, 2007), with the two recodings of the text.

    ``generalize({"zip": 2, "age": 1, "nationality": 1})`` is 4-anonymous, and one of its classes has a single
    condition. ``generalize({"zip": 1, "age": 2, "nationality": 1})`` is 4-anonymous and 3-diverse.
    """
    tree = {"130**": {"1305*": ["13053"], "1306*": ["13068"]}, "1485*": {"1485*": ["14853", "14850"]}}
    zips = Taxonomy.from_tree(tree)
    thirties, forty = Range(30, 40, "3*"), Range(40, None, ">=40")
    ages = Ranges(((Range(None, 30, "<30"), thirties, forty), (Range(None, 40, "<40"), forty)))
    card = Card(
        "inpatient",
        (
            Column("zip", Kind.TEXT, Role.QUASI, categories=zips.leaves, hierarchy=zips),
            Column("age", Kind.INTEGER, Role.QUASI, bounds=_AGE, hierarchy=ages),
            _labelled("nationality", Role.QUASI, "American", "Indian", "Japanese", "Russian"),
            _labelled("condition", Role.SENSITIVE, "Cancer", "Heart", "Viral"),
        ),
    )
    rows = [
        ("13053", 28, "Russian", "Heart"),
        ("13068", 29, "American", "Heart"),
        ("13068", 21, "Japanese", "Viral"),
        ("13053", 23, "American", "Viral"),
        ("14853", 50, "Indian", "Cancer"),
        ("14853", 55, "Russian", "Heart"),
        ("14850", 47, "American", "Viral"),
        ("14850", 49, "American", "Viral"),
        ("13053", 31, "American", "Cancer"),
        ("13053", 37, "Indian", "Cancer"),
        ("13068", 36, "Japanese", "Cancer"),
        ("13068", 35, "American", "Cancer"),
    ]
    return _table(card, rows)


def got() -> Table:
    """Nine well-known patients: dropping the name leaves 7 of 9 unique on age."""
    rows = [
        ("Jon Snow", 30, "cold"),
        ("Jamie Lannister", 39, "amputated hand"),
        ("Arya Stark", 16, "stomach ache"),
        ("Bran Stark", 14, "crippled"),
        ("Sandor Clegane", 45, "ignifobia"),
        ("Jorah Mormont", 48, "greyscale"),
        ("Eddad Stark", 32, "headache"),
        ("Ramsay Bolton", 32, "psychopath"),
        ("Daenerys Targaryen", 25, "mania of grandeur"),
    ]
    card = Card(
        "got",
        (
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            Column("age", Kind.INTEGER, Role.QUASI, bounds=_AGE),
            _labelled("disease", Role.SENSITIVE, *(disease for *_, disease in rows)),
        ),
    )
    return _table(card, rows)


def tarragona5() -> Table:
    """Five respondents: one is unique, and the others' classes disclose the illness all the same."""
    card = Card(
        "tarragona5",
        (
            Column("respondent", Kind.TEXT, Role.IDENTIFIER),
            _labelled("city", Role.QUASI, "Barcelona", "Tarragona"),
            Column("age", Kind.INTEGER, Role.QUASI, bounds=_AGE),
            _labelled("illness", Role.SENSITIVE, "AIDS", "Cancer", "Heart attack"),
        ),
    )
    rows = [
        ("ABD", "Barcelona", 30, "Cancer"),
        ("COL", "Barcelona", 30, "Cancer"),
        ("GHE", "Tarragona", 60, "AIDS"),
        ("CIO", "Tarragona", 60, "AIDS"),
        ("HYU", "Tarragona", 58, "Heart attack"),
    ]
    return _table(card, rows)


def age6() -> Table:
    """Six people on whom two 2-anonymous answers (by age, by weight) together single out one."""
    card = Card(
        "age6",
        (
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            Column("age", Kind.INTEGER, Role.QUASI, categories=(30, 40, 50)),
            Column("weight", Kind.INTEGER, Role.QUASI, categories=(60, 90, 100)),
            Column("disease", Kind.BOOLEAN, Role.SENSITIVE),
        ),
    )
    rows = [
        ("Alice", 30, 60, False),
        ("Bob", 30, 90, False),
        ("Carl", 40, 90, False),
        ("Don", 40, 100, True),
        ("Ellie", 50, 60, False),
        ("Frank", 50, 100, True),
    ]
    return _table(card, rows)


def students() -> Table:
    """Seven students without names: only one from Enfield studies anthropology, and she is sick."""
    card = Card(
        "students",
        (
            _labelled("lives", Role.QUASI, "Camden", "Enfield", "Hackney"),
            _labelled("studies", Role.QUASI, "anthropology", "biology", "physics"),
            Column("sick", Kind.BOOLEAN, Role.SENSITIVE),
        ),
    )
    rows = [
        ("Enfield", "anthropology", True),
        ("Enfield", "physics", False),
        ("Enfield", "physics", True),
        ("Camden", "anthropology", False),
        ("Camden", "anthropology", False),
        ("Hackney", "biology", True),
        ("Hackney", "biology", False),
    ]
    return _table(card, rows)


def psychiatric(*, rich: bool = False) -> Table:
    """Incomes of ten patients, mean 3300; with Ms Rich's (``rich=True``) the mean gives her away."""
    card = Card("psychiatric", (Column("income", Kind.INTEGER, Role.SENSITIVE, bounds=(1_000, 100_000)),))
    incomes = [1000, 2000, 3000, 2000, 1000, 6000, 2000, 10_000, 2000, 4000]
    return _table(card, [(income,) for income in incomes + [100_000] * rich])


def drug_trial() -> Table:
    """Five patients and how much of drug X each was given, declared to lie in [1, 4]."""
    card = Card(
        "drug_trial",
        (
            _labelled("sex", Role.QUASI, "F", "M"),
            Column("height", Kind.TEXT, Role.QUASI, note="Feet and inches"),
            Column("birth", Kind.DATE, Role.QUASI, bounds=(dt.date(1900, 1, 1), dt.date(2025, 12, 31))),
            _labelled("disease", Role.SENSITIVE, "Diabetes", "Flu", "Healthy", "Obesity"),
            Column("drug_x", Kind.DECIMAL, Role.SENSITIVE, bounds=(Decimal(1), Decimal(4))),
        ),
    )
    rows = [
        ("M", "6'2\"", dt.date(1960, 3, 25), "Obesity", Decimal("3.5")),
        ("F", "5'3\"", dt.date(2001, 5, 5), "Diabetes", Decimal("2.3")),
        ("F", "5'9\"", dt.date(1998, 11, 13), "Healthy", Decimal("1.0")),
        ("M", "5'3\"", dt.date(2000, 10, 5), "Flu", Decimal("3.7")),
        ("M", "6'7\"", dt.date(1995, 2, 22), "Flu", Decimal("2.2")),
    ]
    return _table(card, rows, scale=1)


def bits() -> Table:
    """Ten records of three bits, for queries whose answers can be counted by hand."""
    card = Card("bits", tuple(Column(name, Kind.INTEGER, Role.SENSITIVE, bounds=(0, 1)) for name in ("d1", "d2", "d3")))
    words = ["000", "101", "010", "101", "000", "001", "110", "000", "010", "101"]
    return _table(card, [tuple(map(int, word)) for word in words])


_COUNTS = ((2, 15, 30, 20, 10), (72, 20, 1, 30, 10), (38, 38, 15, 40, 5))
_COUNT_TOTALS = ((77, 133, 136), (112, 73, 46, 90, 25), 346)
_SALARIES = ((360, 450, 720, 400, 360), (1440, 540, 22, 570, 320), (722, 1178, 375, 800, 363))
_SALARY_TOTALS = ((2290, 2892, 3438), (2522, 2168, 1117, 1770, 1043), 8620)
_MUNICIPALITIES = ("M1", "M2", "M3")
_PROFESSIONS = ("P1", "P2", "P3", "P4", "P5")


def municipality() -> Table:
    """People and their salaries by municipality and profession, a row a cell.

    One person is alone in (M2, P3): her salary is 22. Of the five in (M3, P5) one earns 350 of 363.
    """
    card = _municipality_card("municipality", _MUNICIPALITIES, _PROFESSIONS, Role.SENSITIVE)
    rows = [
        (municipality, profession, _COUNTS[i][j], _SALARIES[i][j])
        for i, municipality in enumerate(_MUNICIPALITIES)
        for j, profession in enumerate(_PROFESSIONS)
    ]
    return _table(card, rows)


def municipality_totals() -> Table:
    """The totals published beside ``municipality``, as they were published: ``Total`` stands for all."""
    names = ((*_MUNICIPALITIES, "Total"), (*_PROFESSIONS, "Total"))
    card = _municipality_card("municipality_totals", *names, Role.OTHER)
    (count_rows, count_columns, count), (pay_rows, pay_columns, pay) = _COUNT_TOTALS, _SALARY_TOTALS
    rows = [
        *((m, "Total", count_rows[i], pay_rows[i]) for i, m in enumerate(_MUNICIPALITIES)),
        *(("Total", p, count_columns[j], pay_columns[j]) for j, p in enumerate(_PROFESSIONS)),
        ("Total", "Total", count, pay),
    ]
    return _table(card, rows)


def transactions() -> Table:
    """Three transactions, a row an item, in which {a, b, c} is to be hidden."""
    card = Card(
        "transactions",
        (
            Column("transaction", Kind.TEXT, Role.IDENTIFIER),
            _labelled("item", Role.SENSITIVE, "a", "b", "c", "d"),
        ),
        unit="transaction",
        rows_per_unit=4,
    )
    baskets = {"T1": "abcd", "T2": "abc", "T3": "acd"}
    return _table(card, [(name, item) for name, items in baskets.items() for item in items])


def block7() -> Table:
    """The seven people of a made-up block (Garfinkel, Abowd and Martindale 2018), whom its tables give away."""
    card = Card(
        "block7",
        (
            Column("age", Kind.INTEGER, Role.QUASI, bounds=_AGE),
            _labelled("sex", Role.QUASI, "F", "M"),
            _labelled("race", Role.QUASI, "B", "W"),
            _labelled("married", Role.QUASI, "S", "M"),
        ),
    )
    rows = [
        (8, "F", "B", "S"),
        (18, "M", "W", "S"),
        (24, "F", "W", "S"),
        (30, "M", "W", "M"),
        (36, "F", "B", "M"),
        (66, "F", "B", "M"),
        (84, "M", "B", "M"),
    ]
    return _table(card, rows)


def block7_lines(ages: range) -> list[dict[str, Any]]:
    """What was published of the block: who is counted, how many they are (from 0 to 2, where that was left out), and
    of some the mean and the median age, as printed. ``ages`` are those that people may have."""
    few = (0, 2)
    told: list[tuple[dict[str, Any], int, str, str]] = [
        ({}, 7, "38.0", "30"),
        ({"sex": "F"}, 4, "33.5", "30"),
        ({"sex": "M"}, 3, "44.0", "30"),
        ({"race": "B"}, 4, "48.5", "51"),
        ({"race": "W"}, 3, "24.0", "24"),
        ({"married": "M"}, 4, "54.0", "51"),
        ({"race": "B", "sex": "F"}, 3, "36.7", "36"),
    ]
    small: list[dict[str, Any]] = [
        {"married": "S", "age": range(18, ages.stop)},
        *({"race": race, "sex": sex} for race, sex in ("BM", "WM", "WF")),
        *({"age": some} for some in (range(5), range(18), range(64, ages.stop))),
    ]
    return [
        *({"where": w, "count": n, "means": {"age": mean}, "medians": {"age": middle}} for w, n, mean, middle in told),
        *({"where": where, "count": few} for where in small),
        {"where": {"age": range(18), "married": "M"}, "count": 0},
    ]


def _municipality_card(name: str, rows: Sequence[str], columns: Sequence[str], role: Role) -> Card:
    return Card(
        name,
        (
            _labelled("municipality", Role.QUASI, *rows),
            _labelled("profession", Role.QUASI, *columns),
            Column("count", Kind.INTEGER, role, bounds=(0, 1_000)),
            Column("salary", Kind.INTEGER, role, bounds=(0, 10_000)),
        ),
        note="A row is a cell of a published table, not a person.",
    )


def _labelled(name: str, role: Role, *categories: str) -> Column:
    return Column(name, Kind.TEXT, role, categories=categories)


def _table(card: Card, rows: Sequence[tuple[object, ...]], *, scale: int = 0) -> Table:
    values = zip(*rows, strict=True)
    arrays = [
        pa.array(list(column), arrow_type(declared.kind, scale=scale))
        for declared, column in zip(card.columns, values, strict=True)
    ]
    return read(pa.Table.from_arrays(arrays, names=[column.name for column in card.columns]), card)
