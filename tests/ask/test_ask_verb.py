"""dc.ask: a private answer without a ledger."""

import pytest

import discreet as dc
from discreet.errors import BadInput


def test_a_question_is_answered_with_its_statement_and_without_a_ledger():
    table = dc.samples.inpatient()
    release = dc.ask(table, f"SELECT COUNT(*) AS n FROM {table.card.name}", epsilon=1000)
    assert release.payload.column("n").to_pylist() == [table.count()]
    assert release.statement.loss == dc.Pure(1000)
    assert any("in no ledger" in caveat for caveat in release.statement.caveats)
    assert release.recipe.parameters["table"] == table.card.name


def test_noise_is_drawn_anew_and_scales_with_epsilon():
    table = dc.samples.inpatient()
    sql = f"SELECT COUNT(*) AS n FROM {table.card.name}"
    drawn = {dc.ask(table, sql, epsilon="0.01").payload.column("n")[0].as_py() for _ in range(8)}
    assert len(drawn) > 1  # eight equal draws at a scale of 100 have a chance below 1e-15


def test_what_is_no_table_and_what_has_no_price_are_refused():
    with pytest.raises(BadInput, match="Open it first"):
        dc.ask("patients.csv", "SELECT COUNT(*) AS n FROM patients", epsilon=1)
    with pytest.raises(BadInput):
        dc.ask(dc.samples.inpatient(), "SELECT COUNT(*) AS n FROM inpatient")
