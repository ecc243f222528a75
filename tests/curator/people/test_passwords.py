"""Which passwords are taken, and how they are kept."""

from __future__ import annotations

import re

import pytest
from argon2 import PasswordHasher

from discreet.curator.people.passwords import hashed, is_outdated, matches, one_time, require_strong
from discreet.errors import BadInput

pytestmark = pytest.mark.usefixtures("strong_passwords")


def test_a_one_time_password_can_be_read_out_and_not_guessed() -> None:
    made = {one_time() for _ in range(200)}
    assert len(made) == 200
    assert all(re.fullmatch("([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}", one) for one in made)
    for one in list(made)[:20]:
        require_strong(one, "ann")


@pytest.mark.parametrize(
    "password",
    [
        "short",
        "123456789",
        "1234567890",
        "9876543210",
        "aaaaaaaaaaaa",
        "abababababab",
        "qwertyuiop",
        "qwerty123456",
        "1q2w3e4r5t6y",
        "abcdefghij",
        "abc1234567890",
        "password123",
        "Password2026!",
        "P@ssw0rd1234",
        "passw0rd!!!!",
        "iloveyou1234",
        "Summer2026!!",
        "!!letmein!!!",
        "welcome-admin1",
        "hospital12345",
        "x" * 1001,
        "annelies.b",
        "Annelies.B-2026",
        "annelies.bannelies.b",
    ],
)
def test_what_anybody_would_try_first_is_refused(password: str) -> None:
    with pytest.raises(BadInput) as refusal:
        require_strong(password, "annelies.b")
    assert password not in str(refusal.value)


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "keeps nine lanterns", "Grüße aus Ulm 7", "zK4!vexw_92", "8305519274", "x" * 5 + "yzab!"],
)
def test_others_are_taken(password: str) -> None:
    require_strong(password, "ann")


def test_a_password_is_kept_as_argon2id_and_known_again_however_it_is_typed() -> None:
    kept = hashed("Grüße aus Ulm 7")
    assert kept.startswith("$argon2id$")
    assert matches(kept, "Gru\u0308ße aus Ulm 7")
    assert not matches(kept, "Grüße aus Ulm 8")
    assert not is_outdated(kept)


def test_whoever_has_no_password_matches_none() -> None:
    assert not matches(None, "")
    assert not matches("no hash at all", "x")
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("x" * 1000)
    assert matches(weak, "x" * 1000)
    assert not matches(weak, "x" * 1001)
    assert is_outdated(weak)
