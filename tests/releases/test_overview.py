"""Everything that left of a population: groups, counts that are known by now, and the page that shows them."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from tests.releases.test_exposure_cases import opened, where

import discreet as dc
from discreet.core.card import ExposurePolicy
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.releases import exposure, overview, overview_report
from discreet.releases.atoms import People, Space
from discreet.releases.joint_counts import CountSystem
from discreet.releases.overview import (
    Departure,
    Group,
    Overlap,
    Overview,
    Population,
    Spent,
    departure,
    populations_in,
    what_if,
)
from discreet.releases.overview_report import (
    advice,
    check_said,
    departure_rows,
    group_rows,
    label,
    overlap_graph,
    report,
    state_name,
    summary,
    time_line,
)
from discreet.releases.records import Told
from discreet.releases.register import Entry

TOWNS = "AAAAABBBBC"
SEXES = "fffmmfffmf"
ILL = ["flu", "cold", "flu", "flu", "cold", "flu", "flu", "cold", "cold", "cold"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Nine people of whom two tables have left, by town and by sex, which tell apart four groups of 1, 2, 3 and 3."""
    folder = tmp_path_factory.mktemp("overview")
    rows = [
        {"id": n, "town": town, "sex": sex, "ill": ill}
        for n, (town, sex, ill) in enumerate(zip(TOWNS, SEXES, ILL, strict=True))
    ]
    table = where(opened(folder, rows), "town <> 'C'")
    for side in ("town", "sex"):
        dc.tabulate(table, f"{side} × ill", rules="zero")
    return table


@pytest.fixture
def register(table):
    """The place of their register."""
    return table.registers[0]


def standing(register, smallest_group=3, **options):
    [population] = populations_in(register, ExposurePolicy(smallest_group=smallest_group), **options)
    [found] = population.standings
    return found


def test_releases_tell_groups_apart_together(register):
    """Of x of the women of A who have the flu, everything follows, and x is 2 or 3: no count of a group is known."""
    found = standing(register)
    assert (found.state, found.releases, found.people, found.groups) == ("1", (1, 2), 9, 4)
    assert (found.smallest, found.in_smallest, found.in_small) == (1, 1, 3)
    assert (found.counts, found.determined, found.exposed, found.undecided) == (4, 0, 0, ())
    assert found.most_exposed == tuple(Group(many, (1, 2), ()) for many in (1, 2, 3, 3))
    assert found.overlaps == (Overlap(1, 2, 9, ("ill",)),)
    alone = standing(register, 1)
    assert (alone.in_small, alone.counts, alone.determined, alone.exposed) == (0, 0, 0, 0)


def test_of_the_men_of_both_towns_together_the_counts_are_known(register):
    found = standing(register, 4)
    assert (found.in_small, found.counts, found.determined, found.exposed) == (9, 8, 2, 3)
    assert [(one.people, one.known) for one in found.most_exposed] == [(1, ("ill",)), (2, ("ill",)), (3, ()), (3, ())]


def test_whoever_has_one_of_the_releases_tells_fewer_groups_apart(register):
    found = standing(register, 5, lines={1})
    assert (found.releases, found.people, found.groups, found.smallest, found.in_smallest) == ((1,), 9, 2, 4, 4)
    assert (found.in_small, found.counts, found.determined, found.exposed) == (4, 2, 2, 4)
    assert found.overlaps == ()
    [population] = populations_in(register, ExposurePolicy(), lines=())
    assert (population.departures, population.standings) == ((), ())
    assert populations_in(register, ExposurePolicy(), only="nobody") == ()


def test_only_the_smallest_groups_and_the_last_releases_are_listed(register, monkeypatch):
    monkeypatch.setattr(overview, "_SHOWN_GROUPS", 3)
    monkeypatch.setattr(overview, "_OVERLAPPING", 1)
    found = standing(register)
    assert ([one.people for one in found.most_exposed], found.groups, found.overlaps) == ([1, 2, 3], 4, ())


def test_a_draft_is_checked_with_everything_that_left_and_goes_no_further(table, register):
    found = what_if(lambda: dc.tabulate(table, "ill", rules="zero"))
    assert (found.passes, found.checked, found.hint) == (True, (1, 2), "")
    found = what_if(lambda: dc.tabulate(where(table, "id <> 8"), "town × ill", rules="zero"))
    assert not found.passes and "reveals ill of a group of 1 person" in found.message
    assert "(release 1)" in found.message and "release 2" not in found.message, "the one that it follows from"
    assert standing(register).releases == (1, 2)


