"""People, sessions, tokens and lock-out, on both kinds of database.

Passwords are hashed by argon2id with fewer rounds than ours, or this would take minutes; ``test_passwords.py`` has the
real ones.
"""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher
from tests.curator.people.places import Place

from discreet.curator.people import passwords
from discreet.curator.people.people import People, _attempt, csrf_of
from discreet.curator.people.person import SCOPES, Role, Scope
from discreet.curator.people.state import State
from discreet.errors import BadInput, NotFound, NotSignedIn, TooMany

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
OWN = "nine green lanterns"
HOUR = 3600


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", lambda: QUICK)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def people(state: State, clock: Clock) -> People:
    return People(state, clock)


def quick(people: People, state: State, name: str, role: Role = Role.ANALYST) -> None:
    """Somebody whose password is ``OWN``, kept by a hash that takes no time."""
    row = (name, role.value, int(people._clock()), 0, 0, QUICK.hash(OWN))
    state.change(
        lambda session: session.run(
            "INSERT INTO people (name, role, since, disabled, must_change, password) VALUES (?, ?, ?, ?, ?, ?)", [row]
        )
    )


def attempt(state: State, name: str, clock: Clock) -> int:
    """The wait after an attempt that is counted and not gone through with."""
    try:
        state.change(lambda session: _attempt(session, name, int(clock.now)))
    except TooMany as refusal:
        return refusal.wait
    return 0


def counted(state: State) -> int:
    """How many names attempts are counted for."""
    with state.reading() as session:
        [(count,)] = session.rows("SELECT COUNT(*) FROM attempts")
    return int(count)


def test_a_one_time_password_lets_in_to_be_changed(people: People, place: Place) -> None:
    first = people.add("ann", Role.ANALYST)
    assert people.find("ann").must_change
    signed = people.sign_in("ann", first)
    assert signed.person.must_change
    people.change_password("ann", first, OWN)
    assert people.session(signed.token) is None
    assert not people.find("ann").must_change
    with pytest.raises(NotSignedIn):
        people.sign_in("ann", first)
    assert people.sign_in("ann", OWN).person.role is Role.ANALYST
    told = place.contents()
    assert not [secret for secret in (first, OWN, signed.token, signed.csrf) if secret in told]


def test_a_one_time_password_expires_after_a_week(people: People, state: State, clock: Clock) -> None:
    first = people.add("ann", Role.ANALYST)
    clock.now += 7 * 24 * HOUR - 1
    people.sign_in("ann", first)
    clock.now += 1
    with pytest.raises(NotSignedIn, match="has expired"):
        people.sign_in("ann", first)
    with pytest.raises(NotSignedIn, match="is wrong"):
        people.sign_in("ann", "a guess at it")
    with pytest.raises(NotSignedIn, match="has expired"):
        people.change_password("ann", first, OWN)
    again = people.reset("ann")
    clock.now += 7 * 24 * HOUR - 1
    people.change_password("ann", again, OWN)
    clock.now += 1
    people.sign_in("ann", OWN)
    older = people.add("bob", Role.ANALYST)
    state.change(lambda session: session.run("DELETE FROM one_time WHERE person = ?", [("bob",)]))  # by an earlier one
    people.sign_in("bob", older)
    clock.now += 7 * 24 * HOUR
    with pytest.raises(NotSignedIn, match="has expired"):
        people.sign_in("bob", older)


def test_people_are_listed_and_found(people: People, state: State) -> None:
    quick(people, state, "steward", Role.STEWARD)
    quick(people, state, "ann")
    assert [(one.name, one.role, one.disabled) for one in people.all()] == [
        ("ann", Role.ANALYST, False),
        ("steward", Role.STEWARD, False),
    ]
    assert people.find("ann").since == dt.datetime.fromtimestamp(1_800_000_000, dt.UTC)
    for name in ("nobody", "", "ann\0", "Ann"):
        with pytest.raises(NotFound):
            people.find(name)
    with pytest.raises(BadInput, match="user name ann is taken"):
        people.add("ann", Role.AUDITOR)


@pytest.mark.parametrize("name", ["", "Ann", "1st", "a b", "a/b", "x" * 41, "ü", "ann\n", "ann\0"])
def test_names_are_plain(people: People, name: str) -> None:
    with pytest.raises(BadInput, match="not a valid user name"):
        people.add(name, Role.ANALYST)


def test_whatever_is_wrong_the_answer_is_the_same(people: People, state: State) -> None:
    quick(people, state, "steward", Role.STEWARD)
    quick(people, state, "ann")
    quick(people, state, "gone")
    people.disable("gone")
    said = set()
    for name, password in [("ann", "wrong"), ("nobody", OWN), ("gone", OWN), ("Ann\0" * 99, OWN), ("ann", "x" * 2000)]:
        with pytest.raises(NotSignedIn) as refusal:
            people.sign_in(name, password)
        said.add(str(refusal.value))
    assert len(said) == 1


