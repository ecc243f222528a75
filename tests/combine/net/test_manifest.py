from dataclasses import replace
from fractions import Fraction

import pytest
from tests.combine.net.sessions import manifest

from discreet.errors import BadInput, NotFound
from discreet.verbs.combine.net.manifest import dump, load, parse
from discreet.verbs.combine.terms import Terms

PLACES = [f"host{place}:{4000 + place}" for place in range(4)]
SESSION = manifest(at=PLACES)


def test_written_and_read_it_is_the_same(tmp_path):
    terms = Terms(
        SESSION.terms.parties, "paths count=2", "mean", Fraction(-1, 3), Fraction(10**6), 2, 3, "east", Fraction("0.5")
    )
    session = replace(SESSION, terms=terms)
    (tmp_path / "pay.toml").write_text(dump(session))
    assert load(tmp_path / "pay.toml") == session
    assert load(tmp_path / "pay.toml").digest == session.digest


def test_the_digest_is_that_of_the_meaning():
    text = dump(SESSION)
    assert parse("# a remark\n" + text.replace(" = ", "  =  ")).digest == SESSION.digest
    assert parse(text.replace("host1", "host7")).digest != SESSION.digest


def test_numbers_may_be_written_as_people_do():
    session = parse(dump(SESSION).replace("[terms]\n", '[terms]\nlow = 0.5\nhigh = "1/3"\nepsilon = 2\n'))
    assert (session.terms.low, session.terms.high, session.terms.epsilon) == (Fraction(1, 2), Fraction(1, 3), 2)


@pytest.mark.parametrize(
    "before, after, said",
    [
        ("host1:4001", "host1", "south: 'host1' is not an address: host:port"),
        ("host1:4001", "host1:99999", "with a port up to 65535"),
        ("host1:4001", "host0:4000", "north and south have the same address"),
        ('name = "south"', 'name = "South"', "'South' is not a party's name"),
        ('name = "south"', 'name = "north"', "different names"),
        ("deadline = 5", 'deadline = "soon"', "deadline must be a whole number"),
        ("deadline = 5", "deadline = 0", "deadline must be between 1 and 86,400"),
        ("deadline = 5", "deadlines = 5", "has an unknown field deadlines"),
        ('nonce = "0123456789abcdef"', "", "has no nonce"),
        ("[terms]", "[term]", "has an unknown field term"),
        ("[[parties]]", "[[party]]", "block for each party"),
        ("ed25519:", "ed25518:", "It is in north.pub"),
        ("threshold = 0", "threshold = 9", "The threshold must be"),
        ("[terms]", "[terms", "is not TOML"),
        ("[terms]\n", "[terms]\nlow = true\n", "low must be a number"),
    ],
)
def test_what_is_wrong_is_said(before, after, said):
    text = dump(SESSION)
    assert before in text
    with pytest.raises(BadInput, match=said.replace("[", r"\[")) as caught:
        parse(text.replace(before, after))
    assert "combine new" in caught.value.hint


def test_all_problems_are_said_at_once():
    with pytest.raises(BadInput) as caught:
        parse(
            dump(SESSION).replace("host1:4001", "x").replace("host2:4002", "y").replace("deadline = 5", "deadline = 0")
        )
    assert len(caught.value.message.splitlines()) == 4


def test_a_file_that_is_none_is_said(tmp_path):
    with pytest.raises(NotFound, match="no manifest"):
        load(tmp_path / "pay.toml")
    (tmp_path / "pay.toml").write_bytes(b"\xff")
    with pytest.raises(BadInput, match="not text"):
        load(tmp_path / "pay.toml")
    (tmp_path / "pay.toml").write_bytes(b" " * 1_000_001)
    with pytest.raises(BadInput, match="too long"):
        load(tmp_path / "pay.toml")


def test_who_takes_no_part_is_said():
    with pytest.raises(BadInput, match="middle is not a party of session"):
        SESSION.party("middle")
