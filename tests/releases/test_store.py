"""The store of releases: sealed before they are given, given once, and what failed has failed for good."""

import shutil
from dataclasses import replace

import pyarrow as pa
import pytest

from discreet.budget.entries import Charged
from discreet.budget.ledger import create_ledger
from discreet.core.loss import Pure
from discreet.core.release import Release, Rows, save
from discreet.core.statement import Recipe, Statement
from discreet.errors import Damaged, EngineError, LedgerError, Refused
from discreet.releases import store as module
from discreet.releases.store import ALSO_CHARGED, SEAL, Store, failure, is_failure, receipts_of


@pytest.fixture
def ledger(tmp_path):
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("visits", Pure(1))
        yield ledger


@pytest.fixture
def store(tmp_path, ledger):
    (tmp_path / "releases").mkdir()
    return Store(tmp_path / "releases", ledger)


def made(n=1, receipt=None, **parameters):
    return Release(pa.table({"n": [n]}), Statement("row", Pure(1)), Recipe("count", parameters), receipt)


def seals(ledger):
    return [one.entry for one in ledger.lines() if isinstance(one.entry, Charged) and one.entry.key.startswith(SEAL)]


def test_what_is_kept_is_sealed_for_nothing_and_found_again(store, ledger, tmp_path):
    assert store.find("a", "visits") is None
    assert store.find_folder("a", "visits") is None
    assert store.receipts_at("a") == []
    kept = store.keep("a", "visits", made())
    assert kept.payload["n"].to_pylist() == [1]
    assert store.place("a") == tmp_path / "releases" / "a"
    assert [one.name for one in (tmp_path / "releases").iterdir()] == ["a"], "one file, and nothing beside it"
    assert store.place("a").is_file()
    assert store.place("a").stat().st_mode & 0o777 == 0o600
    (seal,) = seals(ledger)
    assert (seal.loss, seal.account) == (Pure(0), "visits")
    assert ledger.account("visits").left == Pure(1)
    assert store.find("a", "visits").payload["n"].to_pylist() == [1]
    assert store.find_folder("a", "visits") == store.place("a")
    assert len(seals(ledger)) == 1


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_whoever_comes_second_is_given_what_the_first_kept(store, first, second):
    store.keep("a", "visits", made(1), apart=first)
    before = store.place("a").stat().st_ino
    assert store.keep("a", "visits", made(2), apart=second).payload["n"].to_pylist() == [1]
    assert store.place("a").stat().st_ino == before, "neither a file nor a folder takes another's place"
    assert [one.name for one in store.place("a").parent.iterdir()] == ["a"]


def test_what_an_earlier_discreet_kept_as_a_folder_is_found(store, ledger):
    digest = save(made(4), store.place("a"), private=True)
    assert store.find("a", "visits").payload["n"].to_pylist() == [4]
    assert ledger.find_line(SEAL + "a").entry.purpose == digest
    assert store.keep("a", "visits", made(5)).payload["n"].to_pylist() == [4]


def test_rows_are_given_from_where_they_are_kept(store, tmp_path):
    source = store.keep("a", "visits", made(7), apart=True)
    assert source.payload["n"].to_pylist() == [7]
    moved = shutil.copy(store.place("a") / "payload.parquet", tmp_path / "rows.parquet")
    kept = store.keep("b", "visits", replace(made(), payload=Rows(tmp_path / "rows.parquet")))
    assert kept.payload == Rows(store.place("b") / "payload.parquet")
    assert moved == tmp_path / "rows.parquet"


def test_what_was_sealed_and_is_gone_or_another_is_damaged(store, ledger):
    store.keep("a", "visits", made(1))
    store.keep("b", "visits", made(2))
    store.place("a").unlink()
    for look in (store.find, store.find_folder):
        with pytest.raises(Damaged, match="was answered before, but the answer is no longer in"):
            look("a", "visits")
    shutil.copy(store.place("b"), store.place("a"))
    for look in (store.find, store.find_folder):
        with pytest.raises(Damaged, match="differs from the one that was sealed in the ledger"):
            look("a", "visits")


def test_one_that_was_kept_and_not_sealed_is_sealed_when_it_is_found(store, ledger, monkeypatch):
    for look, name in ((store.find, "a"), (store.find_folder, "b")):
        with monkeypatch.context() as patch:
            patch.setattr(store, "_seal", lambda *_: None)
            store.keep(name, "visits", made())
        before = len(seals(ledger))
        assert look(name, "visits") is not None
        assert len(seals(ledger)) == before + 1


def test_a_failure_is_sealed_as_one_and_stays(store, ledger):
    for _ in range(2):
        with pytest.raises(Refused, match="could not be answered; it was charged"):
            store.fail("a", "visits")
        with pytest.raises(Refused, match="could not be answered; it was charged"):
            store.find("a", "visits")
    (seal,) = seals(ledger)
    assert seal.loss == Pure(0)
    assert is_failure(ledger.find_line(SEAL + "a"))
    with pytest.raises(Refused, match="could not be answered; it was charged"):
        store.keep("a", "visits", made())
    assert str(failure()) == str(failure())


def test_a_failure_after_somebody_elses_answer_is_that_answer(store, ledger):
    store.keep("a", "visits", made(3))
    assert store.fail("a", "visits").payload["n"].to_pylist() == [3]
    assert not is_failure(ledger.find_line(SEAL + "a"))
    assert not any(is_failure(line) for line in ledger.lines() if not isinstance(line.entry, Charged))


def test_a_failure_that_cannot_be_sealed_is_a_failure_all_the_same(store, ledger, monkeypatch):
    def refuse(*_, **__):
        raise LedgerError("full")

    monkeypatch.setattr(ledger, "charge", refuse)
    with pytest.raises(Refused, match="could not be answered; it was charged"):
        store.fail("a", "visits")
    assert seals(ledger) == []


def test_what_cannot_be_kept_is_not_given(store, monkeypatch, tmp_path):
    with pytest.raises(EngineError, match=r"could not be stored in .*, so it is withheld"):
        store.keep("a", "visits", replace(made(), payload=object()))
    store.keep("b", "visits", made())
    monkeypatch.setattr(store, "find", lambda *_: None)
    with pytest.raises(EngineError, match=r"was stored in .*, but is gone"):
        store.keep("b", "visits", made())


def test_a_seal_that_cannot_be_written_is_no_seal(store):
    with pytest.raises(Exception, match="nobody"):
        store.keep("a", "nobody", made())


def test_receipts_are_those_of_all_tables(store, ledger):
    first, second = (ledger.charge("visits", Pure("1/4"), key=key, what="") for key in ("one", "two"))
    both = made(1, first, **{ALSO_CHARGED: [second.to_dict()]})
    assert list(receipts_of(both)) == [first, second]
    assert list(receipts_of(made())) == []
    store.keep("b", "visits", both)
    store.keep("a", "visits", made(2, second))
    (store.place(".scratch")).mkdir()
    assert store.receipts_at("b") == [first, second]
    assert list(store.receipts()) == [second, first, second], "in the order of names, without what is on its way"
    assert module.SEAL == "seal: "