@pytest.mark.parametrize("name", ["ann", "nobody"])
def test_guessing_ends_in_longer_and_longer_waits_whether_the_name_exists_or_not(
    people: People, state: State, clock: Clock, name: str
) -> None:
    quick(people, state, "ann")
    assert [attempt(state, name, clock) for _ in range(7)] == [0] * 5 + [60, 60]
    waits = []
    for _ in range(8):
        waits.append(attempt(state, name, clock))
        clock.now += waits[-1]
        assert attempt(state, name, clock) == 0
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    clock.now += 24 * HOUR
    assert [attempt(state, name, clock) for _ in range(6)] == [0] * 5 + [60]


def test_a_lock_out_holds_for_the_right_password_and_in_other_processes_until_it_is_lifted(
    people: People, state: State, place: Place, clock: Clock
) -> None:
    quick(people, state, "ann")
    for _ in range(5):
        attempt(state, "ann", clock)
    elsewhere = place.open()
    with pytest.raises(TooMany) as refusal:
        People(elsewhere, clock).sign_in("ann", OWN)
    elsewhere.close()
    assert refusal.value.wait == 60
    with pytest.raises(TooMany):
        people.change_password("ann", OWN, "eight blue lanterns")
    assert people.sign_in("ann", people.reset("ann")).person.must_change


def test_who_comes_in_is_no_longer_counted(people: People, state: State, clock: Clock) -> None:
    quick(people, state, "ann")
    for _ in range(2):
        for _ in range(4):
            assert attempt(state, "ann", clock) == 0
        people.sign_in("ann", OWN)
    assert counted(state) == 0


def test_guesses_at_the_same_instant_are_counted_too(people: People, state: State, clock: Clock) -> None:
    quick(people, state, "ann")
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: attempt(state, "ann", clock), range(40)))
    assert waits.count(0) == 5


def test_strangers_do_not_fill_the_database_nor_push_anybody_out(people: People, state: State, clock: Clock) -> None:
    quick(people, state, "ann")
    attempt(state, "ann", clock)
    rows = [(f"digest {n}", 1, int(clock.now) + 1, 0) for n in range(10_000)]
    state.change(
        lambda session: session.run("INSERT INTO attempts (digest, failed, latest, until) VALUES (?, ?, ?, ?)", rows)
    )
    clock.now += 2
    attempt(state, "one more", clock)
    assert counted(state) < 9_100
    assert [attempt(state, "ann", clock) for _ in range(5)] == [0] * 4 + [60]


def test_an_old_hash_is_made_anew_when_its_owner_comes(
    people: People, state: State, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick(people, state, "ann")
    monkeypatch.setattr(passwords, "_hasher", lambda: PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))
    assert "m=8,t=1,p=1" in place.contents()
    people.sign_in("ann", OWN)
    assert "m=8,t=2,p=1" in place.contents()
    people.sign_in("ann", OWN)


def test_a_session_ends_after_twelve_hours_or_an_idle_one(people: People, state: State, clock: Clock) -> None:
    quick(people, state, "ann")
    signed = people.sign_in("ann", OWN)
    assert signed.until == dt.datetime.fromtimestamp(clock.now + 12 * HOUR, dt.UTC)
    assert signed.csrf == csrf_of(signed.token)
    for _ in range(12):
        assert people.session(signed.token) == signed
        clock.now += HOUR - 1
    assert people.session(signed.token) == signed
    clock.now += 12
    assert people.session(signed.token) is None
    other = people.sign_in("ann", OWN)
    clock.now += HOUR
    assert people.session(other.token) is None
    assert people.session("") is None
    assert people.session("\ud800") is None


def test_a_page_that_looks_by_itself_keeps_no_session_alive(people: People, state: State, clock: Clock) -> None:
    quick(people, state, "ann")
    signed = people.sign_in("ann", OWN)
    for _ in range(3):
        clock.now += HOUR // 4
        assert people.session(signed.token, used=False) == signed
    clock.now += HOUR // 4
    assert people.session(signed.token, used=False) is None


def test_sessions_end_when_they_should(people: People, state: State) -> None:
    quick(people, state, "steward", Role.STEWARD)
    quick(people, state, "ann")

    def over(end: object) -> bool:
        signed = people.sign_in("ann", OWN)
        assert people.session(signed.token) is not None
        end(signed)  # type: ignore[operator]
        return people.session(signed.token) is None

    assert over(lambda signed: people.sign_out(signed.token))
    assert over(lambda signed: people.disable("ann"))
    people.enable("ann")
    assert over(lambda signed: people.reset("ann"))


