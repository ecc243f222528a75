"""The way out: what leaves is what was checked, and says what it promises."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.publish.hand import CARD, ROWS, at_levels, class_sizes, people, recoding
from tests.publish.hand import Fixed as Recoder

import discreet as dc
from discreet.core import release as release_module
from discreet.core.release import Rows
from discreet.core.statement import Evidence
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.models.classes import Sizes
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.verbs.publish.dummies import AddDummies
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.local import LocalRecode, SuppressCells
from discreet.verbs.publish.mondrian import Mondrian
from discreet.verbs.publish.publish import publish
from discreet.verbs.publish.recode import pictures

TOP = {"age": 3, "born": 3, "sex": 1}


@pytest.fixture
def table():
    return read(people(), CARD)


def test_a_release_has_the_rows_the_promise_and_how_it_was_made(table):
    release = publish(table, at_levels(TOP), KAnonymity(8))
    assert release.payload.column_names == ["age", "born", "sex", "gone", "disease"]
    assert class_sizes(release.payload, ["age", "born", "sex"]) == {("*", "*", "*"): 8}
    assert Counter(release.payload["disease"].to_pylist()) == Counter(row[5] for row in ROWS)
    statement = release.statement
    assert statement.evidence is Evidence.CHECKED
    assert [claim.text for claim in statement.models] == ["8-anonymous"]
    assert statement.unit == "id"
    assert "age, born, sex" in statement.assumes[0]
    assert any("gone" in sentence for sentence in statement.assumes)
    assert any("missing value" in sentence for sentence in statement.assumes)
    assert any("not differential privacy" in sentence for sentence in statement.caveats)
    made = release.recipe.parameters
    assert (made["rows"], made["released"], made["suppressed"], made["classes"]) == (8, 8, 0, 1)
    assert made["levels"] == TOP
    assert made["lost"] == {"age": 0.75, "born": 0.75, "sex": 0.25}
    assert release.recipe.steps == ("done by hand",)
    assert [picture.title for picture in release.pictures] == [
        "Rows by size of their equivalence class",
        "Risk before and after, per cent",
        "Information loss per column, per cent",
    ]
    assert release.private


def test_what_was_suppressed_is_not_named(table):
    dropped = pa.table({"age": ["80-89"], "born": ["1940s"], "sex": ["m"]})
    release = publish(table, at_levels({"age": 1, "born": 2, "sex": 0}, dropped, suppressed=1), KAnonymity(1))
    assert release.recipe.parameters["suppressed"] == 1
    assert "80-89" not in str(release)
    assert "1940s" not in release._repr_html_()


@pytest.mark.parametrize("to", [None, "release"])
def test_nothing_leaves_if_a_model_does_not_hold(table, tmp_path, monkeypatch, to):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoPromise, match=r"is not 2-anonymous\. Nothing was released"):
        publish(table, at_levels({"age": 1, "born": 2, "sex": 0}), KAnonymity(2), to=to)
    assert not any(tmp_path.iterdir())


def test_nothing_leaves_if_rows_are_lost_on_the_way(table):
    with pytest.raises(NoPromise, match="does not have the expected rows"):
        publish(table, at_levels(TOP, suppressed=1), KAnonymity(2))
    mapping = pa.table(
        {"age": [23], "born": [ROWS[0][2]], "sex": ["f"], "age_new": ["x"], "born_new": ["x"], "sex_new": ["x"]}
    ).append_column("kept", pa.array([True]))
    with pytest.raises(NoPromise, match="does not have the expected rows"):
        publish(table, Recoder(recoding(mapping=mapping)), KAnonymity(1))


def test_a_folder_is_written_without_holding_the_rows(table, tmp_path):
    folder = tmp_path / "release"
    shares = []
    release = publish(
        table, at_levels(TOP), [KAnonymity(8)], to=folder, csv=True, progress=lambda share, what: shares.append(share)
    )
    assert isinstance(release.payload, Rows)
    assert "8 rows and 5 columns" in str(release)
    held = publish(table, at_levels(TOP), KAnonymity(8))
    loaded = dc.Release.load(folder)
    assert loaded.payload.equals(held.payload)
    assert loaded.statement == held.statement
    assert (folder / "payload.csv").read_text().count("\n") == 9
    report = (folder / "report.html").read_text()
    assert "8 rows and 5 columns" in report
    assert "Risk before and after" in report
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    with pytest.raises(BadInput, match="exists"):
        publish(table, at_levels(TOP), KAnonymity(8), to=folder)


def test_many_rows_are_written_in_groups(tmp_path):
    rows = 1_300_000
    card = dc.Card("many", (dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI),))
    table = read(pa.table({"age": pa.array(range(rows)).cast(pa.int64())}), card)
    publish(table, at_levels({"age": 0}), KAnonymity(1), to=tmp_path / "release")
    with pq.ParquetFile(tmp_path / "release" / "payload.parquet") as file:
        assert file.metadata.num_rows == rows
        assert file.metadata.num_row_groups == 3


def test_rows_of_postgres_are_published(postgres, fresh, tmp_path, postgres_address):
    name = fresh()
    postgres.load(name, people())
    table = read(f"{postgres_address}#{name}", CARD)
    release = publish(table, Generalize(suppress="1/4"), KAnonymity(2), to=tmp_path / "release")
    again = publish(read(people(), CARD), Generalize(suppress="1/4"), KAnonymity(2))
    assert dc.Release.load(tmp_path / "release").payload.equals(again.payload)
    assert release.recipe.parameters["levels"] == again.recipe.parameters["levels"]


def test_rows_on_spark_are_published(spark, fresh, tmp_path):
    table = read(people(), CARD)
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    there = read(path, CARD, engine=spark)
    publish(there, Generalize(suppress="1/4"), KAnonymity(2), to=tmp_path / "release")
    again = publish(table, Generalize(suppress="1/4"), KAnonymity(2))
    assert dc.Release.load(tmp_path / "release").payload.equals(again.payload)


@pytest.mark.parametrize("models", [KAnonymity(2), [KAnonymity(2)], "k=2"])
def test_models_where_the_method_belongs_are_reached_by_generalisation(table, models):
    release = publish(table, models)
    assert release.recipe.parameters["recoder"] == "Generalize"
    assert [claim.text for claim in release.statement.models] == ["2-anonymous"]
    assert release.payload.equals(publish(table, Generalize(), KAnonymity(2)).payload)


def test_a_list_of_models_is_all_that_publishing_needs(table):
    release = dc.publish(table, [dc.KAnonymity(5)])
    assert [claim.text for claim in release.statement.models] == ["5-anonymous"]
    assert min(class_sizes(release.payload, ["age", "born", "sex"]).values()) >= 5
    with pytest.raises(BadInput, match="No privacy model given"):
        dc.publish(table, [])


def test_rows_without_a_card_are_not_published():
    with pytest.raises(BadInput, match=r"with its card, not a Table\. Open it first: dc\.read"):
        publish(people(), Generalize(), KAnonymity(2))


def test_what_is_asked_for_must_make_sense(table, tmp_path):
    with pytest.raises(BadInput, match="No privacy model given"):
        publish(table, at_levels(TOP), [])
    with pytest.raises(BadInput, match="csv"):
        publish(table, at_levels(TOP), KAnonymity(2), csv=True)
    with pytest.raises(NotFound, match="no folder"):
        publish(table, at_levels(TOP), KAnonymity(2), to=tmp_path / "nowhere" / "release")


def test_an_empty_table_leaves_empty(tmp_path):
    release = publish(read(people().slice(0, 0), CARD), at_levels(TOP), KAnonymity(2))
    assert release.payload.num_rows == 0
    assert len(release.pictures) == 1


@pytest.mark.parametrize(
    "method",
    [Generalize(), LocalRecode(effort=0), Mondrian(), SuppressCells(), AddDummies(most=9)],
    ids=lambda m: type(m).__name__,
)
def test_columns_may_be_called_anything_and_hold_anything(method, tmp_path):
    """Names that are used inside, quotes, spaces; NaN, infinity, both zeros, NULL, what labels look like."""
    columns = {
        "a": pa.array([1, 1, 2, None], pa.int64()),
        "a_new": pa.array(["*", "", " ", "NULL"]),
        "kept": pa.array([True, None, False, True]),
        "discreet_0": pa.array([float("nan"), float("nan"), float("inf"), -0.0]),
        "größe; \"x\" 'y'": pa.array([Decimal("1.50"), Decimal("-2.25"), None, Decimal("1.50")], pa.decimal128(38, 2)),
        "n": pa.array(["ä", "日本", "a\nb", None]),
    }
    kinds = ("integer", "text", "boolean", "real", "decimal", "text")
    names = list(columns)
    quasi = [dc.Column(name, kind, dc.Role.QUASI) for name, kind in zip(names, kinds, strict=True)]
    card = dc.Card("odd", (*quasi, dc.Column("discreet_kept", dc.Kind.TEXT, dc.Role.SENSITIVE)))
    odd = read(pa.table(columns | {"discreet_kept": ["u", "v", "u", "v"]}), card)
    key = None if isinstance(method, Generalize | AddDummies) else tmp_path / "key.parquet"
    publish(odd, method, [KAnonymity(2), LDiversity(2, "discreet_kept")], to=tmp_path / "r", csv=True, holder=key)
    loaded = dc.Release.load(tmp_path / "r")
    assert loaded.payload.column_names == [*names, "discreet_kept"]
    assert min(Counter(str([row[name] for name in names]) for row in loaded.payload.to_pylist()).values()) >= 2
    earlier = (loaded, key) if key else loaded
    publish(odd, Generalize(levels=dict.fromkeys(names, 1)), KAnonymity(1), earlier=[earlier])


@pytest.mark.parametrize(
    ("method", "key"), [(Generalize(), None), (Mondrian(), "key.parquet")], ids=lambda of: type(of).__name__
)
def test_an_interrupted_run_leaves_nothing(table, tmp_path, method, key):
    def stop(share, what):
        if what == "checking":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(table, method, KAnonymity(2), to=tmp_path / "r", holder=key and tmp_path / key, progress=stop)
    assert not any(tmp_path.iterdir())


def test_what_is_kept_and_what_leaves_come_together(table, tmp_path, monkeypatch):
    def full(*given, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release_module, "give_name", full)
    with pytest.raises(BadInput, match="No space left"):
        publish(table, Mondrian(), KAnonymity(2), to=tmp_path / "r", holder=tmp_path / "key.parquet")
    assert not any(tmp_path.iterdir())


def test_a_place_that_is_taken_is_noticed_before_the_search(table, tmp_path):
    (tmp_path / "r").write_text("a file")
    method = Recoder(None)  # it would fail
    for to, keep, error in (("r", None, "not an empty folder"), ("s", "r", "already"), ("s", "t/u", "no folder")):
        with pytest.raises((BadInput, NotFound), match=error):
            publish(table, method, KAnonymity(2), to=tmp_path / to, holder=keep and tmp_path / keep)


def test_sizes_are_counted_on_the_engine(table):
    sizes = Sizes.of(table)
    assert dict(sizes.classes) == {1: 6, 2: 1}
    assert (sizes.rows, sizes.count, sizes.smallest) == (8, 7, 1)
    assert (sizes.unique, sizes.highest_risk, sizes.average_risk) == (6 / 8, 1, 7 / 8)
    nobody = Sizes({})
    assert (nobody.rows, nobody.smallest, nobody.unique, nobody.highest_risk, nobody.average_risk) == (0, 0, 0, 0, 0)
    first = pictures(sizes, Sizes({5: 2, 12: 1, 5000: 1}), {})[0]
    assert "5 to 9" in first.svg
    assert "1,000 or more" in first.svg


def test_the_inpatients_of_the_text():
    """4-anonymous by the recoding of the text, with a class of one condition only; 3-diverse by the other."""
    inpatient = dc.samples.inpatient()
    four = publish(inpatient, at_levels({"zip": 2, "age": 1, "nationality": 1}), KAnonymity(4))
    assert sorted(class_sizes(four.payload, ["zip", "age", "nationality"]).values()) == [4, 4, 4]
    conditions = {row["condition"] for row in four.payload.to_pylist() if row["age"] == "3*"}
    assert conditions == {"Cancer"}
    with pytest.raises(NoPromise, match="3-diverse"):
        publish(
            inpatient,
            at_levels({"zip": 2, "age": 1, "nationality": 1}),
            [KAnonymity(4), LDiversity(3, "condition")],
        )
    regrouped = {"zip": (1, 1), "age": (2, 2), "nationality": (1, 1)}
    diverse = publish(inpatient, Generalize(levels=regrouped), [KAnonymity(4), LDiversity(3, "condition")])
    found = {}
    for row in diverse.payload.to_pylist():
        found.setdefault((row["zip"], row["age"]), set()).add(row["condition"])
    assert len(found) == 3
    assert all(len(conditions) == 3 for conditions in found.values())


def test_what_is_kept_is_never_put_with_the_release(table, tmp_path):
    method = Recoder(None)  # it would fail
    for keep in ("r", "r/key.parquet"):
        with pytest.raises(BadInput, match=r"copy is confidential, but .* is inside the release folder"):
            publish(table, method, KAnonymity(2), to=tmp_path / "r", holder=tmp_path / keep)


def test_what_is_kept_is_for_its_owner_alone(table, tmp_path):
    (tmp_path / ".discreet-key.parquet").write_text("left by a process that was stopped")
    publish(table, Mondrian(), KAnonymity(2), holder=tmp_path / "key.parquet")
    assert (tmp_path / "key.parquet").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key.parquet"]


def test_where_there_is_nothing_to_keep_that_is_said(table, tmp_path):
    """Before anything is searched for."""
    said = []
    for method in (Generalize(), AddDummies()):
        with pytest.raises(BadInput, match=f"{type(method).__name__} has no holder"):
            publish(table, method, KAnonymity(2), holder=tmp_path / "key.parquet", progress=lambda *at: said.append(at))
    assert not any(tmp_path.iterdir())
    assert said == []


def test_that_sensitive_columns_are_checked_each_alone_is_said(table):
    two = publish(table, at_levels(TOP), [LDiversity(2, "disease"), LDiversity(1, "gone")])
    assert any("disease and gone was checked separately" in sentence for sentence in two.statement.caveats)
    one = publish(table, at_levels(TOP), [LDiversity(2, "disease"), KAnonymity(2)])
    assert not any("checked separately" in sentence for sentence in one.statement.caveats)


def test_a_card_may_say_how_many_groups_a_person_is_in():
    card = replace(CARD, rows_per_unit=1, groups_per_unit=1)
    assert publish(read(people(), card), at_levels(TOP), KAnonymity(8)).payload.num_rows == 8
