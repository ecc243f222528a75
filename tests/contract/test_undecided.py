"""Nothing of a table leaves while the role of a column is undecided, whatever verb asks, unless a loss protects it."""

from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import NotDeclared

ROWS = pa.table(
    {
        "age": [n % 4 for n in range(400)],
        "ill": ["no", "yes", "yes", "no", "no"] * 80,
        "amount": [n * n % 997 for n in range(400)],
    }
)
CARD = dc.Card(
    "people",
    (
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI, bounds=(0, 9)),
        dc.Column("ill", dc.Kind.TEXT, dc.Role.UNDECIDED, categories=("no", "yes")),
        dc.Column("amount", dc.Kind.INTEGER, dc.Role.UNDECIDED, bounds=(0, 999), required=True),
    ),
)


def audited(table, folder):
    with dc.Curator.create(folder, {"people": (ROWS, table.card)}, dc.Pure(1)) as curator:
        curator.add_analyst("ann", dc.Pure(1))
        curator.audit("people", {"amount": "sum"}, by=["age"])
        return curator.ask_audited("SELECT SUM(amount) AS s FROM people", analyst="ann")


WITHOUT_LOSS = {
    "publish": lambda table, _: dc.publish(table, "k=2"),
    "mask": lambda table, _: dc.publish(table, dc.RankSwap(5, ["age"])),
    "synthesize": lambda table, _: dc.synthesize(table, "cart"),
    "learn": lambda table, _: dc.learn(table, "statistics of=mean integral=2 on amount"),
    "tabulate": lambda table, _: dc.tabulate(table, "age", "amount", rules="min=3"),
    "hide": lambda table, _: dc.hide(table, itemsets=["age=1, ill=yes"], support="2%", columns=["age", "ill"]),
    "ask": audited,
}
WITH_LOSS = {
    "synthesize": lambda table, _: dc.synthesize(table, "epsilon=1 delta=1e-6"),
    "ask": lambda table, _: dc.ask(table, "SELECT SUM(amount) AS n FROM people", epsilon=1),
}


@pytest.mark.parametrize("verb", WITHOUT_LOSS)
def test_nothing_undecided_leaves(verb, tmp_path):
    with pytest.raises(NotDeclared, match=r"of people are undecided: ill, amount\..*select") as refused:
        WITHOUT_LOSS[verb](dc.read(ROWS, CARD), tmp_path / "undecided")
    assert "sensitive or other" in refused.value.hint
    decided = [replace(one, role="sensitive" if one.role is dc.Role.UNDECIDED else one.role) for one in CARD.columns]
    WITHOUT_LOSS[verb](dc.read(ROWS, replace(CARD, columns=tuple(decided))), tmp_path / "decided")


@pytest.mark.parametrize("verb", WITH_LOSS)
def test_a_privacy_loss_protects_undecided_columns_like_all_others(verb, tmp_path):
    assert WITH_LOSS[verb](dc.read(ROWS, CARD), tmp_path).statement.loss is not None


def test_undecided_columns_can_be_left_out_and_are_named_by_every_check():
    table = dc.read(ROWS, CARD)
    dc.publish(table.select("age"), "k=2")
    assert "ill, amount, whose role is undecided" in str(dc.check(table))
    assert [one for one in CARD.open_questions() if one.startswith("role of ill")]
    public = replace(CARD, public=True)
    assert dc.tabulate(dc.read(ROWS, public), "age", rules="min=3").statement.loss is None
