"""The verb: one party of a session between hosts, or all of them in this process.

Sessions in one process: the lecture's four salaries, and what each party sees of them.
"""

import inspect
from pathlib import Path

import pytest
from tests.combine.parties import PAY, prepared, together

import discreet as dc
from discreet.core.families import COMBINE_FUNCTIONS, SUM_PROTOCOLS
from discreet.core.holder_copy import read_holder_copy
from discreet.errors import Aborted, BadInput, DataError
from discreet.verbs import combine
from discreet.verbs.combine.combine import Simulation
from discreet.verbs.combine.group import ModularGroup

SALARIES = {"north": 31_000, "east": 42_000, "south": 27_500, "west": 55_000}


def test_all_parties_data_are_simulated_and_the_statement_promises_nothing():
    release = dc.combine(PAY, bounds=(0, 100_000))
    assert release.payload == 100_500
    assert not release.private
    assert release.statement.secrecy is None
    assert "one process held every party's data and saw every message" in release.promise
    assert "made up" not in release.promise
    assert release.recipe.parameters["included"] == list(PAY)


def test_the_holders_copy_has_what_every_party_saw(tmp_path):
    release = dc.combine(PAY, protocol="ring", bounds=(0, 100_000))
    simulation = release.holder.details
    assert isinstance(simulation, Simulation)
    rows = release.holder.rows.to_pylist()
    assert [(row["number"], row["contents"]) for row in rows] == [(one.number, one.what) for one in simulation.messages]
    seen = [row for row in rows if "south" in (row["sender"], *row["receivers"].split(", "))]
    assert [row["number"] for row in seen] == [one.number for one in simulation.view("south")]
    release.save(tmp_path / "release")
    assert not any(rows[0]["contents"].encode() in file.read_bytes() for file in (tmp_path / "release").iterdir())
    release.holder.save(tmp_path / "transcript.parquet")
    assert read_holder_copy(tmp_path / "transcript.parquet").rows == release.holder.rows


def test_noise_dropouts_and_made_up_bounds_are_said_and_no_loss_is_claimed():
    release = dc.combine(PAY, threshold=2, epsilon=1, drops={"south": "masked"}, seed=1)
    assert release.statement.loss is None
    assert release.recipe.seed == 1
    for words in ("no ledger was charged", "south dropped out", "0 to 1,000,000 were assumed", "off by up to about"):
        assert words in release.promise
    assert release.recipe.parameters["included"] == ["north", "east"]


def test_with_a_manifest_one_party_takes_part_and_its_copy_has_its_own_view(tmp_path):
    file = prepared(tmp_path)
    found = together(file, verb=dc.combine)
    for name, release in found.items():
        assert release.payload == 100_500
        assert release.statement.secrecy.parties == tuple(PAY)
        rows = release.holder.rows.to_pylist()
        assert rows
        assert all(name in (row["sender"], *row["receivers"].split(", ")) for row in rows)
        assert f"What {name} saw of pay" in release.holder.page()
    again = dc.combine(file, PAY["north"], name="north")
    assert (again.payload, again.holder.rows) == (found["north"].payload, found["north"].holder.rows)


def test_options_of_the_other_kind_are_refused(tmp_path):
    with pytest.raises(BadInput, match="epsilon: the manifest already determines what is computed"):
        dc.combine(prepared(tmp_path), 1, name="north", epsilon=1)
    with pytest.raises(BadInput, match="data, name: only for one party"):
        dc.combine(PAY, 1, name="north")
    with pytest.raises(BadInput, match="Name the party of each value"):
        dc.combine([1, 2])


def test_the_signature_is_real():
    assert list(inspect.signature(dc.combine).parameters)[:4] == ["source", "data", "protocol", "function"]


@pytest.mark.parametrize("protocol", ["ring", "paths count=2", "shares", "masks", "trusted"])
def test_everybody_learns_the_sum_of_four_salaries(protocol):
    told = combine.simulate(protocol, SALARIES, bounds=(0, 100_000))
    assert told.result.value == 155_500
    assert told.result.parties == tuple(SALARIES)
    assert told.statement.secrecy.parties == tuple(SALARIES)
    assert str(told).startswith(f"sum by {protocol} among 4 parties\n155,500\n")


