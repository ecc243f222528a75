"""The list of releases: what is on it, who may have it, and that it leads nowhere else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.curator.clinics import COUNT, clinic
from tests.curator.people.places import Place, forget

from discreet.core.loss import Approximate, Pure
from discreet.curator.people.state import State
from discreet.curator.release_index import Shelf, Shelved
from discreet.errors import BadInput, NotFound

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
ONE = Shelved(
    id="a" * 64,
    kind="answer",
    title="An answer about visits",
    tables=("visits",),
    by="ann",
    at=NOON,
    method="ask",
    loss=Pure("1/3"),
    private=True,
    shared=False,
    place=f"releases/{'a' * 64}",
)
BOTH = replace(
    ONE,
    id="b" * 64,
    tables=("patients", "visits"),
    by="bob",
    at=NOON + dt.timedelta(1),
    loss=Approximate(1, "1e-6"),
    place=f"releases/{'b' * 64}",
)
PUBLISHED = replace(
    ONE,
    id="2026-01-03-patients",
    kind="published",
    title="patients, published",
    tables=("patients",),
    by="steward",
    at=NOON + dt.timedelta(2),
    method="publish",
    loss=None,
    private=False,
    place="published/2026-01-03-patients",
)


@pytest.fixture(params=["sqlite", "postgres"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """A shelf with three releases."""
    place = Place(tmp_path)
    if request.param == "postgres":
        place = Place(tmp_path, request.getfixturevalue("postgres_address"))
        with psycopg.connect(place.address or "", autocommit=True) as server:
            forget(server)
    state = place.open()
    made = Shelf(state, place.workspace)
    for one in (ONE, PUBLISHED, BOTH):
        made.put(one)
    yield made
    state.close()


def test_what_was_put_is_found_as_it_was(shelf: Shelf) -> None:
    assert shelf.find(ONE.id) == ONE
    assert shelf.find(PUBLISHED.id) == PUBLISHED
    for unknown in ("c" * 64, "", "../../etc", "A" * 64, "a" * 64 + "\0"):
        with pytest.raises(NotFound):
            shelf.find(unknown)


def test_releases_are_listed_newest_first_by_what_is_asked(shelf: Shelf) -> None:
    assert shelf.all() == [PUBLISHED, BOTH, ONE]
    assert shelf.all(most=2) == [PUBLISHED, BOTH]
    assert shelf.all(before=PUBLISHED.at) == [BOTH, ONE]
    assert shelf.all(kind="published") == [PUBLISHED]
    assert shelf.all(tables=["visits"]) == [BOTH, ONE]
    assert shelf.all(tables=["visits", "patients"]) == [PUBLISHED, BOTH, ONE]
    assert shelf.all(tables=[]) == []
    assert shelf.all(tables=["patients"], kind="answer", seen_by="bob", most=5) == [BOTH]


def test_put_again_changes_nothing_but_who_has_it(shelf: Shelf) -> None:
    shelf.share(ONE.id, True)
    shelf.put(replace(ONE, by="bob", title="another", shared=False))
    assert shelf.find(ONE.id) == replace(ONE, shared=True)
    assert shelf.has(ONE.id, "ann")
    assert shelf.has(ONE.id, "bob")
    assert not shelf.has(BOTH.id, "ann")
    assert not shelf.has("c" * 64, "ann")


def test_somebody_sees_what_was_given_to_them_or_shared(shelf: Shelf) -> None:
    assert shelf.all(seen_by="ann") == [ONE]
    shelf.share(PUBLISHED.id, True)
    assert shelf.all(seen_by="ann") == [replace(PUBLISHED, shared=True), ONE]
    shelf.share(PUBLISHED.id, False)
    assert shelf.all(seen_by="ann") == [ONE]
    with pytest.raises(NotFound):
        shelf.share("c" * 64, True)


def test_a_release_lies_inside_the_workspace(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "releases" / ONE.id).mkdir(parents=True)
    assert shelf.path(ONE.id) == (tmp_path / "releases" / ONE.id).resolve()
    with pytest.raises(NotFound, match="missing from the workspace"):
        shelf.path(BOTH.id)
    for place in ("../elsewhere", "/etc", "releases/../../x", ".", ""):
        with pytest.raises(BadInput, match="inside the workspace"):
            shelf.put(replace(ONE, id="d" * 64, place=place))
    (tmp_path / "releases" / BOTH.id).symlink_to("/etc")
    with pytest.raises(BadInput, match="inside the workspace"):
        shelf.path(BOTH.id)


@pytest.mark.parametrize("odd", [{"id": "short"}, {"id": "a" * 63 + "/"}, {"title": ""}, {"title": "a\0b"}])
def test_ids_and_titles_are_plain(shelf: Shelf, odd: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        shelf.put(replace(ONE, **odd))  # type: ignore[arg-type]


def test_answers_of_the_command_line_are_adopted_once(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic") as curator:
        answers = [curator.ask(COUNT, epsilon=epsilon) for epsilon in ("0.1", "0.2")]
        workspace = curator.workspace
    (workspace.releases / ("e" * 64)).mkdir()
    (workspace.releases / ".unfinished").mkdir()
    state = State.open(workspace)
    shelf = Shelf(state, workspace)
    shelf.put(Shelved.answer(answers[0].identity, answers[0].release, ("visits",), by="ann"))
    assert [shelf.adopt(), shelf.adopt()] == [1, 0]
    first, second = shelf.all()[::-1]
    assert (first.by, second.by) == ("ann", "analyst")
    assert second == Shelved.answer(answers[1].identity, answers[1].release, ("visits",), by="analyst")
    assert second.loss == Pure("0.2")
    assert shelf.path(second.id).is_file()
    state.close()
