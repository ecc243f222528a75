"""`discreet exposure`: two tables of 400 people that differ by one person, and what everything that left tells."""

import json

import pytest

from discreet.curator.curator import Curator

CARD = """
[tables.patients]
unit = "id"
rows_per_unit = 1

[tables.patients.columns.id]
kind = "text"
role = "identifier"

[tables.patients.columns.town]
kind = "text"
role = "quasi"

[tables.patients.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 110]

[tables.patients.columns.ill]
kind = "text"
role = "sensitive"
categories = ["flu", "cancer", "none"]
"""
DATA = ("patients.csv", "--card", "patients.toml")
SIDES = ("--by", "town × ill", "--rule", "min=3")
TOWNS, ILLNESSES = ("Ayr", "Bath", "Cork", "Dover"), ("flu", "cancer", "none")


@pytest.fixture
def run(command, tmp_path):
    rows = [f"p{n},{TOWNS[n % 4]},{79 if n == 17 else 18 + n % 60},{ILLNESSES[n % 3]}" for n in range(400)]
    (tmp_path / "patients.csv").write_text("\n".join(["id,town,age,ill", *rows]) + "\n")
    (tmp_path / "patients.toml").write_text(CARD)
    return command


def draft(where, *more):
    return ("exposure", "--card", "patients.toml", "--table", "patients.csv", *SIDES, "--where", where, *more)


def registered(run):
    return json.loads(run("exposure", "--card", "patients.toml", "--json"))["populations"]


def test_nothing_has_left_of_a_new_card(run):
    assert "Nothing has been released yet." in run("exposure", "--card", "patients.toml")
    assert registered(run) == []


def test_a_draft_that_differs_by_one_person_is_refused_and_never_registered(run):
    run("tabulate", *DATA, *SIDES, "-o", "all")
    run(*draft("age < 79"), code=1)
    tried = json.loads(run(*draft("age < 60"), "--json"))
    assert tried["passes"] is True
    assert tried["checked"] == [1]
    [population] = registered(run)
    assert [one["title"] for one in population["departures"]] == ["counts by town × ill"]


def test_what_a_draft_would_be_refused_for_is_said_in_words(run, tmp_path):
    from tests.called import called

    run("tabulate", *DATA, *SIDES, "-o", "all")
    found = called(draft("age < 79"), tmp_path)
    assert "This would be refused." in found.stdout
    assert "reveals ill of a group of 1 person" in " ".join(found.stdout.split())
    assert "Nothing was released or registered." in found.stdout


def test_a_table_of_other_rows_needs_a_reason_which_is_shown(run, tmp_path):
    run("tabulate", *DATA, *SIDES, "-o", "all")
    lines = (tmp_path / "patients.csv").read_text().splitlines(keepends=True)
    (tmp_path / "younger.csv").write_text("".join(line for line in lines if ",79," not in line))
    younger = ("younger.csv", "--card", "patients.toml", *SIDES)
    assert "reveals ill of a group of 1 person" in run("tabulate", *younger, "-o", "younger", code=3)
    assert not (tmp_path / "younger").exists()
    assert "Give the reason" in run("tabulate", *younger, "-o", "younger", "--despite", " ", code=1)
    assert "agreed by the board" in run("tabulate", *younger, "-o", "younger", "--despite", "agreed by the board")
    [population] = registered(run)
    first, second = population["departures"]
    assert (first["state"], second["state"]) == ("checked", "overridden")
    assert second["note"] == "agreed by the board"
    [standing] = population["standings"]
    assert (standing["people"], standing["smallest"], standing["in_smallest"], standing["exposed"]) == (400, 1, 1, 1)
    assert standing["determined"] == standing["counts"] == 3
    assert standing["most_exposed"][0] == {"people": 1, "releases": [1], "known": ["ill"]}
    assert standing["overlaps"] == [{"first": 1, "second": 2, "people": 399, "columns": ["ill"]}]


def test_what_is_not_checked_says_why_and_losses_add_up(run):
    run("publish", *DATA, "--method", "shuffle on age", "-o", "shuffled")
    for name in ("one", "two"):
        run("synthesize", *DATA, "--method", "epsilon=1/2 by=independent on ill", "-o", name)
    [population] = registered(run)
    states = [one["state"] for one in population["departures"]]
    assert states == ["not checked", "privacy loss", "privacy loss"]
    assert "so its facts are not figures" in population["departures"][0]["why"]
    assert population["total"] == "ε = 1"
    shown = run("exposure", "--card", "patients.toml")
    assert "not checked" in shown
    assert "add up to ε = 1" in shown
    assert "discreet attack" not in shown, "there is nothing to attack it with"


