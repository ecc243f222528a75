from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.families import HIDING
from discreet.core.holder_copy import read_holder_copy
from discreet.core.release import with_rows
from discreet.errors import BadInput, DiscreetError, NoPromise
from discreet.verbs.hide import Transactions, compare, read_transactions
from discreet.verbs.hide.problem import HidingResult

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
        if file.suffix in (".json", ".html"):
            text = file.read_text(encoding="utf-8")
            assert not any(word in text for word in ("beer =", "bread, wine", "60%", "3/5", "20%", '"support"', "0.6"))
            assert "baskets.txt" not in text and "baskets, with" not in text, "nor the name of the file"
    assert saved.statement == release.statement
    assert "nor differential privacy" in str(saved.statement)
    assert "lower thresholds" in str(saved.statement)


def test_the_holder_sees_everything(baskets):
    release = dc.hide(baskets, **ASKED)
    page = release.holder.page()
    for told in (
        "bread, wine",
        "beer =&gt; nappies",
        "Confidential",
        "Step by step",
        "the least side effects",
        "cheese",
    ):
        assert told in page
    assert release.holder.details.secrets()[0] == {
        "secret": "bread, wine",
        "before": "4",
        "after": "1",
        "hidden_below": "2",
    }
    figures = dict(release.holder.details.in_figures())
    assert figures["itemsets: hiding failure"] == "0.0%"
    assert figures["itemsets: misses cost"] == "10.00% (1 of 10)"
    assert figures["fewest non-sensitive itemsets lost"] == "proved"
    assert len(release.holder.details.pictures()) == 2
    assert release.holder.details.to_dict()["steps"]
    assert "secrets hidden" in repr(release)


def after(release):
    return release.holder.details.result.after


def test_more_is_told_if_asked_for(baskets):
    thresholds = dc.hide(baskets, **ASKED, tell="thresholds")
    assert thresholds.recipe.parameters == {"method": "exact", "transactions": 10, "support": 2, "confidence": "3/5"}
    assert "a minimum support of 2 of 10 transactions and a confidence of 0.6, or more" in str(thresholds.statement)
    own = {**ASKED, "itemsets": ["bread, wine; support=30%"], "rules": ["beer => nappies; confidence=70%"]}
    told = dc.hide(baskets, **own, tell="thresholds")
    assert after(told).support(["bread", "wine"]) == 2, "a miner who asks for 2 finds it, and one for 3 does not"
    assert "a minimum support of 3 of 10 transactions and a confidence of 0.7, or more" in str(told.statement)
    assert told.recipe.parameters["support"] == 3
    assert "the thresholds chosen for it" in str(dc.hide(baskets, **own).statement)
    assert dc.hide(baskets, **ASKED, tell="secrets").recipe.parameters["secrets"] == ["bread, wine", "beer => nappies"]
    with pytest.raises(BadInput, match="nothing, thresholds or secrets"):
        dc.hide(baskets, **ASKED, tell="all")


@dataclass(frozen=True)
class Idle:
    """A method that does nothing."""

    name: ClassVar[str] = "idle"

    def apply(self, problem, progress=None):
        return HidingResult(problem.transactions, ())


