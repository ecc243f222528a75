"""Streams of a curator: charged once for all their steps, and never started again."""

import pytest
from tests.curator.clinics import clinic

from discreet.budget.entries import Charged
from discreet.core.loss import Concentrated, Pure
from discreet.curator.curator import Curator
from discreet.errors import BadInput, BudgetExceeded, LedgerError, NoPromise
from discreet.verbs.ask.continual import TreeCounter


def charges(curator):
    return [one.entry for one in curator.ledger.lines() if isinstance(one.entry, Charged) and one.entry.loss != Pure(0)]


def test_a_stream_is_charged_once_for_all_its_steps_and_never_started_again(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        counter = TreeCounter.for_loss(Pure("0.5"), 100, 2)
        stream = curator.stream(counter, "visits", name="admissions")
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        assert isinstance(stream.add({"a": 3}), int)
        with pytest.raises(BadInput, match="each unit"):
            stream.add(3)  # the card names a unit
        with pytest.raises(NoPromise, match="was started before"):
            curator.stream(counter, "visits", name="admissions")
        curator.stream(counter, "visits", name="discharges", most=1)
        assert charges(curator)[1].loss == Pure("0.25")
        with pytest.raises(BudgetExceeded):
            curator.stream(TreeCounter.for_loss(Pure(9), 100, 2), "visits", name="dear")
        with pytest.raises(BadInput):
            curator.stream(counter, "visits", name="")
    with Curator(tmp_path / "clinic") as curator, pytest.raises(NoPromise, match="was started before"):
        curator.stream(counter, "visits", name="admissions")


def test_of_two_who_start_a_stream_at_once_one_is_refused(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.ledger.find = lambda key: None  # both looked before either wrote
        counter = TreeCounter.for_loss(Pure("0.5"), 100, 2)
        curator.stream(counter, "visits", name="admissions")
        with pytest.raises(LedgerError, match="used for another charge"):
            curator.stream(counter, "visits", name="admissions")


def test_a_stream_by_rho_is_charged_to_a_budget_that_is_kept_as_rho(tmp_path):
    with clinic(tmp_path / "clinic", budget=Concentrated(1)) as curator:
        counter = TreeCounter.for_loss(Concentrated("1/4"), 100, 2)
        curator.stream(counter, "visits", name="admissions")
        assert curator.left("visits").table == Concentrated("3/4")