def test_a_report_opens_offline_with_both_pictures(run, tmp_path):
    run("tabulate", *DATA, *SIDES, "-o", "all")
    run("tabulate", *DATA, "--by", "town", "--rule", "min=3", "-o", "towns")
    run("tabulate", *DATA, "--by", "ill", "--rule", "min=3", "-o", "ill")
    run("exposure", "--card", "patients.toml", "-o", "exposure.html")
    page = (tmp_path / "exposure.html").read_text()
    assert page.count("data:image/svg+xml") == 2
    assert "confidential" in page
    assert "default-src 'none'" in page
    assert "already" in run("exposure", "--card", "patients.toml", "-o", "exposure.html", code=1)


def test_the_card_file_may_have_a_policy(run, tmp_path):
    run("tabulate", *DATA, *SIDES, "-o", "all")
    (tmp_path / "patients.toml").write_text(f"[exposure]\nsmallest_group = 1\n{CARD}")
    run(*draft("age < 79"))
    (tmp_path / "patients.toml").write_text(f"[exposure]\nsmallest_grup = 1\n{CARD}")
    assert "did you mean 'smallest_group'?" in run(*draft("age < 79"), code=1)


def test_a_workspace_shows_answers_and_what_was_spent_by_table_and_analyst(run, tmp_path):
    words = ("--table", "patients=patients.csv", "--card", "patients.toml", "--budget", "epsilon=3")
    run("workspace", "init", "clinic", *words, "--analyst", "ann")
    run("ask", "clinic", "SELECT COUNT(*) FROM patients", "--epsilon", "0.5", "--analyst", "ann")
    run("publish", *DATA, "--model", "k=2", "--suppress", "1", "-o", "rows", "--workspace", "clinic")
    found = json.loads(run("exposure", "clinic", "--json"))
    assert {(one["table"], one["analyst"], one["spent"]) for one in found["spent"]} == {
        ("patients", "", "ε = 0.5"),
        ("patients", "ann", "ε = 0.5"),
    }
    [population] = found["populations"]
    assert sorted((one["answer"], one["state"]) for one in population["departures"]) == [
        (False, "checked"),
        (True, "privacy loss"),
    ]
    run("exposure", "clinic", "--table", "patients", *SIDES, code=1)  # it has the person whose row was suppressed
    run("exposure", "clinic", "--table", "patients", *SIDES, "--where", "age < 79")
    assert "There is no table visits" in run("exposure", "clinic", "--table", "visits", *SIDES, code=1)


def test_a_recipient_has_what_was_answered_and_shared(run, tmp_path):
    words = ("--table", "patients=patients.csv", "--card", "patients.toml", "--budget", "epsilon=3")
    run("workspace", "init", "clinic", *words, "--analyst", "ann")
    run("ask", "clinic", "SELECT COUNT(*) FROM patients", "--epsilon", "0.5", "--analyst", "ann")
    run("publish", *DATA, "--model", "k=2", "--suppress", "1", "-o", "rows", "--workspace", "clinic")
    found = json.loads(run("exposure", "clinic", "--recipient", "ann", "--json"))
    assert found["recipient"] == "ann"
    assert [one["analyst"] for one in found["spent"]] == ["ann"]
    departures = [line for one in found["populations"] for line in one["departures"]]
    assert all(line["answer"] for line in departures), "rows were published, and not shared with her"
    assert "may not query any" in run("exposure", "clinic", "--recipient", "eve", code=1)


def test_the_workspaces_policy_is_that_of_its_tables(run, tmp_path):
    words = ("--table", "patients=patients.csv", "--card", "patients.toml", "--budget", "epsilon=3")
    run("workspace", "init", "clinic", *words)
    file = tmp_path / "clinic" / "workspace.toml"
    text = file.read_text()
    file.write_text(f'{text}\n[exposure]\nsmallest_group = 5\nundecided = "warn"\noverride = []\n')
    with Curator(tmp_path / "clinic") as curator:
        policy = curator.workspace.original("patients").policy
    assert (policy.smallest_group, policy.undecided, policy.override) == (5, "warn", ())
    for wrong in ('undecided = "maybe"', "share = 2", 'override = ["boss"]', "seconds = 0", 'group = "x"'):
        file.write_text(f"{text}\n[exposure]\n{wrong}\n")
        assert "[exposure]" in run("exposure", "clinic", code=1)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("clinic", "--card", "patients.toml"),
        ("--card", "patients.toml", "--where", "age < 3"),
        ("--card", "patients.toml", "--by", "town"),
        ("--card", "patients.toml", "--recipient", "ann"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, words):
    run("exposure", *words, code=1)


def test_rows_are_chosen_by_plain_conditions_alone(run):
    for where in ("agee < 3", "age < (SELECT 1)", "age +", "random() < 0.5"):
        run(*draft(where), code=1)


def rows(*how, where=None):
    more = ("--where", where) if where else ()
    return ("exposure", "--card", "patients.toml", "--table", "patients.csv", *how, *more)