def test_what_is_still_visible_does_not_leave(baskets, tmp_path):
    with pytest.raises(NoPromise, match="still finds bread, wine; beer => nappies in the result of idle"):
        dc.hide(baskets, **ASKED, method=Idle(), to=tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def test_what_must_stay_is_checked_too(baskets):
    kept = dc.hide(baskets, **ASKED, keep=["bread, cheese"])
    assert after(kept).support(["bread", "cheese"]) == 2
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
    assert len(unknown.holder.details.result.steps) == 1


def test_unknown_items_have_a_column_of_their_own(baskets, tmp_path):
    release = dc.hide(baskets, **ASKED, method="blocking")
    assert release.payload.column_names == ["items", "unknown"]
    unknown = [item for row in release.payload["unknown"].to_pylist() for item in row]
    assert unknown.count("bread") + unknown.count("wine") + unknown.count("nappies") == 8
    assert set(unknown) - {"bread", "wine", "nappies", "beer"}, "items of no secret are unknown somewhere too"
    assert "takes every unknown item as present" in str(release.statement)
    with pytest.raises(BadInput, match="cannot be written as baskets"):
        dc.hide(baskets, **ASKED, method="blocking", to=tmp_path / "x", baskets=tmp_path / "x.csv")
    assert not (tmp_path / "x").exists()


def test_sources_of_every_kind(baskets):
    held = read_transactions(baskets)
    assert dc.hide(held, **ASKED).payload == dc.hide(baskets, **ASKED).payload
    of_units = dc.hide(dc.samples.transactions(), support=2, itemsets=["a,b,c"], method="atallah")
    assert of_units.payload["items"].to_pylist() == [["a", "b", "c", "d"], ["a", "c", "d"], ["b", "c"]], (
        "in the order of what is in them"
    )


def test_items_that_are_put_in_are_owned_up_to(baskets):
    asked = {**ASKED, "itemsets": (), "method": "raise-antecedent"}
    release = dc.hide(baskets, **asked)
    assert "false items" in str(release.statement)
    assert release.holder.details.effects.put_in > 0


def test_methods_side_by_side(baskets):
    trials = {one.method: one for one in compare(baskets, **ASKED)}
    assert set(trials) == set(HIDING.names())
    done = {name: one.effects for name, one in trials.items() if one.effects is not None}
    assert min(len(one.itemsets.lost) for one in done.values()) == len(done["exact"].itemsets.lost) == 1
    assert trials["raise-antecedent"].error.startswith("raise-antecedent weakens rules")
    assert trials["bba"].to_dict()["effects"]["itemsets"]["hiding_failure"] == 0


def test_secrets_are_a_list(baskets):
    with pytest.raises(BadInput, match="must be a list"):
        dc.hide(baskets, support=2, itemsets="bread, wine")


def test_identifiers_and_columns_that_are_left_out_never_leave(tmp_path):
    data = pa.table({"name": ["Ann", "Bob", "Cy"], "sex": ["f", "f", "f"], "ward": ["a"] * 3, "note": ["x", "y", "z"]})
    columns = (dc.Column("name", "text", "identifier"), *(dc.Column(one, "text") for one in ("sex", "ward", "note")))
    table = dc.read(data, dc.Card("wards", columns))
    asked = {"support": 2, "itemsets": ["sex=f, ward=a"], "method": "minfia"}
    assert dc.hide(table, **asked).payload.column_names == ["sex", "ward", "note"]
    release = dc.hide(table, **asked, columns=["sex", "ward"], to=tmp_path / "clean")
    assert with_rows(release).payload.column_names == ["sex", "ward"]
    assert "Ann" not in (tmp_path / "clean" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="'name' is an identifier"):
        dc.hide(table, **asked, columns=["name", "sex", "ward"])


def test_unknown_truth_values_are_missing_and_not_false():
    table = pa.table({"smokes": [True] * 3, "drinks": [True] * 3})
    release = dc.hide(table, support=2, itemsets=["smokes, drinks"], method="blocking")
    values = [value for name in ("smokes", "drinks") for value in release.payload[name].to_pylist()]
    assert False not in values
    assert values.count(None) == 2


def test_nobody_is_said_to_be_protected(baskets):
    release = dc.hide(baskets, **ASKED)
    assert not release.private
    assert release.statement.promises
    assert "Secrets hidden; people are not protected" in release._repr_html_()
    assert ", checked</span>" not in release._repr_html_()
    assert "another release of the same data" in str(release.statement)


def test_nothing_is_written_unless_everything_can_be(tmp_path):
    held = Transactions.of([["a b", "c"], ["a b", "c"], ["a b"]])
    places = {"to": tmp_path / "clean", "holder": tmp_path / "kept.parquet"}
    asked = {"support": 2, "itemsets": [["a b", "c"]]}
    for name, said in (
        ("b.txt", "Items with blanks"),
        ("no/b.csv", "There is no folder"),
        ("kept.parquet", "both files"),
    ):
        with pytest.raises(BadInput, match=said):
            dc.hide(held, **asked, **places, baskets=tmp_path / name)
        assert list(tmp_path.iterdir()) == []
    dc.hide(held, **asked, **places, baskets=tmp_path / "b.csv")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.csv", "clean", "kept.parquet"]
    assert (tmp_path / "kept.parquet").stat().st_mode & 0o077 == 0
    kept = read_holder_copy(tmp_path / "kept.parquet")
    assert "a b, c" in kept.page()
    assert kept.rows["secret"].to_pylist() == ["a b, c"]


def test_a_file_that_shows_a_secret_when_it_is_read_does_not_leave(tmp_path):
    """A mark that some programs put first in a file is not taken for part of a name."""
    held = Transactions.of([["\ufeffa"], ["a"], ["a"]])
    places = {"to": tmp_path / "clean", "baskets": tmp_path / "b.csv", "holder": tmp_path / "kept.parquet"}
    with pytest.raises(NoPromise, match="as read back"):
        dc.hide(held, support=2, itemsets=["a"], method=Takes((1, "a")), **places)
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Takes:
    """A method that takes one item out."""

    cell: tuple[int, str]
    name: ClassVar[str] = "takes"

    def apply(self, problem, progress=None):
        return HidingResult(problem.transactions.without([self.cell]), ())


def test_empty_transactions_that_give_a_secret_away_are_told():
    """2 of 10 are less than 30 %, and 2 of the 4 that are not empty are not."""
    held = Transactions.of([["a", "b"]] * 3 + [["c"]] + [[]] * 6)
    release = dc.hide(held, support="30%", itemsets=["a, b"])
    assert "Some transactions are empty" in str(release.statement)
    assert dict(release.holder.details.in_figures())["found if empty transactions are dropped"] == "a, b"
    full = Transactions.of([["a", "b"]] * 3 + [["c"]] * 7)
    assert "are empty" not in str(dc.hide(full, support="30%", itemsets=["a, b"]).statement)


def test_secrets_that_are_not_visible_are_named_and_rules_are_counted_without_a_general_confidence(baskets):
    asked = {"support": 2, "itemsets": ["crisps, beer"], "rules": ["beer => nappies; confidence=60%"]}
    figures = dict(dc.hide(baskets, **asked).holder.details.in_figures())
    assert figures["secrets"] == "2, visible before: 1, visible now: 0"
    assert figures["not visible before"] == "beer, crisps"
    idle = compare(baskets, **asked, methods=[Idle()])[0]
    assert idle.visible == 1
    with pytest.raises(BadInput, match="is above the 10"):
        dc.hide(baskets, support=11, itemsets=["bread, wine"])


def test_too_many_rules_are_not_compared_and_that_is_said():
    items = [f"i{place}" for place in range(13)]
    held = Transactions.of([items] * 4 + [["x", "y"]] * 4)
    release = dc.hide(held, support=3, confidence="10%", itemsets=["x, y"], method="maxfia")
    assert release.holder.details.effects.rules is None
    assert dict(release.holder.details.in_figures())["rules"] == "more than 500,000, so they were not compared"


@pytest.mark.parametrize("secrets", [{"rules": [("beer", "nappies")]}, {"itemsets": [[1, 2]]}])
def test_secrets_are_texts(baskets, secrets):
    with pytest.raises(BadInput):
        dc.hide(baskets, support=2, confidence="60%", **secrets)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "b.csv").write_text("", encoding="utf-8")
    with pytest.raises(DiscreetError):
        dc.hide(tmp_path / "b.csv", support="20%", itemsets=["a"])


def test_what_is_missing_is_said_with_an_example() -> None:
    frame = pd.DataFrame({"city": ["a", "b"] * 10, "ill": [True, False] * 10})
    with pytest.raises(
        BadInput, match=r"needs the secrets and the miner's minimum support.*dc\.hide\(source, itemsets="
    ):
        dc.hide(frame)
    with pytest.raises(BadInput, match="No secret given"):
        dc.hide(frame, support="10%")
    with pytest.raises(BadInput, match=r"from a list\..*Transactions\.of"):
        dc.hide([["a", "b"]], support="10%", itemsets=["a, b"])  # type: ignore[arg-type]


def test_a_data_frame_is_hidden_in_like_a_table() -> None:
    columns = {"city": ["a", "b"] * 10, "ill": ["yes", "no"] * 10}
    asked = {"support": "10%", "itemsets": ["city=a, ill=yes"]}
    made = dc.hide(pd.DataFrame(columns), **asked)
    assert made.payload.to_pydict() == dc.hide(pa.table(columns), **asked).payload.to_pydict()