@pytest.mark.parametrize(("later", "left"), [(15.0, 45.0), (59.95, 0.1), (100.0, 0.1)])
def test_every_step_gets_the_time_that_is_left(table, monkeypatch, later, left):
    """Sixty seconds from when the check began."""
    clock, given = iter([0.0]), []
    verdicts = CountSystem.verdicts

    def spy(self, targets, seconds, **options):
        given.append(seconds)
        return verdicts(self, targets, 60.0, **options)

    monkeypatch.setattr(exposure, "thread_time", lambda: next(clock, later))
    monkeypatch.setattr(CountSystem, "verdicts", spy)
    what_if(lambda: dc.tabulate(where(table, "id <> 8"), "town × ill", rules="zero"))
    assert given[:3] == [left] * 3, "what would help is looked for after that"


@pytest.mark.parametrize("units", [[1, 2, 2, 3], [1, 2, 4, 3], [None] * 4])
def test_whoever_is_in_two_groups_is_counted_once(units):
    none = np.empty(0, np.int64)
    people = People(pa.array("abcd"), pa.array(units, pa.int64()), np.ones(4, np.int64), np.arange(4))
    groups = {1: [0, 0, 1, -1], 2: [-1, 0, 0, 0], 5: [-1, -1, -1, 0]}
    told = tuple(
        Told(n, "", np.array(group), tells, (), none, 1, none, none, none, none, none, measure)
        for (n, group), tells, measure in zip(
            groups.items(), (("ill", "sex"), ("ill",), ()), ("", "", "sex in 10^-0"), strict=True
        )
    )
    both = 1 if units == [1, 2, 2, 3] else 2
    assert list(overview._overlaps(Space(people, told))) == [Overlap(1, 2, both, ("ill",)), Overlap(2, 5, 1, ())]


def entry(number=1, facts="figures", note="", title="a title", **told):
    return Entry(number, "p", "t", "s", "folder", "publish", 9, "2026-01-02T03:04:05", title, facts, told, note)


@pytest.mark.parametrize(
    ("line", "state", "said"),
    [
        (entry(), "checked", "checked; the first release"),
        (entry(checked=[1, 4]), "checked", "checked with 1, 4"),
        (entry(note="agreed"), "overridden", "released despite exposure: agreed"),
        (entry(facts="opaque", why="noise"), "not checked", "not checked: noise"),
        (entry(facts="opaque"), "not checked", "not checked"),
        (entry(facts="unheard of", why="noise"), "not checked", "not checked"),
        (entry(facts="loss", loss=Pure("1/2").to_dict()), "privacy loss", str(Pure("1/2"))),
        (entry(facts="loss"), "privacy loss", "privacy loss"),
    ],
)
def test_a_line_says_what_became_of_its_check(line, state, said):
    found = departure(line)
    assert (found.state, check_said(found), found.title, found.release) == (state, said, "a title", "folder")
    assert departure(replace(line, title="")).title == "publish"


@pytest.mark.parametrize(
    ("losses", "total"),
    [
        ([], ""),
        ([Pure("1/2")], str(Pure("1/2"))),
        ([Pure("1/2"), Approximate(1, "1/100")], str(Approximate("3/2", "1/100"))),
        ([Concentrated(1), Approximate(1, "1/100")], ""),
    ],
)
def test_losses_are_added_up_where_they_can_be(losses, total):
    lines = [entry(facts="loss", loss=one.to_dict()) for one in losses]
    assert overview._total([entry(), entry(facts="loss"), *lines]) == total


# the page


def departures(count, **said):
    return tuple(
        Departure(n, f"2026-01-{n:02}T10:00:00", f"release {n}", "publish", "t", "checked", **said)
        for n in range(1, count + 1)
    )


def population(shown, *standings, name="p"):
    return Population(name, tuple(shown), standings, ExposurePolicy())


def placed(picture, what):
    """Elements of a drawing."""
    drawn = ElementTree.fromstring(str(picture.svg))  # noqa: S314  # our own
    return [one for one in drawn.iter() if one.tag.endswith(what)]


def test_a_time_line_has_a_dot_a_release_placed_by_date():
    picture = time_line(population([*departures(3), replace(departures(5)[4], state="overridden", answer=True)]))
    dots = placed(picture, "circle")[5:]
    assert [(float(one.get("cx")), float(one.get("cy"))) for one in dots] == [
        (24, 48),
        (56.5, 70),
        (89, 92),
        (154, 114),
    ]
    assert [one.get("class") for one in dots] == ["state0", "state0", "state0", "state1"]
    assert [float(one.get("x")) for one in placed(picture, "text")[:5]] == [36, 161, 286, 411, 536]
    texts = [one.text for one in placed(picture, "text")]
    assert texts[:4] == ["checked", "overridden", "not checked", "privacy loss"]
    assert texts[5:] == [
        *("1. release 1", "2026-01-01", "2. release 2", "2026-01-02", "3. release 3", "2026-01-03"),
        *("answer release 5", "2026-01-05"),
    ]
    assert "not drawn" not in picture.caption
    alone = time_line(population([replace(departures(1)[0], at="")]))
    assert [float(one.get("cx")) for one in placed(alone, "circle")[5:]] == [24]


