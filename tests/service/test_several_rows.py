"""People with several rows, published by jobs: the demo's visits, alone and with the patients."""

import pytest
from tests.service.test_exposure import done

from discreet.core.release import Release
from discreet.errors import BadInput, NotFound
from discreet.service.jobs.specs import Attack, Publish


def _spec(people, **more):
    return Publish("visits", ("k=3",), suppress="50%", people=people, **more)


def test_what_is_wrong_with_a_treatment_of_people_shows_before_it_is_begun(clinic):
    desk, steward = clinic.desk, clinic.steward
    with pytest.raises(NotFound, match="no table about people called 'nobody'"):
        desk.submit(steward, _spec("linked with nobody"))
    with pytest.raises(BadInput, match="one by one"):
        desk.submit(steward, Publish("visits", ("k=3",), "mondrian", people="linked"))
    with pytest.raises(BadInput, match="no treatment of people with several rows 'together'"):
        desk.submit(steward, _spec("together"))
    with pytest.raises(BadInput, match="does not apply to synthetic rows"):
        desk.submit(steward, Publish("visits", (), "synthesize cart", people="one-row"))


def test_visits_are_published_and_attacked_by_jobs(clinic):
    desk, steward = clinic.desk, clinic.steward
    desk.start()
    job = done(desk, steward, _spec("linked most=1 with patients"))
    assert (job.state, job.error) == ("done", "")
    release = Release.load(desk.path(steward, job.result))
    patients = release.also.column("person").to_pylist()
    assert len(set(patients)) == len(patients)
    assert set(release.payload.column("person").to_pylist()) <= set(patients)
    attacked = done(desk, steward, Attack(job.result))
    assert (attacked.state, attacked.error) == ("done", "")
    [finding] = desk.job_result(steward, attacked.id)["findings"]
    assert finding["attack"] == "known rows"
    assert finding["details"]["fewest people by known rows"]["all"] >= 3


@pytest.mark.slow
def test_visits_need_a_word_on_what_leaves(clinic):
    desk, steward = clinic.desk, clinic.steward
    desk.start()
    job = done(desk, steward, _spec(""))
    assert job.state == "failed"
    assert "one-row" in job.error
