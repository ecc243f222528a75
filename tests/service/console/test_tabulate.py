"""The Tabulate page: what a table can be by, rules in words, and the table with what an intruder can tell."""

import pytest
from tests.service.console.conftest import messages, press, seen, text, until

from discreet.core.families import CELL_RULES
from discreet.service.console.forms import example_values, without_file
from discreet.service.console.tabulate import cell_text, crosstable, sides, summable
from discreet.verbs.tabulate.rules import parse_rules


@pytest.mark.parametrize("name", without_file(CELL_RULES))
def test_every_rule_of_the_form_is_one_as_it_stands(name):
    entry = CELL_RULES.entry(name)
    assert parse_rules(entry.spell(example_values(entry))) == parse_rules(entry.example)


def test_people_are_no_side_of_a_table_and_nothing_to_add_up(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert {"ward", "outcome", "diagnosis@1"} <= set(sides(card))
    assert not {"patient_id", "visit_id"} & set(sides(card))
    patients = sides(clinic.desk.full_card(clinic.steward, "patients"))
    assert [patients[f"birth_date@{level}"] for level in (1, 4)] == ["birth_date, by month", "birth_date, by decade"]
    assert [one.name for one in summable(card)] == ["length_of_stay", "cost"]


def test_a_table_that_is_too_large_is_not_crosstable():
    assert crosstable({"too_large": True, "size": 1_000_000}) == (
        "<p>The table has 1,000,000 cells, too many to draw here. Download it as CSV.</p>"
    )


def test_codes_and_reasons_cannot_run():
    cell = {"figure": "1", "printed": "×", "kind": "sensitive", "why": "<script>", "total": False}
    label = {"text": "<script>", "depth": 1, "total": False}
    table = {"sides": ["a", "b"], "too_large": False, "across": [label], "rows": [{"labels": [label], "cells": [cell]}]}
    assert "<script" not in crosstable(table)


def test_a_steward_makes_a_table_and_takes_it_away(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/tabulate?table=visits")
        press(user, "tabulate-start")
        await until(lambda: any("has no dimensions" in said for said in messages(user)))
        with user:
            seen(user, "tabulate-down")[0].set_value(["ward"])
            seen(user, "tabulate-across")[0].set_value("ward")
        press(user, "tabulate-start")
        await until(lambda: any("same column twice" in said for said in messages(user)))
        with user:
            seen(user, "tabulate-across")[0].set_value("outcome")
        press(user, "tabulate-start")
        await until(lambda: bool(seen(user, "job-tabulate")))
        await until(lambda: desk.jobs(steward)[0].over)  # it is made in a process of its own, which has to start
        await until(lambda: bool(seen(user, "crosstable")))
        assert "Psychiatry" in text(user)
        press(user, "tabulate-csv")
        press(user, "tabulate-xlsx")
        await until(lambda: len(user.download.http_responses) == 2)

    console.visit("steward", act)
    (one,) = desk.releases(steward, kind="tabulated")
    assert one.tables == ("visits",)
    (table,) = desk.job_result(steward, desk.jobs(steward)[0].id)["tables"]
    marked = [cell for row in table["rows"] for cell in row["cells"] if cell["kind"] != "shown"]
    assert marked
    assert crosstable(table).count('tabindex="0" aria-label') == len(marked)
    assert all("an intruder can compute that it is between" in cell_text(cell).lower() for cell in marked)
