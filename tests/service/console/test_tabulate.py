"""The Tabulate page: what a table can be by, rules in words, and the table with what an intruder can tell."""

import asyncio

import pytest
from tests.service.console.conftest import press, seen, text, until

from discreet.service.console.crosstable import about, drawn
from discreet.service.console.rules import RULES
from discreet.service.console.tabulate import sides, summable
from discreet.verbs.tabulate.rules import parse_rules


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_one_as_it_stands(name):
    rule = RULES[name]
    (found,) = parse_rules(rule.written.format(**{letter: f"{usual:g}" for letter, _, usual in rule.figures}))
    assert found


def test_people_are_no_side_of_a_table_and_nothing_to_add_up(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert {"ward", "outcome", "diagnosis@1"} <= set(sides(card))
    assert not {"patient_id", "visit_id"} & set(sides(card))
    patients = sides(clinic.desk.full_card(clinic.steward, "patients"))
    assert [patients[f"birth_date@{level}"] for level in (1, 4)] == ["birth_date, by month", "birth_date, by decade"]
    assert [one.name for one in summable(card)] == ["length_of_stay", "cost"]


def test_a_table_that_is_too_large_is_not_drawn():
    assert drawn({"too_large": True, "size": 1_000_000}) == (
        "<p>The table has 1,000,000 cells: too many to be drawn here. All are in its rows.</p>"
    )


def test_codes_and_reasons_cannot_run():
    cell = {"figure": "1", "printed": "×", "kind": "sensitive", "why": "<script>", "total": False}
    label = {"text": "<script>", "depth": 1, "total": False}
    table = {"sides": ["a", "b"], "too_large": False, "across": [label], "rows": [{"labels": [label], "cells": [cell]}]}
    assert "<script" not in drawn(table)


def test_a_steward_makes_a_table_and_takes_it_away(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/tabulate?table=visits")
        press(user, "tabulate-start")
        await until(lambda: any("What is the table by" in said for said in user.notify.messages))
        with user:
            seen(user, "tabulate-down")[0].set_value(["ward"])
            seen(user, "tabulate-across")[0].set_value("ward")
        press(user, "tabulate-start")
        await until(lambda: any("same column twice" in said for said in user.notify.messages))
        with user:
            seen(user, "tabulate-across")[0].set_value("outcome")
        press(user, "tabulate-start")
        await until(lambda: bool(seen(user, "job-tabulate")))
        for _ in range(600):  # it is made in a process of its own, which has to start
            if desk.jobs(steward)[0].over:
                break
            await asyncio.sleep(0.2)
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
    assert drawn(table).count('tabindex="0" aria-label') == len(marked)
    assert all("an intruder can tell that it is between" in about(cell).lower() for cell in marked)
