"""When the budget is spent the synthetic stand-in answers, over HTTP as well, and everybody can see that it did."""

import shutil
import time

import pyarrow as pa
import pytest
from tests.curator.methods import MadeUp
from tests.service.serving import serving

from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.errors import BudgetExceeded, NotAllowed
from discreet.service.client import connect
from discreet.service.jobs.specs import Publish, Synthesize
from discreet.service.views import Spend

SEXES = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex ORDER BY sex"
FOUND = [["F", 75], ["M", 25]]


def rows(table):
    """A hundred made-up patients who differ by their sex alone."""
    some = table.payload().slice(0, 1)
    every = pa.concat_tables([some] * 100)
    sexes = pa.array(["F", "F", "F", "M"] * 25)
    return every.set_column(every.schema.get_field_index("sex"), "sex", sexes)


@pytest.fixture(scope="module")
def twin(clinic):
    """A twin that was made by another process than the service's, while that runs."""
    with Curator(clinic.folder) as curator:
        return curator.make_synthetic(MadeUp(rows), "patients").identity


@pytest.fixture(scope="module")
def service(clinic, twin):
    with serving(clinic.desk) as found:
        yield found


@pytest.fixture
def ann(clinic, service):
    return service.client(clinic.tokens["ann"])


def asked(client, **given):
    return client.post("/v1/ask", json={"questions": [SEXES], "epsilon": "50", **given})


def test_the_answer_says_that_it_is_synthetic(clinic, ann, twin):
    before = clinic.desk.budgets.accounts(clinic.ann)
    [answer] = asked(ann).json()["answers"]
    assert answer["synthetic"] is True
    assert answer["free"] is True
    assert answer["price"] == {"kind": "pure", "epsilon": "0"}
    assert [row[:2] for row in answer["answer"]["rows"]] == FOUND
    assert "people who never existed" in answer["promise"]
    assert clinic.desk.budgets.accounts(clinic.ann) == before
    [price] = ann.post("/v1/price", json={"questions": [SEXES], "epsilon": "50"}).json()["prices"]
    assert price["synthetic"] == ["patients"]
    [price] = ann.post("/v1/price", json={"questions": [SEXES], "epsilon": "0.1"}).json()["prices"]
    assert price["synthetic"] == []
    [paid] = ann.post("/v1/ask", json={"questions": [SEXES], "epsilon": "0.01"}).json()["answers"]
    assert paid["synthetic"] is False
    lines = [
        one for one in clinic.desk.access.audit(clinic.auditor) if one.action == "ask" and "synthetic" in one.about
    ]
    assert lines[0].about["synthetic"] == "1"


def test_who_does_not_want_it_is_refused_and_told_of_it(ann, twin):
    response = asked(ann, instead=False)
    assert response.status_code == 409
    assert response.json()["error"] == "BudgetExceeded"
    assert response.json()["instead"] == twin


def test_the_twin_is_on_the_shelf_for_the_analysts_of_its_table(clinic, service, ann, twin):
    assert ann.get("/v1/tables/patients").json()["synthetic"] == twin
    assert ann.get("/v1/tables/visits").json()["synthetic"] is None
    one = ann.get(f"/v1/releases/{twin}").json()
    assert (one["kind"], one["title"], one["shared"]) == ("synthetic", "The synthetic stand-in of patients", True)
    assert ann.get(f"/v1/releases/{twin}/download").status_code == 200
    bob = service.client(clinic.tokens["bob"])
    assert bob.get(f"/v1/releases/{twin}").status_code == 404
    assert asked(bob).status_code == 409
    assert "synthetic" not in bob.post("/v1/ask", json={"questions": [SEXES], "epsilon": "50"}).text
    kinds = ann.get("/v1/releases", params={"kind": "synthetic"}).json()
    assert [one["id"] for one in kinds] == [twin]


def test_the_client_says_what_a_local_curator_says(clinic, service, twin):
    with connect(service.url, clinic.tokens["ann"]) as remote, Curator(clinic.folder) as local:
        here = local.ask(SEXES, epsilon=50, analyst="ann")
        there = remote.ask(SEXES, epsilon=50)
        assert there.synthetic
        assert (there.table, there.identity, there.left, str(there)) == (
            here.table,
            here.identity,
            here.left,
            str(here),
        )
        assert remote.price(SEXES, epsilon=50) == local.price(SEXES, epsilon=50, analyst="ann")
        assert [one.synthetic for one in remote.ask_all([SEXES], epsilon=50)] == [True]
        with pytest.raises(BudgetExceeded):
            remote.ask(SEXES, epsilon=50, instead=False)


def test_answers_of_the_twin_are_listed_and_the_books_are_sound(clinic, ann):
    [answer] = asked(ann).json()["answers"]
    found = ann.get(f"/v1/releases/{answer['id']}").json()
    assert (found["kind"], found["method"]) == ("answer", "ask-synthetic")
    assert found["loss"] == {"kind": "pure", "epsilon": "0"}
    assert clinic.desk.budgets.verify(clinic.steward).sound
    fresh = clinic.desk.ask(clinic.ann, [SEXES], Spend("50"))[0]
    assert fresh.identity == answer["id"]