def test_another_password_ends_the_sessions_of_whoever_knew_the_old_one(people: People, state: State) -> None:
    quick(people, state, "ann")
    signed = people.sign_in("ann", OWN)
    people.change_password("ann", OWN, "eight blue lanterns")
    assert people.session(signed.token) is None


def test_a_new_password_must_be_new_and_strong_and_the_old_one_right(people: People, state: State) -> None:
    quick(people, state, "ann")
    with pytest.raises(NotSignedIn):
        people.change_password("ann", "wrong", "eight blue lanterns")
    for weak in (OWN, "short", "password123", "ann-ann-ann"):
        with pytest.raises(BadInput):
            people.change_password("ann", OWN, weak)


def test_a_token_is_told_once_and_stands_for_a_person(people: People, state: State, place: Place, clock: Clock) -> None:
    quick(people, state, "steward", Role.STEWARD)
    quick(people, state, "ann")
    made = people.new_token("ann", "a notebook", 30)
    assert made.text.startswith("dct_")
    assert len(made.text) >= 4 + 43
    assert made.text not in repr(made)
    assert made.text not in place.contents()
    assert people.by_token(made.text) == (people.find("ann"), SCOPES)
    [listed] = people.tokens("ann")
    assert (listed.id, listed.label, listed.person, listed.text) == (made.id, "a notebook", "ann", "")
    assert listed.until - listed.made == dt.timedelta(days=30)
    assert people.tokens() == (listed,)
    assert people.tokens("steward") == ()
    for wrong in ("", "dct_", made.text[:-1], made.text[4:], "dct_\ud800"):
        assert people.by_token(wrong) is None
    people.revoke(made.id)
    assert people.by_token(made.text) is None
    with pytest.raises(NotFound):
        people.revoke(made.id)
    short = people.new_token("ann", "a day", 1)
    clock.now += 24 * HOUR
    assert people.by_token(short.text) is None
    assert people.tokens() == ()


def test_a_token_has_scopes_and_one_from_before_there_were_any_asks_and_reads(
    people: People, state: State, place: Place
) -> None:
    quick(people, state, "ann")
    for scopes in ([Scope.MANAGE], [Scope.MANAGE, Scope.ASK, Scope.MANAGE], list(Scope)):
        made = people.new_token("ann", "x", 1, scopes)
        in_order = tuple(one for one in Scope if one in scopes)
        assert people.by_token(made.text) == (people.find("ann"), in_order)
        assert made.scopes == next(one.scopes for one in people.tokens() if one.id == made.id) == in_order
    with pytest.raises(BadInput, match="needs a scope"):
        people.new_token("ann", "x", 1, [])
    assert people.new_token("ann", "x").scopes == SCOPES
    with place.outside() as run:
        run("DELETE FROM token_scopes")
    assert people.by_token(made.text) == (people.find("ann"), (Scope.ASK, Scope.READ))
    people.revoke(made.id)
    people.new_token("ann", "y", 1)
    with place.outside() as run:
        assert run("SELECT COUNT(*) FROM token_scopes WHERE token NOT IN (SELECT id FROM tokens)") == [(0,)]


def test_tokens_end_with_a_password_only_if_wished(people: People, state: State) -> None:
    quick(people, state, "ann")
    made = people.new_token("ann", "x")
    people.change_password("ann", OWN, "eight red lanterns")
    assert people.by_token(made.text) is not None
    people.change_password("ann", "eight red lanterns", OWN, tokens_end=True)
    assert people.by_token(made.text) is None


def test_tokens_end_with_their_person_for_good(people: People, state: State) -> None:
    quick(people, state, "steward", Role.STEWARD)
    quick(people, state, "ann")
    made = people.new_token("ann", "x", 1)
    people.disable("ann")
    with pytest.raises(BadInput, match="disabled"):
        people.new_token("ann", "y", 1)
    people.enable("ann")
    assert people.by_token(made.text) is None


@pytest.mark.parametrize(("label", "days"), [("", 1), ("x" * 61, 1), ("a\nb", 1), ("a", 0), ("a", 367), ("a", True)])
def test_a_token_has_a_label_and_a_life(people: People, state: State, label: str, days: int) -> None:
    quick(people, state, "ann")
    with pytest.raises(BadInput):
        people.new_token("ann", label, days)


def test_the_last_steward_stays(people: People, state: State) -> None:
    quick(people, state, "one", Role.STEWARD)
    quick(people, state, "two", Role.STEWARD)
    quick(people, state, "ann")
    people.disable("one")
    people.disable("one")
    with pytest.raises(BadInput, match="last steward"):
        people.disable("two")
    people.disable("ann")
    people.enable("one")
    people.disable("two")
    with pytest.raises(NotFound):
        people.disable("nobody")
    with pytest.raises(NotFound):
        people.enable("nobody")
    with pytest.raises(NotFound):
        people.reset("nobody")
