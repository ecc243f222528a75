"""Nobody who is signed in is told where things are on the server's disk."""

from pathlib import Path

import pytest
from tests.service.serving import serving

from discreet.errors import BudgetExceeded, Damaged
from discreet.releases.register import Entry, notice
from discreet.service.jobs.specs import Publish
from discreet.service.redact import redacted, without_paths

WORKSPACE = Path("/srv/data of ours/clinic")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file /srv/data of ours/clinic/tables/visits/twin.parquet.", "no file clinic/tables/visits/twin.parquet."),
        ("'/etc/ssl/key.pem' cannot be read", "'key.pem' cannot be read"),
        ("There is no folder /tmp/some/", "There is no folder …"),
        ("(/tmp/a/b, /tmp/c/d)", "(b, d)"),
        ("no /tmp/data of theirs/secret/people.parquet.", "no people.parquet."),
        ("'/tmp/a, b (old)/secret/x.csv' and /etc/ssl/y", "'x.csv' and y"),
        ("See /tmp/a/b or GET /v1/tables", "See b or GET /v1/tables"),
        ("file:/tmp/secret/people.parquet and file:///etc/ssl/k", "people.parquet and k"),
        ("file://host/tmp/secret/x and path:/tmp/secret/y", "x and path:y"),
        ("IO Error: /tmp/a/b.csv: 3/4 read", "IO Error: b.csv: 3/4 read"),
        ("GET /v1/tables lists those that there are.", "GET /v1/tables lists those that there are."),
        ("and/or 3/4 of sc://host/tmp/x", "and/or 3/4 of sc://host/tmp/x"),
        ("SELECT a /b/ c FROM t", "SELECT a /b/ c FROM t"),
    ],
)
def test_paths_become_names(text, shown):
    assert without_paths(text, WORKSPACE) == shown


def test_an_error_stays_what_it_is():
    error = redacted(BudgetExceeded("Spent in /tmp/x/y", asked=1, left=0, hint="See /etc/hosts/z."), WORKSPACE)
    assert (str(error), error.asked, type(error)) == ("Spent in y See z.", 1, BudgetExceeded)


def test_the_api_does_not_say_where_the_workspace_is(clinic):
    place = clinic.folder / "tables" / "visits" / "card.toml"
    hidden = place.rename(place.with_suffix(".away"))
    try:
        with pytest.raises(Damaged, match=str(clinic.folder)):
            clinic.desk.workspace.require_files()
        with serving(clinic.desk) as service:
            said = service.client(clinic.tokens["steward"]).get("/v1/tables")
        assert said.status_code == 500
        assert "tables/visits/card.toml" in said.text
        assert str(clinic.folder.parent) not in said.text
    finally:
        hidden.rename(place)


def test_a_job_does_not_say_where_earlier_releases_are(clinic):
    queue, place = clinic.desk._jobs._queue, clinic.folder / "published" / "earlier"
    job = clinic.desk.submit(clinic.steward, Publish("patients", ("k=2",), title="Paths"))
    while (claim := queue.claim("a test")).job.id != job.id:
        pass
    assert queue.failed(claim, f"{notice([Entry(0, 'patients', 'patients', '', str(place), 'publish', 5)])}")
    queue.let_go(claim)
    said = clinic.desk.job(clinic.steward, job.id).error
    assert "clinic/published/earlier" in said
    assert str(clinic.folder.parent) not in said
