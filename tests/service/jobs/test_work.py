"""What jobs make, and where it lies."""

import json
import stat
from dataclasses import replace

import pyarrow as pa
import pytest

from discreet.core.loss import Approximate
from discreet.core.release import Release
from discreet.curator.audited import write_policy
from discreet.curator.curator import Curator
from discreet.curator.exposure import workspace_overview
from discreet.errors import NoPromise, NotFound
from discreet.service.jobs.places import Places
from discreet.service.jobs.specs import Attack, Compare, Hide, Learn, Prove, Publish, Tabulate
from discreet.service.jobs.work import Task, work
from discreet.verbs.ask.query_auditing.policy import Policy, Watch
from discreet.verbs.learn.learn import load_model
from discreet.verbs.prove.certificate import read_certificate
from discreet.verbs.prove.prove import recheck


@pytest.fixture
def do(folder):
    """Do what a spec says, in this process, and give it its final names."""
    places = Places(folder)
    places.prepare()

    def run(spec, id="20260101-stays-00000000", release=""):
        task = Task(id, str(folder), spec.kind, "stays", spec.to_dict(), str(places.run(id, 1).folder), str(release))
        places.run(id, 1).begin()
        told = []
        made = work(task, lambda share, what: told.append((share, what)))
        assert told and all(0 <= share <= 1 for share, _ in told)
        assert places.run(id, 1).made() == made
        for _ in range(2):  # whoever was interrupted does it again
            places.put_away(id, 1)
        places.clear(id, 1)
        assert not [path.name for path in places.papers.iterdir() if path.name.startswith(".")]
        return made, places

    return run


def departures(curator):
    """All that left of the people of a workspace."""
    return [line for one in workspace_overview(curator).populations for line in one.departures]


def test_publish_then_attack(do, folder):
    made, places = do(Publish("stays", ("k=3",), title="Stays for all"))
    release = places.release("20260101-stays-00000000")
    assert (made.title, made.method, made.rows) == ("Stays for all", "publish", 200)
    assert "200 rows were released" in made.said
    assert Release.load(release).recipe.parameters["smallest_class"] >= 3
    id = "20260102-stays-00000000"
    made, places = do(Attack("20260101-stays-00000000", ("uniqueness", "homogeneity")), id, release)
    result = places.result(id)
    assert {one["attack"] for one in result["findings"]} == {"uniqueness", "homogeneity"}
    assert "victims" in result["findings"][0]
    assert "<html" in places.paper(id, "attack", "report.html").read_text()
    for name in ("links.parquet", "../report.html", "result.json", ""):
        with pytest.raises(NotFound, match="no such document"):
            places.paper(id, "attack", name)


def test_a_model_is_released_and_compared_for_the_holder(do):
    made, places = do(Learn("stays", "statistics step=0.5 tries=40 integral=5 on age", despite="For a test."))
    id = "20260101-stays-00000000"
    assert (made.title, made.method) == ("stays, statistics", "learn statistics")
    result = places.result(id)
    assert result["model"].startswith("mean of age:") and "k = 5" in result["promise"]
    assert [one["model"] for one in result["scores"]][:2] == ["integral, k = 5", "plain"]
    assert Release.load(places.release(id)).payload["kind"] == "statistics"
    assert "plain" in places.paper(id, "learn", "holder.html").read_text()


def test_a_model_with_a_privacy_loss_is_charged_to_the_table_once(folder):
    places = Places(folder)
    places.prepare()
    spec = Learn("stays", "naive-bayes target=disease epsilon=0.5 on age, ward", "Illness")
    made, results = [], []
    for number, title in ((1, "Illness"), (2, "The same")):
        run, told = places.run("20260101-stays-00000000", number), replace(spec, title=title)
        run.begin()
        task = Task("20260101-stays-00000000", str(folder), "learn", "stays", told.to_dict(), str(run.folder))
        made.append(work(task, lambda share, what: None))
        results.append(json.loads((run.folder / "papers" / "result.json").read_text()))
    (first, second), (found, again) = made, results
    assert (first.title, first.method, first.private) == ("Illness", "naive-bayes", True)
    assert second.answer == first.answer == found["release"]
    assert (found["free"], again["free"]) == (False, True)
    assert found["model"] == again["model"] and found["loss"] == "ε = 0.5"
    with Curator(folder) as curator:
        spent = {one.name: one.spent for one in curator.ledger.accounts()}
        assert spent["stays"] == Approximate("0.5", 0) and spent["stays/analyst"] == Approximate(0, 0)
        assert curator.verify().sound
        [charged] = [one for one in departures(curator) if one.loss]
        assert (charged.method, charged.loss) == ("the holder", "ε = 0.5")
    model = load_model(folder / "releases" / first.answer)
    assert model.predict(pa.table({"age": [40], "ward": ["north"]})).to_pylist()[0] in ("cold", "flu")


