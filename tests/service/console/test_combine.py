"""The Combine page: who takes part, what they would learn together, and a session with two other holders."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.combine.parties import prepared, together
from tests.service.console.conftest import press, seen, text, until

from discreet.errors import BadInput, NotAllowed, NotFound
from discreet.service.jobs.specs import Combine

OTHERS = {"east": [1, 2, 3], "south": [4]}


@pytest.fixture(scope="module")
def session(clinic, tmp_path_factory):
    """A count with noise inside among the clinic, which is north, and two others, who are elsewhere."""
    elsewhere, here = tmp_path_factory.mktemp("others"), clinic.desk.workspace.folder / "combine"
    file = prepared(elsewhere, ("north", *OTHERS), function="count", bounds=None, epsilon="1/10", honest=2)
    here.mkdir()
    (here / "pay.toml").write_text(file.read_text())
    (here / "rows.txt").write_text("1\n")
    (elsewhere / "north.key").rename(here / "north.key")
    return file


def test_a_steward_takes_part_and_sees_what_came_of_it(console, session):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()
    before = next(view.left for view in desk.budgets.accounts(steward) if view.account == "patients")

    async def act(user):
        await user.open("/combine")
        assert "north (you)" in text(user)
        assert "can compute south&#x27;s figures" in text(user)
        with user:
            seen(user, "combine-brings")[0].set_value("patients")
        press(user, "combine-start")
        await until(lambda: bool(seen(user, "job-combine")))
        await until(lambda: desk.jobs(steward)[0].over)  # it runs in a process of its own, which has to start
        assert desk.jobs(steward)[0].state == "done", desk.jobs(steward)[0].error
        await until(lambda: bool(seen(user, "combine-result")))
        assert "Of north, east, south together" in text(user)
        assert "sum 1/masked" in text(user)
        await user.open("/combine?session=pay")
        assert "pay, with patients" in text(user)

    with ThreadPoolExecutor(1) as threads:
        others = threads.submit(together, session, OTHERS, charge=lambda loss, key: None)
        console.visit("steward", act)
        assert {release.payload for release in others.result().values()}
    after = next(view.left for view in desk.budgets.accounts(steward) if view.account == "patients")
    assert after.epsilon < before.epsilon


def test_nobody_else_sees_sessions_and_what_cannot_be_is_said(console, session):
    desk, clinic = console.clinic.desk, console.clinic
    for ask in (desk.sessions, lambda who: desk.session(who, "pay")):
        with pytest.raises(NotAllowed):
            ask(clinic.ann)
    with pytest.raises(NotFound, match="no session called"):
        desk.session(clinic.steward, "../pay")
    with pytest.raises(NotFound, match="no input"):
        desk.submit(clinic.steward, Combine("pay", "../north.key"))
    with pytest.raises(BadInput, match="charged to a table's budget"):
        desk.submit(clinic.steward, Combine("pay", "rows.txt"))
