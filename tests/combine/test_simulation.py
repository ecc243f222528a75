"""Sessions in one process: the lecture's four salaries, and what each party sees of them."""

from pathlib import Path

import pytest

import discreet as dc
from discreet.core.families import COMBINE_FUNCTIONS, SUM_PROTOCOLS
from discreet.errors import Aborted, BadInput, DataError
from discreet.verbs import combine
from discreet.verbs.combine.group import ModularGroup

PAY = {"north": 31_000, "east": 42_000, "south": 27_500, "west": 55_000}


@pytest.mark.parametrize("protocol", ["ring", "paths count=2", "shares", "masks", "trusted"])
def test_everybody_learns_the_sum_of_four_salaries(protocol):
    told = combine.simulate(protocol, PAY, bounds=(0, 100_000))
    assert told.result.value == 155_500
    assert told.result.parties == tuple(PAY)
    assert told.statement.secrecy.parties == tuple(PAY)
    assert str(told).startswith(f"sum by {protocol} among 4 parties\n155,500\n")


def test_a_party_sees_its_own_messages_and_no_others():
    told = combine.simulate("ring", PAY)
    mine = told.view("south")
    assert [(one.of, one.to) for one in mine] == [
        ("east", ("south",)),
        ("south", ("west",)),
        ("north", ("east", "south", "west")),
    ]
    picture = told.show("south")
    assert picture.lines == mine
    assert "27,500" in picture.svg
    assert "31,000" not in picture._repr_html_()
    everything = told._repr_html_()
    assert "31,000" in everything
    assert "The result is 155,500." in everything


def test_neighbours_in_a_ring_expose_who_is_between_them_and_masks_withstand_it():
    ring, masks = (combine.simulate(name, PAY) for name in ("ring", "masks"))
    assert ring.leakage("east", "west").values == ("north", "south")
    assert masks.leakage("east", "west").nothing
    assert masks.leakage("north", "east", "west").values == ("south",)


def test_a_party_may_leave_where_the_threshold_lets_it():
    told = combine.simulate("masks", PAY, threshold=3, drops={"east": "masked"})
    assert told.left == ("east",)
    assert told.result.value == 113_500
    assert "east dropped out" in told.show().caption
    assert told.leakage("south").nothing
    with pytest.raises(Aborted, match="east") as ended:
        combine.simulate("ring", PAY, drops={"east": "so far 1"})
    assert ended.value.culprits == ("east",)


def test_a_seed_repeats_everything_and_nothing_repeats_by_itself():
    once, again, other = (combine.simulate("shares", PAY, seed=seed).messages for seed in (1, 1, 2))
    assert once == again != other
    assert combine.simulate("shares", PAY).messages != combine.simulate("shares", PAY).messages


def test_numbers_have_bounds_and_decimals():
    told = combine.simulate("masks", {"north": "-1.25", "south": 2.5}, bounds=("-10", 10), decimals=2)
    assert str(told.result) == "1.25"
    with pytest.raises(DataError, match="outside the declared bounds"):
        combine.simulate("masks", {"north": 11, "south": 1}, bounds=(0, 10))


def test_columns_and_lists_and_noise():
    rows = {"north": {"age": [30, 40]}, "south": {"age": [50]}}
    told = combine.simulate("masks", rows, function="mean of=age:0:120")
    assert told.values == {"north": "rows", "south": "rows"}
    assert "40" in str(told.result)
    several = combine.simulate("masks", {"north": [1, 2], "south": [3, 4]}, function="sum length=2")
    assert several.result.value == [4, 6]
    assert several.values["north"] == "2 values"
    noisy = combine.simulate("masks", PAY, epsilon=1, honest=3, seed=1)
    assert noisy.statement.loss == dc.Pure(1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bounds": "0-10"}, "no bounds"),
        ({"bounds": (0,)}, "no bounds"),
        ({"bounds": (9, 1)}, "wrong way round"),
        ({"values": [1, 2]}, "whose each value is"),
        ({"values": {"north": None, "south": 1}}, "cannot bring nothing"),
        ({"drops": {"east": "nothing"}}, "It sends key, masked"),
        ({"epsilon": 0}, "above 0"),
        ({"protocol": "paths count=5"}, "only 2 different rings"),
    ],
)
def test_what_cannot_be_is_said_clearly(wrong, said):
    asked = {"protocol": "masks", "values": PAY} | wrong
    with pytest.raises(BadInput, match=said):
        combine.simulate(asked.pop("protocol"), asked.pop("values"), **asked)


def test_fractions_are_never_rounded_silently():
    with pytest.raises(DataError, match="--decimals 2"):
        combine.simulate("masks", {"north": 1.25, "south": 1})


def test_bounds_that_were_made_up_and_the_size_of_the_noise_are_told():
    assert "were made up" in combine.simulate("masks", PAY).show().caption
    told = combine.simulate("masks", PAY, bounds=(0, 100_000), epsilon=1, honest=4)
    assert "off by up to about 300,000 in 95 of 100" in str(told)
    assert "made up" not in str(told)
    assert repr(told) == "<Simulation: sum by masks among 4 parties, 8 messages>"


def test_only_parties_are_asked_for():
    told = combine.simulate("masks", PAY)
    for wrong in (told.view, told.show, told.leakage):
        with pytest.raises(BadInput, match="nobody is not one of"):
            wrong("nobody")


PAGE = (Path(__file__).parents[2] / "docs" / "combine.md").read_text()


@pytest.mark.parametrize("protocol", ["masks", "shares", "paths count=2", "ring", "dining", "trusted"])
def test_the_page_says_what_the_smallest_coalitions_learn(protocol):
    group = ModularGroup(1 if protocol == "dining" else 64)
    leaks = {who: told for who, told in combine.leakages(protocol, tuple(PAY), group=group).items() if not told.nothing}
    least = [told for who, told in leaks.items() if not any(set(other) < set(who) for other in leaks)]
    drops = "yes, with `--threshold`" if SUM_PROTOCOLS.entry(protocol.split()[0]).kind.drops else "no"
    assert f"| `{protocol}` | {' '.join(map(str, least)) or 'nobody'} | {drops} |" in PAGE


@pytest.mark.parametrize("name", COMBINE_FUNCTIONS.names())
def test_the_page_has_every_function(name):
    kind = COMBINE_FUNCTIONS.entry(name).kind
    written = "<br>".join(f"`{one.strip()}`" for one in kind.example.split(";")).replace("|", "\\|")
    assert f"| `{name}` | {written} | {kind.title} |" in PAGE