def test_a_proof_can_be_read_and_checked_again(do):
    made, places = do(Prove("adjacent any\nclaim 0\nyes(x : private bool) : bool\n  return true\n"))
    id = "20260101-stays-00000000"
    assert made.said.startswith("Proved in ") and places.result(id)["verdict"] == "PROVED"
    assert "<html" in places.paper(id, "prove", "proof.html").read_text()
    certificate = read_certificate(places.paper(id, "prove", "proof.json"))
    assert recheck("adjacent any\nclaim 0\nyes(x : private bool) : bool\n  return true\n", certificate).proved


def test_masking_keeps_what_is_for_the_holder_beside_and_tells_of_what_is_out(do):
    do(Publish("stays", (), "noise alpha=0.1 on age"))
    made, places = do(Publish("stays", (), "noise alpha=0.2 on age"), "20260102-stays-00000000")
    assert "There are earlier releases about the same people" in made.said
    assert "20260101-stays-00000000" in places.result("20260102-stays-00000000")["warning"]
    for name in ("holder.parquet", "holder.html"):
        place = places.paper("20260102-stays-00000000", "publish", name)
        assert place.parent == places.published and stat.S_IMODE(place.stat().st_mode) == 0o600
    with pytest.raises(NotFound):
        places.paper("20260102-stays-00000000", "publish", "links.parquet")
    assert stat.S_IMODE(places.papers.stat().st_mode) == 0o700


def test_a_table_can_be_drawn_without_making_it_again(do):
    made, places = do(Tabulate("stays", ("ward × disease",), None, ("min=12",)))
    id = "20260101-stays-00000000"
    view = places.result(id)
    [table] = view["tables"]
    assert table["sides"] == ["ward", "disease"] and table["across"][0]["text"] == "Total"
    cells = {
        (row["labels"][0]["text"], head["text"]): cell
        for row in table["rows"]
        for head, cell in zip(table["across"], row["cells"], strict=True)
    }
    assert cells["Total", "Total"] == {"figure": "200", "printed": "200", "kind": "shown", "why": "", "total": True}
    few = cells["south", "flu"]
    assert (few["figure"], few["printed"], few["kind"], few["total"]) == ("10", "×", "sensitive", False)
    assert "an intruder can compute that it is between" in few["why"]
    assert cells["north", "flu"]["kind"] == "hidden"
    assert made.title == "counts by ward × disease" and "4 of them suppressed" in made.said
    assert places.paper(id, "tabulate", "holder.html").is_file()
    assert places.paper(id, "tabulate", "holder.parquet").is_file()


def test_what_is_hidden_is_told_to_its_holder_alone(do):
    pair = "disease=cold, ward=north"
    made, places = do(Hide("stays", "50%", itemsets=(pair,), columns=("ward", "disease"), method="bba"))
    id = "20260101-stays-00000000"
    assert (made.method, made.rows, made.private) == ("hide", 200, False)
    assert "1 secret hidden in 200 transactions" in made.said and "ward" not in made.said
    release = Release.load(places.release(id))
    assert "neither anonymisation nor differential privacy" in release.promise
    assert sum({"disease=cold", "ward=north"} <= set(row) for row in release.payload["items"].to_pylist()) < 100
    (one,) = places.result(id)["secrets"]
    assert (one["secret"], one["before"], one["after"], one["hidden_below"]) == (pair, "114", "99", "100")
    page = places.paper(id, "hide", "holder.html")
    assert page.parent == places.published and stat.S_IMODE(page.stat().st_mode) == 0o600
    assert pair in page.read_text()
    assert not any(pair in path.read_text() for path in places.release(id).iterdir() if path.suffix != ".parquet")


def test_who_prints_an_audited_table_is_told_so(do, folder):
    with Curator(folder) as curator:
        twin = curator.workspace.tables["stays"].id
        write_policy(curator.ledger, "stays", twin, Policy({"age": Watch("sum")}, ("ward",)))
    made, _ = do(Tabulate("stays", ("ward",), None, ("min=12",)))
    assert "The table has query auditing" in made.said


def test_the_same_people_are_changed_in_the_same_way_by_the_next_table(do):
    spec = Tabulate("stays", ("ward × disease",), None, (), "cell-key")
    for day in (1, 2):
        _, places = do(spec, f"2026010{day}-stays-00000000")
    first, second = (Release.load(places.release(f"2026010{day}-stays-00000000")).payload for day in (1, 2))
    assert first == second
    assert stat.S_IMODE(places.secret("stays").stat().st_mode) == 0o600


def test_a_map_keeps_its_points(do):
    spec = Compare("stays", methods=("noise alpha=0.1 on age",))
    for day in (1, 2):
        made, places = do(spec, f"2026010{day}-stays-00000000")
    assert made.said.startswith("1 masking measured")
    assert [one["method"] for one in places.result("20260102-stays-00000000")["points"]] == [
        "original",
        "noise alpha=0.1 on age",
    ]
    assert len(list(places.points.iterdir())) == 2
    assert "<html" in places.paper("20260102-stays-00000000", "compare", "map.html").read_text()


def test_what_cannot_be_done_leaves_nothing_under_its_name(do, folder):
    with pytest.raises(NoPromise):
        do(Publish("stays", ("k=201",)))
    assert not list((folder / "published").iterdir())
