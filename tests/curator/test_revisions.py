"""Tables that are added to a workspace, and cards that are revised: budget and register stay, old answers stay."""

import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.curator.clinics import BUDGET, CARD, COUNT, visits

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.core.text_format import TextFormat
from discreet.curator import tables
from discreet.curator.backup import back_up, restore
from discreet.curator.curator import Curator
from discreet.errors import BadInput, Damaged, NotFound, Refused
from discreet.releases.pipeline import account_of
from discreet.verbs.synthesize.private import parse_private

WIDER = replace(
    CARD, columns=tuple(replace(c, bounds=(0.0, 2000.0)) if c.name == "income" else c for c in CARD.columns)
)
PEOPLE = Card("people", (Column("patient", Kind.INTEGER), Column("age", Kind.INTEGER, bounds=(0, 99))))


@pytest.fixture
def curator(tmp_path):
    pq.write_table(visits(), tmp_path / "visits.parquet")
    with Curator.create(tmp_path / "clinic", {"visits": (tmp_path / "visits.parquet", CARD)}, BUDGET) as made:
        yield made


def test_a_revised_card_keeps_budget_and_answers_and_says_what_changed(curator):
    before = curator.ask(COUNT, epsilon=1)
    home = curator.workspace.home("register.db")
    assert curator.workspace.source("visits").endswith("/visits.parquet")
    assert curator.revise_card("visits", WIDER) == ("columns.income.bounds: 0.0, 1000.0 → 0.0, 2000.0",)
    assert curator.workspace.tables["visits"].version == 2
    assert curator.workspace.original("visits").count() == 1_500
    assert curator.workspace.card("visits")["income"].bounds == (0.0, 2000.0)
    assert curator.workspace.home("register.db") == home
    assert curator.left("visits").table.epsilon == BUDGET.epsilon - 1, "nothing is given back"
    again = curator.ask(COUNT, epsilon=1)
    assert not again.free
    assert again.identity != before.identity
    assert (curator.workspace.releases / before.identity).is_file()
    assert curator.left("visits").table.epsilon == BUDGET.epsilon - 2
    assert curator.verify().sound


def test_a_plan_made_under_the_old_card_is_not_used_under_the_new_one(curator):
    text = "SELECT SUM(income) AS s FROM visits"
    narrow = curator.price(text, epsilon=1).errors["s"]
    curator.revise_card("visits", WIDER)
    assert curator.price(text, epsilon=1).errors["s"] > 1.9 * narrow


def test_another_process_takes_note_of_what_was_revised_and_added(curator, tmp_path):
    with Curator(tmp_path / "clinic") as other:
        first = other.ask(COUNT, epsilon="0.1")
        curator.revise_card("visits", WIDER)
        curator.add_table("people", pa.table({"patient": range(50), "age": [30] * 50}), PEOPLE, Approximate(1, "1e-6"))
        curator.add_analyst("analyst", Approximate(1, "1e-6"), ["people"])
        assert other.ask(COUNT, epsilon="0.1").identity != first.identity
        assert other.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.5").identity
        assert other.workspace.card("visits")["income"].bounds == (0.0, 2000.0)


def test_an_added_table_has_a_budget_of_its_own_and_nobody_may_ask_it_yet(curator):
    rows = pa.table({"patient": range(50), "age": [30] * 50})
    curator.add_table("people", rows, PEOPLE, Approximate(1, "1e-6"))
    assert curator.ledger.account("people").left == Approximate(1, "1e-6")
    assert account_of("people", "analyst") not in {one.name for one in curator.ledger.accounts()}
    with pytest.raises(NotFound, match="from memory"):
        curator.revise_card("people", PEOPLE)
    with pytest.raises(BadInput, match="already"):
        curator.add_table("people", rows, PEOPLE, Approximate(1, "1e-6"))
    with pytest.raises(BadInput, match="not a valid table name"):
        curator.add_table("../people", rows, PEOPLE, Approximate(1, "1e-6"))
    assert {one.name for one in (curator.workspace.folder / "tables").iterdir()} == {"visits", "people"}


def test_who_is_protected_cannot_change(curator):
    by_name = replace(CARD, unit="name")
    with pytest.raises(BadInput, match="unit of visits was patient and would be name"):
        curator.revise_card("visits", by_name)
    with pytest.raises(BadInput, match="is unchanged"):
        curator.revise_card("visits", CARD)
    with pytest.raises(NotFound):
        curator.revise_card("nothing", CARD)
    assert curator.workspace.tables["visits"].version == 1


