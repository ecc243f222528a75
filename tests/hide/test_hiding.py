from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import BadInput, NoPromise
from discreet.hide import Transactions, compare, read_transactions
from discreet.hide.methods.parse import FORMS
from discreet.hide.problem import Outcome

ROWS = [
    "bread wine cheese",
    "beer nappies bread",
    "beer nappies milk",
    "bread milk",
    "wine cheese bread",
    "beer nappies",
    "bread wine",
    "beer crisps",
    "milk cheese",
    "bread wine milk",
]
ASKED = {
    "support": "20%",
    "confidence": "60%",
    "itemsets": ["bread, wine"],
    "rules": ["beer => nappies"],
}


@pytest.fixture
def baskets(tmp_path):
    place = tmp_path / "baskets.txt"
    place.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return place


def test_what_leaves_hides_the_secrets_and_says_nothing_of_them(baskets, tmp_path):
    release = dc.hide(baskets, **ASKED, to=tmp_path / "clean", baskets=tmp_path / "clean.csv")
    saved = dc.Release.load(tmp_path / "clean")
    after = Transactions.of(saved.payload["items"].to_pylist())
    assert after.support(["bread", "wine"]) < 2
    assert after.support(["beer", "nappies"]) * 5 < after.support(["beer"]) * 3
    again = list(read_transactions(tmp_path / "clean.csv").to_rows())
    assert [set(row) for row in again] == [set(row) for row in saved.payload["items"].to_pylist()]
    for file in (tmp_path / "clean").iterdir():
        if file.suffix == ".json":
            text = file.read_text(encoding="utf-8")
            assert not any(word in text for word in ("wine", "nappies", "60%", "3/5", "20%", '"support"'))
    assert saved.statement == release.statement
    assert "not differential privacy" in str(saved.statement)
    assert "lower thresholds" in str(saved.statement)


def test_the_holder_sees_everything(baskets):
    release = dc.hide(baskets, **ASKED)
    page = release.page()
    for told in ("bread, wine", "beer =&gt; nappies", "For its holder alone", "Step by step", "leaves", "cheese"):
        assert told in page or told == "leaves"
    assert release.holder.secrets()[0] == {"secret": "bread, wine", "before": "4", "after": "1", "hidden_below": "2"}
    figures = dict(release.holder.in_figures())
    assert figures["itemsets: hiding failure"] == "0.0%"
    assert figures["itemsets: misses cost"] == "10.00% (1 of 10)"
    assert figures["fewest innocent itemsets lost"] == "proved"
    assert len(release.holder.pictures()) == 2
    assert release.holder.to_dict()["steps"]
    assert "secrets hidden" in repr(release)


def test_more_is_told_if_asked_for(baskets):
    thresholds = dc.hide(baskets, **ASKED, tell="thresholds")
    assert thresholds.recipe.parameters == {"way": "exact", "transactions": 10, "support": 2, "confidence": "3/5"}
    assert "a support of 2 of 10 transactions and a confidence = 0.6, or more," in str(thresholds.statement)
    assert dc.hide(baskets, **ASKED, tell="secrets").recipe.parameters["secrets"] == ["bread, wine", "beer => nappies"]
    with pytest.raises(BadInput, match="nothing, thresholds or secrets"):
        dc.hide(baskets, **ASKED, tell="all")


@dataclass(frozen=True)
class Idle:
    """A way that does nothing."""

    name: ClassVar[str] = "idle"

    def apply(self, problem, progress=None):
        return Outcome(problem.transactions, ())


def test_what_is_still_visible_does_not_leave(baskets, tmp_path):
    with pytest.raises(NoPromise, match="still finds bread, wine; beer => nappies in what idle made"):
        dc.hide(baskets, **ASKED, method=Idle(), to=tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def test_what_must_stay_is_checked_too(baskets):
    kept = dc.hide(baskets, **ASKED, keep=["bread, cheese"])
    assert kept.transactions.support(["bread", "cheese"]) == 2
    with pytest.raises(NoPromise, match="maxfia loses bread, cheese, which must stay"):
        dc.hide(baskets, **ASKED, keep=["bread, cheese"], method="maxfia")


def test_a_table_comes_back_as_a_table():
    table = pa.table({"sex": ["f", "f", "m", "f"], "ward": ["a", "a", "a", "b"], "smokes": [True, True, False, True]})
    release = dc.hide(table, support=2, itemsets=["sex=f, ward=a"], method="minfia")
    assert release.payload.column_names == ["sex", "ward", "smokes"]
    missing = [release.payload[name].null_count for name in ("sex", "ward")]
    assert sum(missing) == 1
    assert release.payload["smokes"].to_pylist() == [True, True, False, True]
    unknown = dc.hide(table, support=2, itemsets=["sex=f, ward=a"], method="blocking")
    assert sum(unknown.payload[name].null_count for name in ("sex", "ward")) == 1
    assert len(unknown.holder.outcome.steps) == 1


def test_unknown_items_have_a_column_of_their_own(baskets, tmp_path):
    release = dc.hide(baskets, **ASKED, method="blocking")
    assert release.payload.column_names == ["items", "unknown"]
    assert sum(map(len, release.payload["unknown"].to_pylist())) == 8
    assert "takes every unknown item for present" in str(release.statement)
    with pytest.raises(BadInput, match="not written as baskets"):
        dc.hide(baskets, **ASKED, method="blocking", to=tmp_path / "x", baskets=tmp_path / "x.csv")
    assert not (tmp_path / "x").exists()


def test_sources_of_every_kind(baskets):
    held = read_transactions(baskets)
    assert dc.hide(held, **ASKED).transactions == dc.hide(baskets, **ASKED).transactions
    of_units = dc.hide(dc.samples.transactions(), support=2, itemsets=["a,b,c"], method="atallah")
    assert of_units.payload["items"].to_pylist() == [["a", "b", "c", "d"], ["b", "c"], ["a", "c", "d"]]


def test_items_that_are_put_in_are_owned_up_to(baskets):
    asked = {**ASKED, "itemsets": (), "method": "raise-antecedent"}
    release = dc.hide(baskets, **asked)
    assert "never in them" in str(release.statement)
    assert release.holder.effects.put_in > 0


def test_methods_side_by_side(baskets):
    trials = {one.method: one for one in compare(baskets, **ASKED)}
    assert set(trials) == set(FORMS)
    done = {name: one.effects for name, one in trials.items() if one.effects is not None}
    assert min(len(one.itemsets.lost) for one in done.values()) == len(done["exact"].itemsets.lost) == 1
    assert trials["raise-antecedent"].error.startswith("raise-antecedent weakens rules")
    assert trials["bba"].to_dict()["effects"]["itemsets"]["hiding_failure"] == 0


def test_secrets_are_a_list(baskets):
    with pytest.raises(BadInput, match="given as a list"):
        dc.hide(baskets, support=2, itemsets="bread, wine")