def test_its_csv_says_in_every_row_that_it_is_synthetic(ann):
    [answer] = asked(ann).json()["answers"]
    header, *rows = ann.get(f"/v1/releases/{answer['id']}/rows.csv").text.splitlines()
    assert header.split(",")[-1] == '"synthetic"'
    assert [row.split(",")[-1] for row in rows] == ["true", "true"]


def test_what_was_made_by_another_way_in_can_be_looked_up_before_anything_lists_it(clinic, ann):
    with Curator(clinic.folder) as curator:
        answer = curator.ask("SELECT COUNT(*) AS n FROM patients", epsilon="0.01", analyst="ann")
    assert clinic.desk.shelved(clinic.steward, answer.identity).by == "ann"
    assert ann.get(f"/v1/releases/{answer.identity}").status_code == 200


def test_a_twin_that_is_no_longer_shared_answers_nothing(clinic, ann, twin):
    clinic.desk.share(clinic.steward, twin, False)
    try:
        response = asked(ann)
        assert (response.status_code, response.json().get("instead")) == (409, None)
        [price] = ann.post("/v1/price", json={"questions": [SEXES], "epsilon": "50"}).json()["prices"]
        assert price["synthetic"] == []
        assert ann.get("/v1/tables/patients").json()["synthetic"] is None
        assert ann.get(f"/v1/releases/{twin}").status_code == 404
        with Curator(clinic.folder) as curator:  # made again by another way in, it is shared again
            assert curator.make_synthetic(MadeUp(rows), "patients").free
        assert ann.get("/v1/tables/patients").json()["synthetic"] == twin
        assert ann.get(f"/v1/releases/{twin}").status_code == 200
        clinic.desk.share(clinic.steward, twin, False)
    finally:
        clinic.desk.share(clinic.steward, twin, True)
    assert asked(ann).json()["answers"][0]["synthetic"]


def test_an_answer_that_had_to_make_room_can_be_asked_again(clinic, ann):
    [answer] = asked(ann).json()["answers"]
    shutil.rmtree(clinic.folder / ".synthetic" / answer["id"])
    gone = ann.get(f"/v1/releases/{answer['id']}/download")
    assert (gone.status_code, gone.json()["hint"]) == (404, "Ask again: it is free.")
    assert asked(ann).json()["answers"] == [answer]
    assert ann.get(f"/v1/releases/{answer['id']}/download").status_code == 200


def test_a_stand_in_without_a_privacy_loss_is_refused(clinic, service):
    steward = service.client(clinic.tokens["steward"])
    for method, said in (
        ("epsilon=1 bins=cost:x", "bins must be a whole number"),
        ("cart", "has no privacy guarantee"),
    ):
        refused = steward.post("/v1/jobs/synthesize", json={"table": "visits", "method": method})
        assert refused.status_code == 400
        assert said in refused.json()["message"]


def done(desk, who, job):
    until = time.monotonic() + 120
    while not (found := desk.job(who, job.id)).over and time.monotonic() < until:
        time.sleep(0.1)
    return found


@pytest.mark.slow
def test_a_steward_has_it_made_and_the_table_is_charged(clinic):
    desk, steward = clinic.desk, clinic.steward
    desk.start()
    with pytest.raises(NotAllowed):
        desk.submit(clinic.ann, Synthesize("visits", "epsilon=2.5 delta=1e-9 by=mst"))
    before = {one.account: one.spent for one in desk.budgets.accounts(steward)}
    job = done(desk, steward, desk.submit(steward, Synthesize("visits", "epsilon=2.5 delta=1e-9 by=mst")))
    assert (job.state, job.error) == ("done", "")
    assert desk.shelved(clinic.ann, job.result).kind == "synthetic"
    after = {one.account: one.spent for one in desk.budgets.accounts(steward)}
    assert after["visits"] == Approximate("2.5", "1e-9")
    assert after["visits/ann"] == before["visits/ann"]
    [answer] = desk.ask(clinic.ann, ["SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"], Spend("50"))
    assert answer.synthetic
    assert all(row["n_error"] > 0 for row in answer.table.to_pylist())
    assert desk.budgets.verify(steward).sound


@pytest.mark.slow
def test_rows_that_are_made_up_without_a_promise_are_published_by_a_job(clinic):
    desk, steward = clinic.desk, clinic.steward
    desk.start()
    job = done(desk, steward, desk.submit(steward, Publish("patients", (), "synthesize cart")))
    assert (job.state, job.error) == ("done", "")
    assert not desk.shelved(steward, job.result).private
    assert "attack" in desk.paper(steward, job.id, "holder.html").read_text().lower()
