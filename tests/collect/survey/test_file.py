"""Surveys as files: what is written is read again, and mistakes are told with their line."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest
from tests.collect.survey.surveys import INCOME, survey

from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.survey.file import EXAMPLE, dumps, load, loads
from discreet.verbs.collect.survey.survey import Shuffler

PLAIN = """title = "Music"
epsilon = 2
people = 100
share = "split"

[questions.like]
text = "Do you like the band?"
kind = "yes/no"

[questions.age]
text = "How old are you?"
kind = "number"
bounds = [10, 90.5]
steps = 16
"""


@pytest.mark.parametrize("share", ["split", "sampled"])
def test_a_survey_is_read_as_it_was_written(share):
    made = survey(
        *EXAMPLE, INCOME, share=share, epsilon="2.5", about="Ours.", shuffler=Shuffler("Post", Fraction(1, 10**6))
    )
    read = loads(dumps(made))
    assert [one.mechanism for one in read.protocols] == [one.mechanism for one in made.protocols]
    assert (read.title, read.about, read.epsilon, read.share, read.people) == (
        "Music",
        "Ours.",
        Fraction(5, 2),
        share,
        1000,
    )
    assert read.shuffler == made.shuffler
    assert read.fingerprint == made.fingerprint


def test_the_protocol_is_written_down_with_its_reason():
    text = dumps(survey(*EXAMPLE, INCOME))
    assert tomllib.loads(text)["questions"]["albums"]["protocol"] == "oue"
    assert "# oue: with ε = 0.8, 11 values and 1,000 people" in text
    assert "# duchi: with ε = 0.8 and 1,000 people the standard error of the mean is" in text
    assert "if split and" in text


def test_without_a_protocol_the_best_is_taken():
    assert [one.mechanism.name for one in loads(PLAIN).protocols] == ["grr", "oue"]
    assert loads(PLAIN).protocols[1].mechanism.domain.values[-1] == 90.5


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title =", "titel =", r"no field 'titel' \(did you mean 'title'\?\)"),
        ("epsilon = 2", "epsilon = 0", "between 0 and 20"),
        ("epsilon = 2", 'epsilon = "much"', "must be a number"),
        ("people = 100", "people = 0", "people must be 1 to 10,000,000,000, got 0"),
        ("people = 100", f"people = {10**400}", "people must be 1 to 10,000,000,000"),
        ('share = "split"', 'share = "guessed"', "split or sampled"),
        ('share = "split"\n', "", "does not declare how epsilon is shared"),
        ('kind = "yes/no"', 'kind = "maybe"', r"line 6 \(questions.like\): A question's kind must be"),
        ('kind = "yes/no"', 'kind = "choice"', "line 6 .*A choice needs values"),
        ('kind = "yes/no"', 'kind = "choice"\nvalues = ["a", "a"]', "must differ"),
        ('kind = "yes/no"', 'kind = "choice"\nvalues = [1, 2]', "a list of texts"),
        ('kind = "yes/no"', 'kind = "yes/no"\nprotocol = "olh"', "Supported here: grr, sue, oue, coins"),
        ('kind = "yes/no"', 'kind = "yes/no"\nprotocol = "coins"', "Two fair coins have"),
        ('kind = "yes/no"', 'kind = "yes/no"\nwants = "mean"', "Only numbers have a mean"),
        ("bounds = [10, 90.5]", "bounds = [90, 10]", r"line 10 \(questions.age\): A grid goes"),
        ("bounds = [10, 90.5]", 'bounds = "all"', "the smallest and the largest"),
        ("steps = 16", "steps = 2000", "2 to 1000 answers"),
        ("steps = 16", 'steps = 300\nwants = "mean"', "256 steps at most"),
        ("steps = 16", 'steps = 16\nwants = "mean"\nprotocol = "grr"', "Supported here: duchi, piecewise"),
        ("[questions.like]", 'shuffler = "me"\n[questions.like]', "A shuffler is written as"),
    ],
)
def test_a_mistake_is_told(old, new, says):
    assert old in PLAIN
    with pytest.raises(BadInput, match=says):
        loads(PLAIN.replace(old, new))


def test_two_fair_coins_are_asked_for_by_name():
    coins = PLAIN.replace('kind = "yes/no"', 'kind = "yes/no"\nprotocol = "coins"').replace(
        "epsilon = 2", "epsilon = 2.2"
    )
    read = loads(coins)
    assert read.protocols[0].mechanism.name == "coins"
    assert read.loss.epsilon < read.epsilon == Fraction(11, 5)


def test_a_file_that_is_none(tmp_path):
    with pytest.raises(NotFound, match="collect new"):
        load(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(BadInput, match="not valid TOML"):
        load(tmp_path / "bad.toml")
