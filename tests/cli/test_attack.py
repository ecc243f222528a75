"""`discreet attack`, as a person meets it."""

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.publish.mask.people import CARD, rows

import discreet as dc
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.swap import RankSwap


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table, two masked releases of it, and the links of the first beside it."""
    folder = tmp_path_factory.mktemp("made")
    pyarrow.csv.write_csv(rows(60), folder / "people.csv")
    pyarrow.csv.write_csv(rows(40, seed=2), folder / "others.csv")
    (folder / "people.toml").write_text(dc.dump_cards([CARD]))
    table = dc.read(folder / "people.csv", folder / "people.toml")
    dc.publish(table, Noise(0.3, ("age", "weight")), to=folder / "r1", holder=folder / "r1.holder.parquet")
    dc.publish(table, Noise(0.1, ("height",)), to=folder / "r2")
    pq.write_table(pa.table({"other": [1]}), folder / "wrong.parquet")
    pq.write_table(pa.table({"row": pq.read_table(folder / "r1.holder.parquet")["row"]}), folder / "bare.parquet")
    return folder


@pytest.fixture
def run(made):
    from tests.called import called

    def said(*words, code=0):
        found = called(("attack", *words), made)
        assert found.code == code, found.stdout + found.stderr
        assert "Traceback" not in found.stderr
        return found.stdout if code == 0 else found.stderr

    return said


KNOWN = ("--original", "people.csv", "--card", "people.toml")
LOTS = "matching by quasi-identifiers"
FEW = ("--only", "distance linkage", "--only", "homogeneity", "--only", "composition")


def test_a_steward_reads_what_intruders_get(run, made):
    said = run("r1", *KNOWN, "--html", "report.html")
    assert "The worst:" in said
    assert "matching by quasi-identifiers" in said
    assert "learned something" in said
    assert "rank-swap intersection" in said.split("Not applicable to this release:")[1]
    assert "are confidential" in said
    assert "victim rows" in (made / "report.html").read_text()


def test_links_beside_the_release_are_found_and_without_them_linking_cannot_be_measured(run):
    found = json.loads(run("r1/", *KNOWN, *FEW, "--json"))
    by_name = {one["attack"]: one for one in found["findings"]}
    assert by_name["distance linkage"]["outcome"] == "learned something"
    assert by_name["distance linkage"]["victims"]
    assert found["not_applicable"] == [
        {"attack": "composition", "why": "No other release about the same people was given."}
    ]
    lacking = json.loads(run("r2", *KNOWN, *FEW, "--json"))
    assert {one["attack"]: one["outcome"] for one in lacking["findings"]}["distance linkage"] == "could not run"
    assert "Give the links" in " ".join(run("r2", *KNOWN, *FEW).split())


def test_of_two_people_nothing_can_be_told(run, made):
    two = pa.table({"age": [30, 40]})
    card = dc.Card("two", (dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI),))
    pyarrow.csv.write_csv(two, made / "two.csv")
    (made / "two.toml").write_text(dc.dump_cards([card]))
    dc.Release(two, dc.Statement(unit="a row"), dc.Recipe("a copy")).save(made / "two")
    said = " ".join(run("two", "--original", "two.csv", "--card", "two.toml", "--only", LOTS).split())
    assert "For 1 of them there are too few people to tell." in said
    assert "too few people to rule out chance" in said


def test_links_of_another_release_are_refused(run, made):
    """They would make every link look wrong, and a broken release safe."""
    table = dc.read(made / "people.csv", made / "people.toml")
    dc.publish(table, Noise(0.3, ("age", "weight")), to=made / "r3")
    (made / "r3.holder.parquet").write_bytes((made / "r1.holder.parquet").read_bytes())
    assert "belongs to another release than r3" in " ".join(run("r3", *KNOWN, *FEW, code=1).split())
    assert "belongs to another release than r2" in run("r2", *KNOWN, *FEW, "--links", "r1.holder.parquet", code=1)
    assert "is not the holder's copy" in run("r1", *KNOWN, *FEW, "--links", "bare.parquet", code=1)


@pytest.mark.parametrize("masker", [Noise(0.3, ("age",)), RankSwap(5)], ids=lambda masker: masker.name)
def test_links_that_were_kept_before_the_release_was_saved_are_of_it(run, made, masker):
    table = dc.read(made / "people.csv", made / "people.toml")
    name = f"later-{masker.name}"
    dc.publish(table, masker, holder=made / f"{name}.holder.parquet").save(made / name, csv=True)
    dc.publish(table, masker, to=made / f"{name}-at-once", holder=made / f"{name}-at-once.holder.parquet")
    for folder in (name, f"{name}-at-once"):
        found = json.loads(run(folder, *KNOWN, "--only", "distance linkage", "--json"))
        assert found["findings"][0]["outcome"] == "learned something"


def test_releases_are_laid_side_by_side(run):
    found = json.loads(run("r2", *KNOWN, "--also", "r1", "--only", "composition", "--json"))
    assert found["findings"][0]["details"]["releases"] == 2


def test_what_is_passed_on_names_no_victims(run, made):
    said = run("r1", *KNOWN, *FEW, "--no-victims", "--html", "passed.html", "--json")
    assert not any(one["victims"] for one in json.loads(said)["findings"] if "victims" in one)
    assert "victim rows" not in (made / "passed.html").read_text()
    assert "are confidential" not in run("r1", *KNOWN, *FEW, "--no-victims")


def test_a_population_can_be_told(run):
    only = ("--only", "population uniqueness", "--population", "5000")
    found = json.loads(run("r2", *KNOWN, *only, "--json"))
    assert found["findings"][0]["attack"] == "population uniqueness"
    assert "not 95 %" in " ".join(run("r2", *KNOWN, *only).split())


def test_people_who_are_not_in_it_can_be_told(run):
    only = ("--only", "inference", "--only", "membership by the closest record")
    found = json.loads(run("r2", *KNOWN, "--control", "others.csv", *only, "--json"))
    assert not found["not_applicable"]
    by_name = {one["attack"]: one for one in found["findings"]}
    assert {"risk", "control"} <= set(by_name["inference"]["details"])
    assert "no file" in run("r2", *KNOWN, "--control", "none.csv", code=1)


def test_what_is_missing_or_wrong_is_said(run):
    assert "add --original DATA --card CARD" in run("r1", code=1)
    assert "no folder" in run("r9", *KNOWN, code=1)
    assert "no attack 'magic'" in run("r1", *KNOWN, "--only", "magic", code=1)
    assert "no file" in run("r1", *KNOWN, "--links", "none.parquet", code=1)
    assert "is not the holder's copy" in run("r1", *KNOWN, "--links", "wrong.parquet", code=1)
    assert "no folder" in run("r1", *KNOWN, "--html", "nowhere/report.html", code=1)
