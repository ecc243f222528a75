"""An audited table over HTTP: exact answers, denials, and one history with those who ask by other ways."""

import io
from dataclasses import replace

import httpx
import pytest
from tests.combine.parties import prepared
from tests.curator.offices import office
from tests.loops import run
from tests.service.serving import MANY, serving

from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.curator.workspace import open_workspace
from discreet.errors import Refused
from discreet.service.api.logs import Log
from discreet.service.app import make_app
from discreet.service.client import connect
from discreet.service.operations.operations import Operations
from discreet.service.sessions import require_playable, take_part

BASE = "http://127.0.0.1:8640"
TOTAL = "SELECT SUM(salary) AS total FROM staff"


@pytest.fixture
def token(tmp_path):
    """Of ann, who may ask the office in ``tmp_path``."""
    with office(tmp_path / "office") as curator:
        curator.add_analyst("ann", Pure(1))
        state = State.open(curator.workspace)
    people = People(state)
    people.change_password("ann", people.add("ann", Role.ANALYST), "ann keeps nine green lanterns")
    made = people.new_token("ann", "tests", 30).text
    state.close()
    return made


@pytest.mark.slow
def test_an_audited_table_is_asked_over_http(tmp_path, token):
    with Curator(tmp_path / "office") as curator:
        local = curator.ask_audited(TOTAL)
    with Operations(tmp_path / "office") as desk, serving(desk) as service:
        ann = service.client(token)
        found = ann.post("/v1/ask/audited", json={"question": TOTAL}).json()
        assert found["free"] is True
        assert found["id"] == local.identity
        assert found["answer"]["rows"] == [[local.table["total"][0].as_py()]]
        assert "not differential privacy" in found["promise"]
        assert found["id"] in [one["id"] for one in ann.get("/v1/releases").json()]
        denied = ann.post("/v1/ask/audited", json={"question": f"{TOTAL} WHERE who <> 3"})
        assert denied.status_code == 409
        assert "Denied" in denied.text
        assert ann.get("/v1/tables/staff").json()["audited"] is True
        noisy = ann.post("/v1/ask", json={"questions": ["SELECT COUNT(*) FROM staff"], "epsilon": "0.1"})
        assert noisy.status_code == 409
        assert "staff is audited" in noisy.text
        with connect(service.url, token=token) as remote:
            again = remote.ask_audited(TOTAL)
            assert (again.table, again.statement, again.free) == (local.table, local.statement, True)
            with pytest.raises(Refused, match="Denied"):
                remote.ask_audited(f"{TOTAL} WHERE who <> 4")


def test_exact_answers_and_denials_wait_for_a_step(tmp_path, token, stepped):
    async def act(app):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE, headers=headers) as ann:
            for where, code in (("", 200), ("", 200), (" WHERE who <> 3", 409), (" WHERE nobody", 400)):
                assert (await ann.post("/v1/ask/audited", json={"question": TOTAL + where})).status_code == code

    with Operations(tmp_path / "office") as desk:
        run(act(make_app(desk, MANY, log=Log(io.StringIO()), console=False)))
    assert [outcome for _, outcome in stepped] == ["answered", "answered", "Refused", "BadQuery"]


@pytest.mark.parametrize("noise", [{"epsilon": "1/10", "honest": 2}, {}], ids=["noise", "exact"])
def test_an_audited_table_is_not_brought_to_a_session(tmp_path, noise):
    office(tmp_path / "office").close()
    here = tmp_path / "office" / "combine"
    here.mkdir()
    prepared(here, ("north", "east", "south"), function="count", bounds=None, **noise)
    for other in ("east", "south"):
        (here / f"{other}.key").unlink()
    workspace = open_workspace(tmp_path / "office")
    with pytest.raises(Refused, match="staff has query auditing"):
        require_playable(workspace, "pay", "staff")
    with pytest.raises(Refused, match="staff has query auditing"):
        take_part(workspace, "pay", "staff", print)


def test_the_limit_of_an_audited_table_stays_nothing(tmp_path):
    with office(tmp_path / "office") as curator:
        state = State.open(curator.workspace)
    people = People(state)
    people.add("sue", Role.STEWARD)
    sue = replace(people.find("sue"), must_change=False)
    state.close()
    with Operations(tmp_path / "office") as desk, pytest.raises(Refused, match="staff has query auditing"):
        desk.budgets.set_limit(sue, "staff", Pure(1), why="more")