def test_whose_rows_are_whose_and_what_they_are_registered_with_cannot_change_in_a_roundabout_way(tmp_path):
    (tmp_path / "t.csv").write_text("pid,age\n7,30\n007,40\n8,50\n")
    pid, age = Column("pid", Kind.INTEGER), Column("age", Kind.INTEGER, bounds=(0, 99))
    card = Card("t", (pid, age), unit="pid", rows_per_unit=2)
    with Curator.create(tmp_path / "clinic", {"t": (tmp_path / "t.csv", card)}, BUDGET) as curator:
        split = replace(card, columns=(replace(pid, kind=Kind.TEXT), age))  # 7 and 007 would be two people
        with pytest.raises(BadInput, match="pid of t would be read differently"):
            curator.revise_card("t", split)
        with pytest.raises(BadInput, match="read differently"):
            curator.revise_card("t", replace(card, text=TextFormat(trim=True)))
        with pytest.raises(BadInput, match="population of t cannot change"):
            curator.revise_card("t", replace(card, population="others"))
        assert curator.revise_card("t", replace(card, text=TextFormat(missing=["?"])))
        with pytest.raises(BadInput, match="SQL ignores case"):
            curator.add_table("T", tmp_path / "t.csv", card, BUDGET)
        assert [*curator.workspace.tables] == ["t"]


def test_an_audited_table_keeps_its_card(tmp_path):
    columns = tuple(replace(one, required=one.name == "income") for one in CARD.columns)
    full = replace(CARD, columns=columns, rows_per_unit=3)
    pq.write_table(visits(), tmp_path / "visits.parquet")
    with Curator.create(tmp_path / "clinic", {"visits": (tmp_path / "visits.parquet", full)}, BUDGET) as curator:
        curator.audit("visits", {"income": "sum"}, by=["city"])
        with pytest.raises(Refused, match="visits has query auditing"):
            curator.revise_card("visits", WIDER)


def test_a_stand_in_of_the_old_card_answers_no_more(curator):
    method = parse_private("epsilon=0.5 delta=1e-7 on city", curator.workspace.card("visits"))
    curator.make_synthetic(method, "visits")
    assert curator.synthetic("visits") is not None
    curator.revise_card("visits", WIDER)
    assert curator.synthetic("visits") is None


@pytest.mark.parametrize("step", ["settle", "write_record"])
def test_a_crash_on_the_way_leaves_the_workspace_as_it_was(curator, tmp_path, monkeypatch, step):
    class Crash(BaseException):
        pass

    def crash(*_):
        raise Crash

    module = tables if step == "settle" else "discreet.curator.curator"
    monkeypatch.setattr(*((module, step) if step == "settle" else (f"{module}.{step}",)), crash)
    rows = pa.table({"patient": range(50), "age": [30] * 50})
    with pytest.raises(Crash):
        curator.revise_card("visits", WIDER)
    with pytest.raises(Crash):
        curator.add_table("people", rows, PEOPLE, Approximate(1, "1e-6"))
    monkeypatch.undo()
    with Curator(tmp_path / "clinic") as other:
        assert other.workspace.tables["visits"].version == 1
        assert list(other.workspace.tables) == ["visits"]
        other.add_table("people", rows, PEOPLE, Approximate(1, "1e-6"))
        assert other.ledger.account("people").left == Approximate(1, "1e-6")


def test_a_copy_has_the_revised_card_and_a_damaged_record_is_an_error(curator, tmp_path):
    curator.revise_card("visits", WIDER)
    back_up(tmp_path / "clinic", tmp_path / "copy.tar")
    restore(tmp_path / "copy.tar", tmp_path / "again", forget=True)
    shutil.copy(tmp_path / "visits.parquet", tmp_path / "again.parquet")
    with Curator(tmp_path / "again") as other:
        assert other.workspace.card("visits")["income"].bounds == (0.0, 2000.0)
    (tmp_path / "again/tables/visits/table.toml").write_text("version = 2\n")
    with pytest.raises(Damaged, match=r"table\.toml was changed: visits has no field 'card'"):
        Curator(tmp_path / "again")
