"""Attempts to get a value out of exact answers and releases of the same people, in a workspace."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.curator.offices import BY, CARD, office, staff
from tests.releases.registers import listed

import discreet as dc
from discreet.curator.curator import Curator
from discreet.errors import BadInput, Exposed, Refused, Taken

WATCHED = {"salary": "sum"}
ALL = "SELECT SUM(salary) AS s FROM staff"
OTHERS = "SELECT SUM(salary) AS s FROM {} WHERE who <> 3"
OUT = "released elsewhere"


def opened(folder, rows=None, watched=WATCHED):
    pq.write_table(staff(60) if rows is None else rows, folder / "staff.parquet")
    return office(folder / "office", data=folder / "staff.parquet", watched=watched)


def again(curator, source, *, audited=True, **said):
    """The same people as a second table of the workspace."""
    curator.add_table("staff2", source, replace(CARD, name="staff2", **said), dc.Pure(3))
    if audited:
        curator.add_analyst("analyst", dc.Pure(3), ["staff2"])
        curator.audit("staff2", WATCHED, by=BY)


def sums(table, rules="p=10", **how):
    return dc.tabulate(table, "city", value="salary", rules=rules, **how)


def test_answers_about_two_tables_of_one_source(tmp_path):
    with opened(tmp_path) as curator:
        curator.ask_audited(ALL)
        again(curator, tmp_path / "staff.parquet")
        with pytest.raises(Refused, match=OUT):
            curator.ask_audited(OTHERS.format("staff2"))
        curator.ask_audited(OTHERS.format("staff").replace("<> 3", "< 30"))


def test_answers_about_two_tables_of_one_population(tmp_path):
    card = replace(CARD, population="staff")
    tables = {"staff": (staff(60), card), "staff2": (staff(60), replace(card, name="staff2"))}
    with Curator.create(tmp_path / "office", tables, dc.Pure(3)) as curator:
        for name in tables:
            curator.audit(name, WATCHED, by=BY)
        curator.ask_audited(ALL)
        with pytest.raises(Refused, match=OUT):
            curator.ask_audited(OTHERS.format("staff2"))


def test_a_revised_card_cannot_give_released_people_another_name(tmp_path):
    with opened(tmp_path, watched=None) as curator:
        sums(curator.workspace.original("staff"))
        with pytest.raises(BadInput, match="population of staff cannot change"):
            curator.revise_card("staff", replace(CARD, population="crew"))


def test_an_answer_about_an_added_table_after_a_release(tmp_path):
    with opened(tmp_path, watched=None) as curator:
        sums(curator.workspace.original("staff"))
        again(curator, tmp_path / "staff.parquet")
        with pytest.raises(Refused, match=OUT):
            curator.ask_audited(OTHERS.format("staff2"))


@pytest.mark.parametrize("linked", [False, True])
def test_a_release_of_an_added_table_after_an_answer(tmp_path, linked):
    """The same rows, under their own name or by a symbolic link, are of the same people."""
    with opened(tmp_path) as curator:
        curator.ask_audited(ALL)
        source = tmp_path / ("link.parquet" if linked else "staff.parquet")
        if linked:
            source.symlink_to(tmp_path / "staff.parquet")
        again(curator, source, audited=False)
        made = sums(curator.workspace.original("staff2").where("who <> 3"))
    assert any("Not checked together with 1 earlier release" in one for one in made.statement.caveats)


def test_an_answer_while_a_release_is_made(tmp_path):
    """The answer is given before the release is registered, so that the release gives way."""
    with opened(tmp_path) as curator:
        table = curator.workspace.original("staff").where("who <> 3")
        given = []

        def ask(done, what):
            if what == "saving":
                given.append(curator.ask_audited(ALL))

        with pytest.raises(Exposed, match="a group of 1 person"):
            sums(table, progress=ask)
        assert len(given) == 1
        assert [one.method for one in listed(curator.workspace.register)] == ["ask-audited"]


def test_an_answer_that_was_decided_before_a_release_and_not_given(tmp_path):
    """It was written to the ledger, and a release came before it in the register: it is not given any more."""
    with opened(tmp_path) as curator:
        table = curator.workspace.original("staff").where("who <> 3")
        register = curator._audits.register_answers

        def late(name):
            del curator._audits.register_answers
            sums(table)
            register(name)

        curator._audits.register_answers = late
        for _ in range(2):
            with pytest.raises(Refused, match=OUT):
                curator.ask_audited(ALL)
        assert [one.method for one in listed(curator.workspace.register)] == ["tabulate suppress", "ask-audited"]


def test_a_masked_release_while_a_table_is_made(tmp_path):
    """Its statement could not say that it was not checked together with the other one."""
    with opened(tmp_path, watched=None) as curator:
        table = curator.workspace.original("staff")

        def mask(done, what):
            if what == "saving":
                dc.publish(table, "rank-swap p=5 on age")

        with pytest.raises(Taken, match="registered meanwhile"):
            sums(table, progress=mask)
        assert any("Not checked together with 1 earlier" in one for one in sums(table).statement.caveats)


def test_answers_of_which_one_contributor_has_the_most_and_one_nothing(tmp_path):
    """Without either of them, the sums differ by as much as a salary can be."""
    salaries = pa.array([1_000_000, 0, *[500] * 58])
    with opened(tmp_path, staff(60).set_column(3, "salary", salaries)) as curator:
        curator.ask_audited("SELECT SUM(salary) AS s FROM staff WHERE who <> 0")
        with pytest.raises(Exposed, match="a group of 1 person"):
            sums(curator.workspace.original("staff").where("who <> 1"), rules="min=3")