def test_a_draft_of_rows_is_checked_as_publish_would(run, tmp_path):
    from tests.called import called

    run("tabulate", *DATA, *SIDES, "-o", "all")
    assert json.loads(run(*rows("--model", "k=3"), "--json"))["checked"] == [1]
    refused = json.loads(called((*rows("--model", "k=3", where="age < 79"), "--json"), tmp_path).stdout)
    assert "reveals ill of a group of 1 person" in refused["message"]
    assert "the same for the rows of release 1 (all rows)" in refused["hint"]
    assert len(registered(run)[0]["departures"]) == 1


def test_a_draft_that_no_figures_describe_says_that_it_is_not_checked(run):
    run("publish", *DATA, "--model", "k=3", "-o", "all")
    for how, attacked in (
        (("--method", "noise alpha=0.1 on age"), "Attacked jointly with all: "),
        (("--method", "synthesize cart"), "Not attacked jointly with others: rows are synthetic"),
    ):
        said = " ".join(run(*rows(*how)).split())
        assert "This would pass. Not checked together with 1 earlier release of the same people" in said
        assert attacked in said
    run(*rows("--method", "synthesize cart", "--model", "k=3"), code=1)
    run(*rows("--by", "town × ill", "--model", "k=3"), code=1)
    run(*rows("--model", "k=3", "--rule", "min=3"), code=1)
    run(*rows(), code=1)
    assert len(registered(run)[0]["departures"]) == 1


def test_an_attack_is_printed_with_the_release_and_in_the_list(run):
    run("publish", *DATA, "--model", "k=3", "-o", "all")
    said = " ".join(run("publish", *DATA, "--method", "noise alpha=0.1 on age", "-o", "masked").split())
    assert "Attacked jointly with all: " in said
    listed = " ".join(run("exposure", "--card", "patients.toml").split())
    assert "ttacked" in listed


def test_a_table_that_an_analyst_holds_counts_for_her(run, tmp_path):
    words = ("--table", "patients=patients.csv", "--card", "patients.toml", "--budget", "epsilon=3")
    run("workspace", "init", "clinic", *words, "--analyst", "ann")
    lines = (tmp_path / "patients.csv").read_text().splitlines(keepends=True)
    (tmp_path / "held.csv").write_text("".join(line for line in lines if not line.startswith("p17,")))
    declared = ("exposure", "clinic", "--recipient", "ann", "--holds", "held.csv")
    assert "ann holds ill of 399 people." in run(*declared, "--table", "patients")
    assert json.loads(run(*declared, "--table", "patients", "--json"))["people"] == 399
    run("exposure", "clinic", "--table", "patients", *SIDES, code=1)
    run("exposure", "clinic", "--table", "patients", *SIDES, "--where", "age < 79")
    hers = json.loads(run("exposure", "clinic", "--recipient", "ann", "--json"))["populations"][0]
    assert [one["state"] for one in hers["departures"]] == ["held", "held"]
    assert hers["standings"][0]["people"] == 399
    everybody = json.loads(run("exposure", "clinic", "--json"))["populations"][0]
    assert everybody["standings"] == [], "nothing has left"
    assert "declared: held by a recipient" in " ".join(run("exposure", "clinic").split())
    assert "Name the holder" in run("exposure", "clinic", "--holds", "held.csv", code=1)
    assert "does not apply" in run(*declared, "--table", "patients", "--by", "town", code=1)


def test_hidden_transactions_are_checked_and_a_dry_run_registers_nothing(run, tmp_path):
    rows = [f"p{n},{TOWNS[n % 4]},{n},{ILLNESSES[n % 3]}" for n in range(100)]
    (tmp_path / "patients.csv").write_text("\n".join(["id,town,age,ill", *rows]) + "\n")
    hide = ("hide", *DATA, "--column", "town", "--column", "age", "--column", "ill", "--support", "34")
    hide += ("--itemset", "ill=flu")
    run("tabulate", *DATA, *SIDES, "-o", "all")
    assert "reveals ill of a group of 1 person" in run(*hide, "--dry-run", code=3)
    assert "reveals ill of a group of 1 person" in run(*hide, "-o", "hidden", code=3)
    run(*hide, "--despite", "The board agreed.", "--dry-run")
    assert len(registered(run)[0]["departures"]) == 1
    run(*hide, "--despite", "The board agreed.", "-o", "hidden")
    assert registered(run)[0]["departures"][1]["note"] == "The board agreed"
    assert "does not apply" in run("hide", "patients.csv", "--support", "1", "--despite", "So.", "-o", "x", code=1)


def test_what_is_made_up_or_learnt_without_the_lost_register_needs_a_reason(run, tmp_path):
    run("publish", *DATA, "--model", "k=3", "-o", "all")
    for file in tmp_path.glob("patients.register.db*"):
        file.unlink()
    made = ("synthesize", *DATA, "--method", "cart", "-o", "rows")
    assert "all had been registered for patients" in run(*made, code=1)
    run(*made, "--despite", "The disk is gone.")
    assert "The disk is gone" in (tmp_path / "rows" / "statement.json").read_text()
    run("synthesize", *DATA, "--method", "epsilon=1 on ill", "-o", "private")
