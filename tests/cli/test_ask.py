"""Asking as a person does it: in a process of its own, in an empty folder."""

import json

import pytest

from discreet.curator.curator import Curator

CSV = "patient,city,income\n" + "".join(f"{n % 400},{('Rome', 'Milan')[n % 2]},{n % 90}\n" for n in range(1000))
CARD = """
[tables.visits]
unit = "patient"
rows_per_unit = 2

[tables.visits.columns.patient]
kind = "integer"
role = "identifier"

[tables.visits.columns.city]
kind = "text"
role = "quasi"
categories = ["Rome", "Milan", "Turin"]

[tables.visits.columns.income]
kind = "integer"
role = "sensitive"
bounds = [0, 100]
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def run(command, tmp_path):
    (tmp_path / "visits.csv").write_text(CSV)
    (tmp_path / "visits.toml").write_text(CARD)
    return command


@pytest.fixture
def clinic(run):
    made = ("--table", "visits=visits.csv", "--card", "visits.toml", "--budget", "epsilon=3, delta=1e-6")
    run("workspace", "init", "clinic", *made)
    return run


def test_a_clinic_is_made_asked_and_accounted_for(clinic):
    shown = json.loads(clinic("workspace", "show", "clinic", "--json"))
    assert shown["visits"]["columns"] == ["patient", "city", "income"]
    assert shown["visits"]["analysts"] == ["analyst"]
    asked = ("ask", "clinic", "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "--epsilon", "0.5")
    assert "This would cost ε = 0.5" in clinic(*asked, "--dry-run")
    said = clinic(*asked)
    assert "Turin" in said
    assert "±" in said
    assert "It cost ε = 0.5. Left: ε = 2.5" in said
    again = json.loads(clinic(*asked, "--json"))
    assert again["free"]
    assert again["loss"] == {"kind": "pure", "epsilon": "1/2"}
    assert len(again["rows"]) == 3
    spent = clinic("budget", "clinic")
    assert "SELECT city" in spent
    assert "seal" not in spent
    assert spent == clinic("budget", "show", "clinic")
    figures = json.loads(clinic("budget", "clinic", "--json"))
    assert [one["questions"] for one in figures["charges"]] == [[asked[2]]]
    assert "all valid" in clinic("budget", "verify", "clinic")


def test_too_much_is_refused_with_what_is_left(clinic):
    said = clinic("ask", "clinic", COUNT, "--epsilon", "4", code=3)
    assert "ε = 4 was asked, ε = 3 is left" in said
    clinic("ask", "clinic", COUNT, "--epsilon", "3")


def test_an_error_finds_its_epsilon(clinic):
    found = json.loads(clinic("ask", "clinic", COUNT, "--error", "50", "--json"))
    assert found["rows"][0]["n_error"] <= 50
    assert "A relative error needs" in clinic("ask", "clinic", COUNT, "--error", "5% at 95%", code=1)
    shown = json.loads(
        clinic("ask", "clinic", COUNT, "--error", "5% at 95%", "--expect", "1000", "--dry-run", "--json")
    )
    assert shown["answered"]


def test_a_batch_is_asked_at_once(clinic, tmp_path):
    (tmp_path / "questions.sql").write_text(f"{COUNT}; -- one\nSELECT SUM(income) AS s FROM visits;\n")
    quotes = json.loads(clinic("ask", "clinic", "--batch", "questions.sql", "--epsilon", "1", "--dry-run", "--json"))
    assert [one["loss"]["epsilon"] for one in quotes] == ["1/2", "1/2"]
    clinic("ask", "clinic", "--batch", "questions.sql", "--epsilon", "1")
    assert len(json.loads(clinic("budget", "clinic", "--json"))["charges"]) == 1


def test_a_distribution_is_priced_released_and_free_the_second_time(clinic):
    asked = ("ask", "clinic", "--distribution", "visits.income", "--bins", "10", "--epsilon", "0.5")
    quote = json.loads(clinic(*asked, "--dry-run", "--json"))
    assert quote["loss"] == {"kind": "pure", "epsilon": "1/2"}
    assert set(quote["errors"]) == {"n", "n_up_to"}
    assert not quote["answered"]
    said = clinic(*asked)
    assert "±" in said
    assert "It cost ε = 0.5. Left: ε = 2.5" in said
    again = json.loads(clinic(*asked, "--json"))
    assert again["free"]
    assert len(again["rows"]) == 10
    assert again["rows"][0]["low"] == 0
    assert max(row["n_error"] for row in again["rows"]) == quote["errors"]["n"]
    assert "distribution of visits: column = income, bins = 10" in clinic("budget", "clinic")
    assert "Answered before" in clinic(*asked, "--dry-run")
    assert "marginal" in clinic("ask", "clinic", "--distribution", "visits.city", "--epsilon", "1", code=1)
    assert "called 'staff'" in clinic("ask", "clinic", "--distribution", "staff.income", "--epsilon", "1", code=1)


def test_marginals_and_bounds_are_released(clinic):
    found = json.loads(clinic("ask", "clinic", "--marginals", "visits.city", "--ways", "1", "--epsilon", "1", "--json"))
    assert [row["city"] for row in found["rows"]] == [None, "Rome", "Milan", "Turin"]
    assert found["statement"]["unit"] == "patient"
    found = json.loads(clinic("ask", "clinic", "--bounds", "visits.income", "--epsilon", "1", "--json"))
    assert set(found["rows"][0]) == {"low", "high", "outside"}
    said = clinic("ask", "clinic", "--bounds", "visits.income", "--epsilon", "1")
    assert "LEAST(GREATEST(income, " in said or "too few rows" in said
    assert "cannot be charged" in clinic("ask", "clinic", COUNT, "--rho", "1", code=3)
    assert "all valid" in clinic("budget", "verify", "clinic")


def test_a_budget_in_rho_is_spent_in_rho(run):
    run("workspace", "init", "clinic", "--table", "visits=visits.csv", "--card", "visits.toml", "--budget", "rho=0.5")
    asked = ("ask", "clinic", COUNT, "--rho", "0.1")
    assert "This would cost ρ = 0.1; ρ = 0.5 is left" in run(*asked, "--dry-run")
    assert json.loads(run(*asked, "--json"))["loss"] == {"kind": "concentrated", "rho": "1/10"}
    assert "Left: ρ = 0.3" in run("ask", "clinic", "--marginals", "visits.city", "--ways", "1", "--rho", "0.1")
    assert "Left: ρ = 0.295" in run("ask", "clinic", "--distribution", "visits.income", "--epsilon", "0.1")


def test_tables_are_joined_and_each_is_charged(run, tmp_path):
    (tmp_path / "regions.csv").write_text("town,region\nRome,south\nMilan,north\nTurin,north\n")
    both = (
        "--table",
        "visits=visits.csv",
        "--table",
        "more=visits.csv",
        "--card",
        "visits.toml",
        "--card",
        "more.toml",
    )
    (tmp_path / "more.toml").write_text(CARD.replace("tables.visits", "tables.more"))
    run("workspace", "init", "clinic", *both, "--budget", "epsilon=3", "--public", "regions=regions.csv")
    shown = run("workspace", "show", "clinic")
    assert "regions, from regions.csv: public" in shown
    figures = json.loads(run("workspace", "show", "clinic", "--json"))
    assert figures["regions"]["public"]
    assert figures["regions"]["left"] is None
    north = "SELECT region, COUNT(*) AS n FROM visits JOIN regions ON city = town GROUP BY region"
    assert {row["region"] for row in json.loads(run("ask", "clinic", north, "--epsilon", "1", "--json"))["rows"]} == {
        "north",
        "south",
    }
    joined = "SELECT COUNT(*) AS n FROM visits JOIN more USING (patient)"
    said = json.loads(run("ask", "clinic", joined, "--epsilon", "0.5", "--json"))
    assert {name: left["table"]["epsilon"] for name, left in said["left_on"].items()} == {
        "more": "5/2",
        "visits": "3/2",
    }
    assert "(more); " in run("ask", "clinic", joined, "--epsilon", "0.5")
    charged = json.loads(run("budget", "clinic", "--json"))["charges"]
    assert [one["account"] for one in charged] == ["visits/analyst", "more/analyst", "visits/analyst"]
    assert "all valid" in run("budget", "verify", "clinic")
    assert "same name" in run(
        "workspace", "init", "other", *both, "--budget", "epsilon=3", "--public", "more=regions.csv", code=1
    )
    assert "no table about people called 'regions'" in run(
        "ask", "clinic", "--bounds", "regions.town", "--epsilon", "1", code=1
    )


def test_an_analyst_has_a_budget(clinic):
    clinic("workspace", "add-analyst", "clinic", "ann", "--budget", "epsilon=1")
    assert "visits/ann" in clinic("ask", "clinic", COUNT, "--epsilon", "2", "--analyst", "ann", code=3)
    assert "bob may not query any table" in clinic("ask", "clinic", COUNT, "--epsilon", "1", "--analyst", "bob", code=3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ask", "clinic", "--epsilon", "1"), "Give a question"),
        (("ask", "clinic", COUNT), "--epsilon"),
        (("ask", "clinic", COUNT, "--epsilon", "1", "--error", "5"), "--epsilon"),
        (("ask", "clinic", "SELECT * FROM visits", "--epsilon", "1"), "asks for rows"),
        (("ask", "clinic", "--batch", "none.sql", "--epsilon", "1"), "no file"),
        (("ask", "nowhere", COUNT, "--epsilon", "1"), "no workspace"),
        (("workspace", "add-analyst", "clinic", "ann", "--budget", "3"), "not a budget"),
        (("budget", "advise"), "Give an --epsilon"),
        (("budget", "advise", "--among", "4"), "used together"),
    ],
)
def test_wrong_use_says_what_is_right(clinic, words, said):
    assert said in clinic(*words, code=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((COUNT, "--epsilon", "1", "--rho", "1"), "--epsilon or --rho"),
        ((COUNT, "--bounds", "visits.income", "--epsilon", "1"), "Give a question"),
        (("--bounds", "visits.income", "--marginals", "visits.city", "--epsilon", "1"), "Give a question"),
        (("--bounds", "income", "--epsilon", "1"), "visits.age"),
        (("--bounds", "visits.income", "--rho", "1"), "--epsilon"),
        (("--bounds", "visits.income", "--error", "5"), "--epsilon"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_opened(command, words, said):
    assert said in command("ask", "nowhere", *words, code=1)


def test_advice_explains_and_chooses(run):
    assert "73.1%" in run("budget", "advise", "--epsilon", "1")
    chosen = run(
        "budget", "advise", "--among", "4", "--risk", "1/3", "--sensitivity", "17/6", "--spread", "3", "--json"
    )
    assert round(json.loads(chosen)["largest_epsilon"], 4) == 0.3829


def test_tables_and_cards_must_match(run):
    given = ("workspace", "init", "clinic", "--budget", "epsilon=1", "--card", "visits.toml")
    assert "NAME=DATA" in run(*given, "--table", "visits.csv", code=1)
    assert "cards" in run(*given, *["--table", "a=visits.csv"] * 3, "--card", "visits.toml", code=1)
    assert "same name" in run(*given, *["--table", "a=visits.csv"] * 2, code=1)


def test_when_the_budget_is_gone_the_synthetic_stand_in_answers(clinic):
    make = ("workspace", "stand-in", "clinic", "visits", "--method", "epsilon=1 delta=1e-7 by=mst")
    made = clinic(*make)
    assert "The synthetic stand-in of visits has" in made
    assert "It cost ε = 1, δ = 1e-7. Left: ε = 2" in made
    assert "Its synthetic stand-in of" in clinic("workspace", "show", "clinic")
    again = json.loads(clinic(*make, "--json"))
    assert again["free"]
    assert json.loads(clinic("workspace", "show", "clinic", "--json"))["visits"]["synthetic"] == again["release"]
    asked = ("ask", "clinic", "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "--epsilon", "2.5")
    assert "would answer instead" in clinic(*asked, "--dry-run")
    assert json.loads(clinic(*asked, "--dry-run", "--json"))["synthetic"]
    said = clinic(*asked)
    assert said.startswith("SYNTHETIC: these figures are about people who never existed.")
    assert "n (synthetic)" in said
    assert "±" in said
    assert "a synthetic stand-in answered: that is free" in said
    plain = json.loads(clinic(*asked, "--json"))
    assert (plain["synthetic"], plain["free"]) == (True, True)
    assert sum(row["n"] for row in plain["rows"]) == pytest.approx(800, abs=100)
    assert all(row["synthetic"] for row in plain["rows"])
    assert "does not cover" in clinic(*asked, "--no-stand-in", code=3)
    assert "all valid" in clinic("budget", "verify", "clinic")
    remove = ("workspace", "stand-in", "clinic", "visits", "--remove")
    assert "--remove takes no other options" in clinic(*remove, "--method", "epsilon=1", code=1)
    assert "No privacy loss given" in clinic("workspace", "stand-in", "clinic", "visits", code=1)
    assert "has no privacy guarantee" in clinic("workspace", "stand-in", "clinic", "visits", "--method", "cart", code=1)
    assert "No synthetic stand-in answers for visits" in clinic(*remove)
    assert json.loads(clinic(*remove, "--json")) == {"table": "visits", "release": None}
    assert "does not cover" in clinic(*asked, code=3)
    assert json.loads(clinic("workspace", "show", "clinic", "--json"))["visits"]["synthetic"] is None


def test_a_stand_in_has_the_rows_and_bins_and_people_that_were_asked_for(clinic, tmp_path):
    def make(more, table="visits", **result):
        method = f"epsilon=0.5 by=independent {more}"
        return clinic("workspace", "stand-in", "clinic", table, "--method", method, "--json", **result)

    made = json.loads(make("rows=50 bins=income:4 quantiles=income"))
    assert made["rows"] == 50
    with Curator(tmp_path / "clinic") as curator:
        assert curator.synthetic("visits").papers.recipe.parameters["bins"] == {"income": 4}
        assert curator.synthetic("visits").rows.card.unit is None
    make("person=city")
    with Curator(tmp_path / "clinic") as curator:
        assert curator.synthetic("visits").rows.card.unit == "patient"
    assert "bins must be a whole number" in make("bins=income", code=1)
    assert "no table about people" in make("", table="visit", code=1)