def test_a_party_sees_its_own_messages_and_no_others():
    told = combine.simulate("ring", SALARIES)
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
    ring, masks = (combine.simulate(name, SALARIES) for name in ("ring", "masks"))
    assert ring.leakage("east", "west").values == ("north", "south")
    assert masks.leakage("east", "west").nothing
    assert masks.leakage("north", "east", "west").values == ("south",)


def test_a_party_may_leave_where_the_threshold_lets_it():
    told = combine.simulate("masks", SALARIES, threshold=3, drops={"east": "masked"})
    assert told.left == ("east",)
    assert told.result.value == 113_500
    assert "east dropped out" in told.show().caption
    assert told.leakage("south").nothing
    with pytest.raises(Aborted, match="east") as ended:
        combine.simulate("ring", SALARIES, drops={"east": "so far 1"})
    assert ended.value.culprits == ("east",)


def test_a_seed_repeats_everything_and_nothing_repeats_by_itself():
    once, again, other = (combine.simulate("shares", SALARIES, seed=seed).messages for seed in (1, 1, 2))
    assert once == again != other
    assert combine.simulate("shares", SALARIES).messages != combine.simulate("shares", SALARIES).messages


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
    noisy = combine.simulate("masks", SALARIES, epsilon=1, honest=3, seed=1)
    assert noisy.statement.loss == dc.Pure(1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bounds": "0-10"}, "not valid bounds"),
        ({"bounds": (0,)}, "not valid bounds"),
        ({"bounds": (9, 1)}, "is above the upper bound"),
        ({"values": [1, 2]}, "Name the party of each value"),
        ({"values": {"north": None, "south": 1}}, "input cannot be nothing"),
        ({"drops": {"east": "nothing"}}, "It sends key, masked"),
        ({"epsilon": 0}, "above 0"),
        ({"protocol": "paths count=5"}, "only 2 different rings"),
    ],
)
def test_what_cannot_be_is_said_clearly(wrong, said):
    asked = {"protocol": "masks", "values": SALARIES} | wrong
    with pytest.raises(BadInput, match=said):
        combine.simulate(asked.pop("protocol"), asked.pop("values"), **asked)


def test_fractions_are_never_rounded_silently():
    with pytest.raises(DataError, match="--decimals 2"):
        combine.simulate("masks", {"north": 1.25, "south": 1})


def test_bounds_that_were_made_up_and_the_size_of_the_noise_are_told():
    assert "0 to 1,000,000 were assumed" in combine.simulate("masks", SALARIES).show().caption
    told = combine.simulate("masks", SALARIES, bounds=(0, 100_000), epsilon=1, honest=4)
    assert "off by up to about 300,000 in 95 of 100" in str(told)
    assert "made up" not in str(told)
    assert repr(told) == "<Simulation: sum by masks among 4 parties, 8 messages>"


def test_only_parties_are_asked_for():
    told = combine.simulate("masks", SALARIES)
    for wrong in (told.view, told.show, told.leakage):
        with pytest.raises(BadInput, match="nobody is not one of"):
            wrong("nobody")


PAGE = (Path(__file__).parents[2] / "docs" / "combine.md").read_text()


@pytest.mark.parametrize("protocol", ["masks", "shares", "paths count=2", "ring", "dining", "trusted"])
def test_the_page_says_what_the_smallest_coalitions_learn(protocol):
    group = ModularGroup(1 if protocol == "dining" else 64)
    leakages = combine.leakages(protocol, tuple(SALARIES), group=group)
    leaks = {who: told for who, told in leakages.items() if not told.nothing}
    least = [told for who, told in leaks.items() if not any(set(other) < set(who) for other in leaks)]
    drops = "yes, with `--threshold`" if SUM_PROTOCOLS.entry(protocol.split()[0]).kind.drops else "no"
    assert f"| `{protocol}` | {' '.join(map(str, least)) or 'no one'} | {drops} |" in PAGE


@pytest.mark.parametrize("name", COMBINE_FUNCTIONS.names())
def test_the_page_has_every_function(name):
    kind = COMBINE_FUNCTIONS.entry(name).kind
    written = "<br>".join(f"`{one.strip()}`" for one in kind.example.split(";")).replace("|", "\\|")
    assert f"| `{name}` | {written} | {kind.title} |" in PAGE
