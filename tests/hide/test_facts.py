"""What transactions with secrets hidden tell of people: supports, exact or within what the gaps allow."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.releases.registers import listed
from tests.releases.test_exposure_cases import ILL, opened, where

import discreet as dc
from discreet.errors import Exposed
from discreet.releases.facts import gap_figures


def rows():
    """Eight people of each of two towns and four illnesses, all of different ages."""
    return [{"id": n, "town": "AB"[n % 2], "age": 20 + n, "ill": ILL[n // 2 % 4]} for n in range(64)]


@pytest.mark.parametrize("unit", ["id", None])
def test_what_was_taken_out_of_one_row_must_not_come_back_by_a_table(tmp_path, unit):
    table = opened(tmp_path, rows(), unit=unit)
    hidden = dc.hide(table, itemsets=["ill=hiv"], support=16, columns=["town", "age", "ill"])
    assert hidden.holder.details.effects.taken_out == 1
    line = listed(table.registers[0])[0]
    assert (line.facts, line.told["tells"]) == ("figures", ["ill"])
    with pytest.raises(Exposed, match=r"hidden” of .* reveals ill of a group of 1 person"):
        dc.tabulate(table, "town × ill", rules="min=3")


def test_if_one_of_each_was_taken_out_a_table_does_not_say_whose_is_which(tmp_path):
    table = opened(tmp_path, rows())
    secrets = [f"ill={one}" for one in ILL]
    hidden = dc.hide(table, itemsets=secrets, support=16, columns=["town", "age", "ill"])
    assert hidden.holder.details.effects.taken_out == 4
    made = dc.tabulate(table, "ill", rules="min=3")
    assert "Checked together with 1 earlier release" in str(made.statement)


def test_what_was_not_changed_tells_exact_supports(tmp_path):
    table = opened(tmp_path, rows())
    dc.hide(table, itemsets=["ill=hiv"], support=17, columns=["town", "ill"])
    with pytest.raises(Exposed, match="reveals ill of a group of 1 person"):
        dc.tabulate(where(table, "age < 83"), "town × ill", rules="min=3")


def possible(cells, gaps, at, values):
    """Every table of rows that the gaps may have been, by how many rows have each combination."""
    places = [n for n, gap in enumerate(gaps) if gap]
    for filled in product(values, repeat=len(places)):
        made = [list(cell) for cell in cells]
        for n, value in zip(places, filled, strict=True):
            made[n][at] = value
        yield made


@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_figures_are_those_that_every_way_to_fill_the_gaps_agrees_on(tmp_path, at):
    rng = np.random.default_rng(7 + at)
    columns = ("town", "sex", "ill")
    values = (("A", "B"), ("f", "m"), ("flu", "none"))
    for _ in range(10):
        cells = [tuple(str(rng.choice(some)) for some in values) for _ in range(4)]
        gaps = rng.random(4) < 0.4
        data = [dict(zip(columns, cell, strict=True)) | {"id": n} for n, cell in enumerate(cells)]
        table = opened(tmp_path, data)
        (figures,) = gap_figures(table, table.fetch(), ["town", "sex"], ["ill"], column=columns[at], gaps=gaps)
        there = sorted({cell[at] for cell in cells})
        known, told = figures.sides
        ways = set()
        for way in possible(cells, gaps, at, there):
            of = [pa.chunked_array([pa.array([row[n] for row in way])]) for n in range(3)]
            group, leaf = known.find(of[:2]), told.find(of[2:])
            if (group >= 0).all() and (leaf >= 0).all():
                ways.add(tuple(np.bincount(group * told.leaves + leaf, minlength=known.leaves * told.leaves).tolist()))
        assert ways == set(agreeing(figures, len(cells)))


def agreeing(figures, total):
    """Every way to spread people over the places that the figures allow."""
    known, told = figures.sides
    covers = [
        {int(g) * told.leaves + int(s) for g in known.covers[code[0]] for s in told.covers[code[1]]}
        for code in figures.codes
    ]
    places = sorted(set().union(*covers))
    for counts in product(range(total + 1), repeat=len(places)):
        if sum(counts) == total:
            spread = dict(zip(places, counts, strict=True))
            sums = [sum(spread[place] for place in cover) for cover in covers]
            if all(low <= one <= high for one, low, high in zip(sums, figures.low, figures.high, strict=True)):
                yield tuple(spread.get(place, 0) for place in range(known.leaves * told.leaves))


def test_what_no_sum_over_groups_describes_is_not_checked(tmp_path):
    several = [one | {"id": n // 2} for n, one in enumerate(rows())]
    table = opened(tmp_path, several, most=2)
    dc.hide(table, itemsets=["flu"], support=1, columns=["ill"])
    assert "itemsets concern all rows of a person" in listed(table.registers[0])[0].told["why"]
    for file, method, secrets, why in (
        ("q", "blocking", ["town=A, ill=hiv"], "it shows which items are unknown"),
        ("s", "exact", ["ill=hiv", "town=A"], "items of ill and town were removed"),
    ):
        table = opened(tmp_path, rows(), file=file)
        dc.hide(table, itemsets=secrets, support=1, columns=["town", "ill"], method=method)
        assert listed(table.registers[0])[0].told["why"] == why
    table = opened(tmp_path, rows(), file="r")
    dc.hide(where(table, "ill <> 'cold'"), itemsets=["town=A, ill=hiv"], support=1, columns=["town", "ill"])
    assert listed(table.registers[0])[0].told["why"] == "its rows were chosen by ill"