@pytest.mark.parametrize(("many", "left_out"), [(3, ""), (4, " 1 earlier one is"), (5, " 2 earlier ones are")])
def test_a_time_line_has_the_last_releases(monkeypatch, many, left_out):
    monkeypatch.setattr(overview_report, "_MOST_ROWS", 3)
    picture = time_line(population(departures(many)))
    assert len(placed(picture, "circle")) == 5 + 3
    assert picture.caption.partition(" by date.")[2].partition(" not")[0] == left_out


def test_releases_that_overlap_are_joined_the_thicker_the_more_people(register):
    found = replace(
        standing(register),
        releases=(1, 2, 3, 4),
        overlaps=(Overlap(1, 2, 8, ("ill",)), Overlap(2, 3, 4, ()), Overlap(1, 9, 99, ())),
    )
    shown = [*departures(4), *departures(1, answer=True)]
    picture = overlap_graph(population(shown, found), found)
    lines = placed(picture, "line")
    assert [(one.get("stroke-width"), one.get("stroke-dasharray")) for one in lines] == [("7.0", None), ("4.0", "4 4")]
    nodes = [(round(float(one.get("cx"))), round(float(one.get("cy")))) for one in placed(picture, "circle")]
    assert nodes == [(320, 40), (530, 180), (320, 320), (110, 180)]
    assert [(round(float(lines[1].get(end)))) for end in ("x1", "y1", "x2", "y2")] == [530, 180, 320, 320]
    titles = [one for one in placed(picture, "text") if one.get("class") == "small"]
    assert [(round(float(one.get("x"))), one.get("text-anchor")) for one in titles] == [
        *((341, None), (551, None), (341, None)),
        (89, "end"),
    ]
    assert overlap_graph(population(shown, found), replace(found, releases=(1, 7))) is None
    assert len(placed(overlap_graph(population(shown), replace(found, releases=(1, 4), overlaps=())), "circle")) == 2


def test_a_graph_has_the_last_releases(register, monkeypatch):
    monkeypatch.setattr(overview_report, "_MOST_NODES", 2)
    found = replace(standing(register), releases=(1, 2, 3))
    picture = overlap_graph(population(departures(3)), found)
    assert [one.text for one in placed(picture, "text") if one.get("class") is None] == ["2", "3"]


def test_a_summary_says_who_is_worst_placed(register):
    found = standing(register)
    assert dict(summary(population(()), found)) == {
        "covered": "9 people, whom all releases together divide into 4 groups",
        "in groups of fewer than 3": "3 people",
        "most exposed": "1 person, in groups of one",
        "already exposed": "0 people: 0 counts of groups of fewer than 3 can be computed from all releases",
    }
    safe = replace(found, in_small=0, counts=0, smallest=2000, undecided=("a", "b"))
    said = dict(summary(population(()), safe))
    assert said["in groups of fewer than 3"] == "no one" and said["most exposed"] == "1 person, in groups of 2,000"
    assert said["not decided"] == "a; b" and "already exposed" not in said


def test_lists_of_releases_and_of_groups(register):
    one, two = departures(2)
    assert (label(one), label(replace(one, answer=True))) == ("1.", "answer")
    assert departure_rows([one])[0][:4] == ("1.", "2026-01-01 10:00", "release 1", "publish")
    assert group_rows(standing(register, 4))[1:3] == [("2", "1, 2", "ill"), ("3", "1, 2", "–")]
    assert advice(population([one])) == ""
    unchecked = [replace(each, state="not checked") for each in (one, two)]
    assert advice(population(unchecked[:1])) == "", "there is no other to attack the first one with"
    assert advice(population(unchecked)).startswith("1 release was not checked")
    assert advice(population([one, *unchecked])).startswith("2 releases were not checked")
    assert advice(population([one, replace(two, state="not checked", attack="found nothing")])) == ""
    names = [state_name(replace(standing(register), state=state)) for state in ("1", "2", "stable")]
    assert names == ["", ", state 2 of the table", ", columns that never change"]


def test_the_page_has_a_section_for_what_left_what_it_tells_and_what_was_spent(register):
    found = standing(register)
    spent = (Spent("t", "", "1", "2"), Spent("t", "ann", "1", "2"))
    page = str(report(Overview((population(departures(2), found),), spent), "Exposure"))
    for said in ("Releases about p", "What they reveal together<", "Privacy loss", "table budget", "Overlap", "ann"):
        assert said in page
    assert "Nothing has been released yet" not in page and "not checked:" not in page
    empty = str(report(Overview(()), "Exposure"))
    assert "Nothing has been released yet" in empty and "Privacy loss" not in empty
    first, second = departures(2)
    unchecked = population([first, replace(second, state="not checked")])
    page = str(report(Overview((unchecked,)), "Exposure"))
    assert "not checked jointly" in page and "Overlap" not in page
    assert Overview((unchecked,), recipient="ann").to_dict()["recipient"] == "ann"
    assert Overview(()).to_dict()["recipient"] is None
