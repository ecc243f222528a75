"""Parties between hosts, from their input to a release; on loopback, each with a loop of its own."""

import pytest
from tests.combine.parties import PAY, prepared, together

from discreet.budget.opening import create_ledger
from discreet.combine.asked import new_terms
from discreet.combine.net.keys import Identity
from discreet.combine.running import run, seated, slide
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.errors import Aborted, BadInput, BudgetExceeded, DataError, NotFound


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A session that went well."""
    file = prepared(tmp_path_factory.mktemp("ended"), protocol="ring")
    return file, together(file)


def test_everybody_gets_the_same_result_as_a_release(ended):
    file, found = ended
    for name, release in found.items():
        assert release.payload == 100_500
        kept = Release.load(file.parent / f"pay.{name}" / "release")
        assert kept.payload == 100_500
        assert kept.statement.secrecy.parties == tuple(PAY)
        assert kept.recipe.parameters["included"] == list(PAY)
        assert kept.title == "pay: sum"


def test_what_a_party_saw_is_its_own_alone(ended):
    file, _ = ended
    picture = slide(file, "south")
    assert {line.kind for line in picture.lines} >= {"hello", "sum 1/so far 1", "sum 1/total 1", "settled"}
    assert all("south" in (line.of, *line.to) for line in picture.lines)
    assert [line.number for line in picture.lines] == list(range(1, len(picture.lines) + 1))
    assert "hello" not in picture.svg
    assert picture.caption == "The result is 100,500."
    assert slide(file.with_suffix(""), "south") == picture
    for name in ("secret", "seen.jsonl", "journal"):
        assert (file.parent / "pay.south" / name).stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="east, north, south ran pay here"):
        slide(file)
    with pytest.raises(NotFound, match="nothing that west saw"):
        slide(file, "west")


def test_a_session_that_is_over_tells_its_result_again_and_takes_no_other_input(ended):
    file, found = ended
    assert run(file, PAY["north"], name="north").statement == found["north"].statement
    with pytest.raises(BadInput, match="another input"):
        run(file, 5, name="north")


def test_whose_turn_it_is_must_be_clear(tmp_path):
    file = prepared(tmp_path)
    with pytest.raises(BadInput, match="the keys of north, east, south"):
        seated(file)
    with pytest.raises(BadInput, match="west takes no part in pay"):
        seated(file, "west")
    (tmp_path / "south").mkdir()
    (tmp_path / "south.key").rename(tmp_path / "south" / "south.key")
    assert seated(file, keys=tmp_path / "south").name == "south"
    (tmp_path / "other").mkdir()
    Identity.new("south").save(tmp_path / "other")
    with pytest.raises(BadInput, match="not the key that the manifest has"):
        seated(file, keys=tmp_path / "other")
    with pytest.raises(BadInput, match="is no party's key"):
        seated(file, keys=tmp_path / "nowhere")


def test_a_bad_input_is_told_before_anybody_is_waited_for(tmp_path):
    file = prepared(tmp_path)
    with pytest.raises(DataError, match="outside the declared bounds"):
        run(file, 200_000, name="north")
    with pytest.raises(NotFound, match="no file"):
        run(file, tmp_path / "missing.txt", name="north")
    assert not (tmp_path / "pay.north").exists()


def test_noise_is_charged_once_before_the_first_message_or_nobody_takes_part(tmp_path):
    file = prepared(tmp_path, epsilon="1", honest=2)
    with pytest.raises(BadInput, match="on which ledger"):
        run(file, 1, name="north")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("pay", Pure(3))

        def charge(loss, key):
            return ledger.charge("pay", loss, key=key, what="combine")

        found = together(file, charge=charge)
        assert len({release.payload for release in found.values()}) == 1
        assert found["north"].receipt.loss == Pure(1)
        assert ledger.account("pay").left == Pure(0)
        run(file, PAY["north"], name="north", charge=charge)
        assert ledger.account("pay").left == Pure(0)


def test_who_cannot_pay_ends_the_session_for_all(tmp_path):
    file = prepared(tmp_path, epsilon="1")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("pay", Pure(2))

        def charge(loss, key):
            return ledger.charge("pay", loss, key=key, what="combine")

        found = together(file, charge=charge)
    assert sum(isinstance(error, BudgetExceeded) for error in found.values()) == 1
    assert sum(isinstance(error, Aborted) for error in found.values()) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bounds": "100"}, "no bounds"),
        ({"bounds": "9:1"}, "wrong way round"),
        ({"protocol": "magic"}, "no protocol 'magic'"),
        ({"function": "magic"}, "no function 'magic'"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"parties": "North,south"}, "not a party's name"),
    ],
)
def test_terms_that_cannot_be_are_refused_when_they_are_written(wrong, said):
    words = {"parties": "north,south", "protocol": "masks", "function": "sum", "bounds": "0:10"} | wrong
    with pytest.raises(BadInput, match=said):
        new_terms(words.pop("parties"), words.pop("protocol"), words.pop("function"), **words)
