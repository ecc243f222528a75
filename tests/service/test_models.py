"""Models with a privacy loss over HTTP: a steward's are charged to the table, an analyst's to the analyst as well."""

from fractions import Fraction

import pyarrow as pa
import pytest
from tests.service.serving import serving
from tests.service.test_synthetic import done

from discreet.core.loss import Approximate
from discreet.curator.release_index import Shelf
from discreet.errors import BadInput
from discreet.service.client import connect
from discreet.verbs.learn.learn import load_model
from discreet.verbs.learn.private.additive import Additive
from discreet.verbs.learn.private.ridge import Ridge

JOB = {"table": "patients", "method": "naive-bayes target=insurance epsilon=0.5 on sex, ethnicity"}
ROWS = pa.table({"sex": ["F", "M"], "ethnicity": ["White", "Other"]})


@pytest.fixture(scope="module")
def service(clinic):
    clinic.desk.start()
    with serving(clinic.desk) as found:
        yield found


def method(learner):
    """The body of a request that learns a model of the patients."""
    return {"table": "patients", "method": {"name": "learn", "learner": learner}}


def spent(desk, who):
    return {one.account: one.spent for one in desk.budgets.accounts(who)}


def test_a_steward_has_a_model_learnt_which_is_charged_once_and_theirs_until_shared(clinic, service):
    desk, steward = clinic.desk, service.client(clinic.tokens["steward"])
    ann = service.client(clinic.tokens["ann"])
    submitted = [steward.post("/v1/jobs/learn", json=JOB | {"key": "once", "title": "Who pays"}) for _ in range(2)]
    assert [one.status_code for one in submitted] == [202, 202]
    assert submitted[0].json()["id"] == submitted[1].json()["id"]
    job = done(desk, clinic.steward, desk.job(clinic.steward, submitted[0].json()["id"]))
    assert (job.state, job.error) == ("done", "")
    after = spent(desk, clinic.steward)
    assert (after["patients"], after["patients/ann"]) == (Approximate("0.5", 0), Approximate(0, 0))
    place = f"/v1/releases/{job.result}"
    found = steward.get(place).json()
    assert (found["kind"], found["title"], found["shared"], found["private"]) == ("learnt", "Who pays", False, True)
    assert found["loss"] == {"kind": "pure", "epsilon": "1/2"}
    report = steward.get(f"{place}/report").text
    assert "data:image/svg+xml" in report and "log odds of insurance" in report
    assert ann.get(place).status_code == 404
    assert steward.put(f"{place}/shared", json={"shared": True}).status_code in (200, 204)
    assert ann.get(f"{place}/download").status_code == 200
    populations = desk.exposure.overview(clinic.steward, "ann").populations
    assert ("Who pays", "ε = 0.5") in [(line.title, line.loss) for one in populations for line in one.departures]
    assert desk.budgets.verify(clinic.steward).sound


def test_what_is_made_elsewhere_or_before_a_crash_is_no_stand_in(clinic, service):
    desk = clinic.desk
    job = done(desk, clinic.steward, desk.jobs(clinic.steward)[0])
    shelf: Shelf = desk._shelf
    shelf.forget([job.result])
    one = desk.shelved(clinic.steward, job.result)
    assert (one.kind, one.by, one.shared) == ("learnt", "the holder", False)
    assert desk.table(clinic.ann, "patients").synthetic is None


def test_what_is_wrong_with_a_model_is_said_before_anything_is_charged(clinic, service):
    desk, steward = clinic.desk, service.client(clinic.tokens["steward"])
    before = spent(desk, clinic.steward)
    for method, said in (
        ("additive target=insurance on sex", "epsilon"),
        ("additive target=zip epsilon=1", "categories"),
        ("ridge target=insurance epsilon=1 on sex", "not a number"),
        ("magic epsilon=1", "no learner"),
    ):
        refused = steward.post("/v1/jobs/learn", json=JOB | {"method": method})
        assert refused.status_code in (400, 409) and said in refused.text, method
    refused = steward.post("/v1/jobs/learn", json=JOB | {"despite": "For a test."})
    assert refused.status_code == 400 and "despite does not apply" in refused.text
    assert spent(desk, clinic.steward) == before


def test_an_analyst_learns_a_model_within_their_budget(clinic, service):
    ann = service.client(clinic.tokens["ann"])
    before, given = spent(clinic.desk, clinic.steward), method("additive target=sex epsilon=0.25 on ethnicity")
    price = ann.post("/v1/methods/price", json=given).json()
    assert price["loss"] == {"kind": "pure", "epsilon": "1/4"} and not price["answered"]
    made, again = (ann.post("/v1/methods/release", json=given).json() for _ in range(2))
    assert (made["answer"], made["free"], again["free"]) == (None, False, True)
    after = spent(clinic.desk, clinic.steward)
    assert after["patients"].epsilon - before["patients"].epsilon == Fraction("0.25")
    assert after["patients/ann"] == Approximate("0.25", 0)
    over = ann.post("/v1/methods/release", json=method("ridge target=birth_date epsilon=2 on sex"))
    assert (over.status_code, over.json()["error"]) == (409, "BudgetExceeded")
    integral = ann.post("/v1/methods/release", json=method("tree target=sex integral=5"))
    assert integral.status_code == 400 and "has no privacy loss" in integral.text
    assert service.client(clinic.tokens["bob"]).post("/v1/methods/release", json=given).status_code == 409


def test_the_client_learns_as_a_curator_does(clinic, service):
    method = Additive(target="sex", epsilon="0.25", columns=["ethnicity"])
    with connect(service.url, clinic.tokens["ann"]) as remote:
        assert remote.quote(method, "patients").answered
        release = remote.release(method, "patients")
        assert load_model(release).predict(ROWS).to_pylist() == load_model(release.payload).predict(ROWS).to_pylist()
        assert remote.quote(Ridge(target="birth_date", rho="1/8", columns=["sex"]), "patients").loss.rho == 0.125
        with pytest.raises(BadInput, match="is not a number"):
            remote.quote(Ridge(target="sex", epsilon=1, columns=["ethnicity"]), "patients")
