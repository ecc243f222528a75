"""Uploads, drafted cards and tables over the API: bounded, for stewards alone, and nothing half-made."""

import pytest
from tests.service.serving import serving

from discreet.service.api import guard
from discreet.service.operations import data

ROWS = b"zip,age,illness\n" + b"".join(b"130%02d,%d,flu\n" % (n % 40, 20 + n % 50) for n in range(100))
CARD = """
[tables.people.columns.zip]
kind = "text"
role = "quasi"
[tables.people.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 60]
[tables.people.columns.illness]
kind = "text"
role = "sensitive"
"""
BUDGET = {"limit": {"kind": "pure", "epsilon": "1"}}


@pytest.fixture(scope="module")
def steward(clinic):
    with serving(clinic.desk) as service:
        yield service.client(clinic.tokens["steward"])


def upload(client, name, content):
    return client.post("/v1/data/uploads", params={"name": name}, content=content)


def test_from_an_upload_to_a_table_and_a_revised_card(clinic, steward):
    source = upload(steward, "people.csv", ROWS).json()["upload"]
    assert source in [one["upload"] for one in steward.get("/v1/data/uploads").json()]
    place = clinic.folder / "uploads" / source
    assert (place.read_bytes(), place.stat().st_mode & 0o777) == (ROWS, 0o600)
    drafted = steward.post("/v1/data/draft", json={"source": source}).json()
    assert drafted["rows"] == 100
    assert "[tables.people.columns.age]" in drafted["card"]
    misfits = steward.post("/v1/data/check", json={"source": source, "card": CARD}).json()["misfits"]
    assert list(misfits) == ["age"]
    new = {"name": "people", "source": source, "card": CARD, "budget": BUDGET}
    assert steward.post("/v1/tables", json=new).status_code == 201
    assert steward.post("/v1/tables", json=new).status_code == 400
    job = {"table": "people", "models": ["k=2"], "suppress": "100%"}
    assert steward.post("/v1/jobs/publish", json=job).status_code == 202, "jobs know of the new table"
    wider = CARD.replace("60", "90")
    revised = steward.put("/v1/tables/people/card", json={"card": wider}).json()
    assert revised["changes"] == ["columns.age.bounds: 0, 60 → 0, 90"]
    assert "people" in [one["name"] for one in steward.get("/v1/tables").json()]
    actions = [one["action"] for one in steward.get("/v1/audit").json()]
    assert {"upload", "draft a card", "add table", "revise card"} <= set(actions)


@pytest.mark.parametrize("name", ["../../people.csv", ".people.csv", "a/b\\c.csv", "-rf.csv", "umläut'; x.csv"])
def test_a_name_is_only_a_name(clinic, steward, name):
    kept = upload(steward, name, ROWS).json()["upload"]
    assert (clinic.folder / "uploads" / kept).is_file()
    assert steward.post("/v1/data/draft", json={"source": kept}).status_code == 200


@pytest.mark.parametrize("source", ["../workspace.toml", "/etc/passwd", "0123456789ab-none.csv", "table:nothing"])
def test_no_other_file_is_read(steward, source):
    assert steward.post("/v1/data/draft", json={"source": source}).status_code == 404


def test_a_password_in_an_address_is_refused(steward):
    told = steward.post("/v1/data/draft", json={"source": "postgresql://u:hunter2@127.0.0.1:1/d#t"})
    assert told.status_code == 400
    assert "hunter2" not in told.text


def test_what_is_too_large_empty_or_no_table_leaves_nothing(clinic, steward, monkeypatch):
    before = sorted((clinic.folder / "uploads").iterdir())
    monkeypatch.setattr(data, "MOST_BYTES", 1000)
    assert upload(steward, "large.csv", b"x" * 2000).status_code == 400
    monkeypatch.setattr(guard, "MOST_BYTES", 1000)
    assert upload(steward, "large.csv", b"x" * 2000).status_code == 413
    assert upload(steward, "large.csv", iter([b"x" * 600] * 4)).status_code == 413
    monkeypatch.undo()
    assert upload(steward, "empty.csv", b"").status_code == 400
    assert upload(steward, "program.exe", b"MZ").status_code == 400
    assert upload(steward, "page.parquet", b"<html>").status_code == 400
    assert sorted((clinic.folder / "uploads").iterdir()) == before
