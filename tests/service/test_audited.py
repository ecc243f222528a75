"""An audited table over HTTP: exact answers, denials, and one history with those who ask by other ways."""

import pytest
from tests.curator.offices import office
from tests.service.serving import serving

from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.errors import Refused
from discreet.service.client import connect
from discreet.service.desk import Desk

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


def test_an_audited_table_is_asked_over_http(tmp_path, token):
    with Curator(tmp_path / "office") as curator:
        local = curator.ask_audited(TOTAL)
    with Desk(tmp_path / "office") as desk, serving(desk) as service:
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
        noisy = ann.post("/v1/ask", json={"questions": ["SELECT COUNT(*) FROM staff"], "epsilon": "0.1"})
        assert noisy.status_code == 409
        assert "staff is audited" in noisy.text
        with connect(service.url, token=token) as remote:
            again = remote.ask_audited(TOTAL)
            assert (again.table, again.statement, again.free) == (local.table, local.statement, True)
            with pytest.raises(Refused, match="Denied"):
                remote.ask_audited(f"{TOTAL} WHERE who <> 4")
