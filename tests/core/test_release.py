"""Releases: what they may carry, and the folder they travel in."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from discreet.core.loss import Approximate, Pure
from discreet.core.release import Receipt, Release
from discreet.core.report import bars
from discreet.core.statement import Claim, Evidence, Recipe, Secrecy, Statement, versions
from discreet.errors import BadInput, Damaged, DataError, NoPromise, NotFound

PROVED = Statement("person", Pure("0.5"), evidence=Evidence.PROVED)
CHECKED = Statement("person", models=(Claim("k-anonymity", "5-anonymous on zip"),), evidence=Evidence.CHECKED)
RECIPE = Recipe("histogram", {"epsilon": Fraction(1, 2), "columns": ("zip", "age")}, ("count", "add noise"))
RECEIPT = Receipt("research", "q-1", Approximate(1, "1e-6"), 3, "ab" * 32, dt.datetime(2025, 1, 2, tzinfo=dt.UTC))
PARTS = (
    "payload.parquet",
    "statement.json",
    "recipe.json",
    "receipt.json",
    "presentation.json",
    "report.html",
)
TABLE = pa.table(
    {
        "id": [1, None, 3],
        "text": ["a,b", "", None],
        "sum": [Decimal("1.10"), None, Decimal("-2.00")],
        "day": [dt.date(2020, 2, 29), None, dt.date(1, 1, 1)],
        "at": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
    }
)


@pytest.fixture
def release() -> Release[pa.Table]:
    return Release(TABLE, PROVED, RECIPE, RECEIPT, (bars("Ages", ["<30"], [4]),), "Patients by zip")


@pytest.fixture
def saved(release: Release[pa.Table], tmp_path: Path) -> Path:
    return release.save(tmp_path / "saved")


def test_a_release_comes_back_as_it_was_saved(release: Release[pa.Table], saved: Path) -> None:
    back = Release.load(saved)
    assert back == release
    assert back.payload.schema == TABLE.schema


def test_the_folder_holds_what_it_should(saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == {*PARTS, "manifest.json"}


def test_every_file_is_on_the_disk_before_the_folder_has_its_name(
    release: Release[pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, bool]] = []
    flush = os.fsync

    def recorded(handle: int) -> None:
        flush(handle)
        flushed.append((Path(f"/proc/self/fd/{handle}").readlink().name, (tmp_path / "out").exists()))

    monkeypatch.setattr(os, "fsync", recorded)
    saved = release.save(tmp_path / "out")
    *files, folder = [name for name, named in flushed if not named]
    assert sorted(files) == sorted(path.name for path in saved.iterdir())
    assert folder.startswith(".discreet-")
    assert flushed[-1] == (tmp_path.name, True), "and then the name"


@pytest.mark.parametrize(
    "payload",
    [
        3300,
        None,
        "text",
        Fraction(1, 3),
        [1, 1.0, True],
        {"mean": Decimal("3300.10"), "on": dt.date(2020, 1, 1)},
        (1, (2,)),
    ],
)
def test_other_payloads_come_back_exactly(payload: object, tmp_path: Path) -> None:
    release = Release(payload, PROVED, RECIPE)
    back = Release.load(release.save(tmp_path / "saved"))
    assert back == release
    assert repr(back.payload) == repr(payload)
    assert not (tmp_path / "saved" / "receipt.json").exists()


def test_csv_is_written_beside_and_tells_null_from_empty(release: Release[pa.Table], tmp_path: Path) -> None:
    folder = release.save(tmp_path / "saved", csv=True)
    assert Release.load(folder) == release
    assert (folder / "payload.csv").read_text().splitlines()[2:] == [
        ',"",,,',
        "3,,-2.00,0001-01-01,1970-01-01 00:00:00.000003Z",
    ]


def test_an_empty_table_and_an_empty_folder_will_do(tmp_path: Path) -> None:
    release = Release(TABLE.slice(0, 0), PROVED, RECIPE)
    (tmp_path / "saved").mkdir()
    assert Release.load(release.save(tmp_path / "saved")) == release


def test_a_folder_named_like_a_partition_adds_no_column(release: Release[pa.Table], tmp_path: Path) -> None:
    assert Release.load(release.save(tmp_path / "zip=13053")).payload.column_names == TABLE.column_names


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"fine": 1, "bad": object()}, BadInput),
        (float("nan"), BadInput),
        (pa.table({"x": pa.array([1], pa.timestamp("s"))}), DataError),
        (pa.table({"x": pa.nulls(1, pa.month_day_nano_interval())}), DataError),
    ],
    ids=["object", "nan", "seconds", "interval"],
)
def test_what_cannot_be_kept_exactly_is_refused_and_leaves_nothing(
    payload: object, error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        Release(payload, PROVED, RECIPE).save(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_csv_cannot_hold_leaves_nothing(tmp_path: Path) -> None:
    nested = pa.table({"x": [[1, 2]]})
    with pytest.raises(DataError, match="cannot be saved"):
        Release(nested, PROVED, RECIPE).save(tmp_path / "saved", csv=True)
    assert list(tmp_path.iterdir()) == []


def test_only_a_table_has_a_csv(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Only a table"):
        Release(1, PROVED, RECIPE).save(tmp_path / "saved", csv=True)


def test_a_folder_in_use_is_not_touched(release: Release[pa.Table], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for taken in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(BadInput, match="not an empty folder"):
            release.save(taken)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_missing_parent_and_a_missing_folder_are_not_found(release: Release[pa.Table], tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        release.save(tmp_path / "none" / "saved")
    with pytest.raises(NotFound, match="no folder"):
        Release.load(tmp_path / "none")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.parametrize("harm", [flipped, longer, Path.unlink], ids=["flipped", "longer", "missing"])
@pytest.mark.parametrize("name", PARTS)
def test_a_harmed_file_is_named(saved: Path, name: str, harm: Callable[[Path], None]) -> None:
    harm(saved / name)
    with pytest.raises(Damaged, match=name):
        Release.load(saved)


@pytest.mark.parametrize("name", ["extra.txt", "payload.csv", ".hidden"])
def test_a_file_that_was_not_saved_is_named(saved: Path, name: str) -> None:
    (saved / name).write_text("more")
    with pytest.raises(Damaged, match=name):
        Release.load(saved)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "1", "files": {}}', '{"format": 1, "files": {}}', '{"format": 1}']
)
def test_a_manifest_that_is_none_is_refused(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    with pytest.raises(Damaged, match=r"manifest\.json"):
        Release.load(saved)


def test_a_missing_manifest_is_named(saved: Path) -> None:
    (saved / "manifest.json").unlink()
    with pytest.raises(Damaged, match=r"manifest\.json is missing"):
        Release.load(saved)


def relisted(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


def test_a_manifest_may_not_point_elsewhere(saved: Path) -> None:
    files = json.loads((saved / "manifest.json").read_text())["files"]
    relisted(saved, files=files | {"../outside.json": files["recipe.json"]})
    with pytest.raises(Damaged, match="does not list the files of a release"):
        Release.load(saved)


def test_a_newer_format_is_left_to_a_newer_discreet(saved: Path) -> None:
    relisted(saved, format=2, novelty=True)
    with pytest.raises(BadInput, match=r"format 2; discreet .* reads formats up to 1"):
        Release.load(saved)


def test_a_loss_cannot_be_smuggled_in_beside_a_seed(tmp_path: Path) -> None:
    folder = Release(1, CHECKED, Recipe("swap", seed=7)).save(tmp_path / "saved")
    forged = json.dumps(PROVED.to_dict()).encode()
    (folder / "statement.json").write_bytes(forged)
    files = json.loads((folder / "manifest.json").read_text())["files"]
    files["statement.json"] = {"sha256": hashlib.sha256(forged).hexdigest(), "bytes": len(forged)}
    relisted(folder, files=files)
    with pytest.raises(NoPromise, match="seed"):
        Release.load(folder)


@pytest.mark.parametrize(
    "statement",
    [PROVED, Statement("person", secrecy=Secrecy(("Ann", "Bea"), (("Ann",),)))],
    ids=["loss", "secrecy"],
)
def test_a_seed_forbids_promises_that_need_secret_randomness(statement: Statement) -> None:
    with pytest.raises(NoPromise, match="seed"):
        Release(1, statement, Recipe("noise", seed=0))


def test_a_seeded_release_keeps_checked_models_and_is_never_called_private() -> None:
    release = Release(1, CHECKED, Recipe("rank swapping", seed=7))
    assert not release.private
    assert "5-anonymous on zip" in str(release)
    assert (
        "Made with seed 7: every random choice can be repeated. So this release is not differentially private."
        in str(release)
    )
    assert Release(1, CHECKED, Recipe("recoding")).private
    assert not Release(1, Statement("person"), Recipe("copy")).private


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"secret": "Ann Smith"},
        {"by": "Ann Smith"},
        {"columns": ["age", "Ann Smith"]},
        {"exact": ["Ann Smith"]},
        {"reach": {"Ann Smith": 1.0}},
        {"reach": {"age": "Ann Smith"}},
        {"rows": -1},
    ],
)
def test_beside_rows_stand_names_of_columns_and_numbers_alone(changed: dict[str, object]) -> None:
    said = {"by": "mst", "rows": 2, "columns": ["age"], "exact": [], "reach": {"age": 1.5}} | changed
    metadata = {"discreet.synthetic": json.dumps(said), "discreet.other": "Ann Smith"}
    rows = pa.table({"age": [1, 2]}).replace_schema_metadata(metadata)
    kept = Release(rows, Statement("row"), Recipe("m")).payload.schema.metadata
    assert kept == (None if changed else {b"discreet.synthetic": json.dumps(said).encode()})


def test_values_left_in_dictionaries_and_metadata_do_not_leave(tmp_path: Path) -> None:
    names = pa.array(["Alice Secret", "Bob"]).dictionary_encode()
    field = pa.field("name", names.type, metadata={"first": "Alice Secret"})
    everybody = pa.table([names], pa.schema([field], metadata={"pandas": "Alice Secret"}))
    release = Release(everybody.slice(1), PROVED, RECIPE)
    folder = release.save(tmp_path / "saved", csv=True)
    assert release.payload.to_pylist() == [{"name": "Bob"}]
    assert release.payload.schema == pa.schema([("name", pa.string())])
    assert not pq.read_schema(folder / "payload.parquet").metadata
    pages = pq.read_table(folder / "payload.parquet", read_dictionary=["name"])["name"].combine_chunks()
    assert pages.dictionary.to_pylist() == ["Bob"]
    for path in folder.iterdir():
        assert b"Alice Secret" not in path.read_bytes()


def test_dictionaries_deep_inside_are_refused() -> None:
    inside = pa.array([["a"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    with pytest.raises(DataError, match="dictionaries inside"):
        Release(pa.table({"x": inside}), PROVED, RECIPE)


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="two columns called 'x'"):
        Release(pa.table([[1], [2]], ["x", "x"]), PROVED, RECIPE)


def test_a_release_reads_as_text(release: Release[pa.Table]) -> None:
    text = str(release)
    for part in (
        "Patients by zip",
        "ε = 0.5",
        "3 rows and 5 columns",
        "method: histogram",
        "charged to research",
    ):
        assert part in text


def test_a_release_without_a_title_is_called_by_its_method() -> None:
    assert Release(1, PROVED, RECIPE).title == "histogram"


def test_a_receipt_says_when_and_nothing_vague() -> None:
    assert Receipt.from_dict(json.loads(json.dumps(RECEIPT.to_dict()))) == RECEIPT
    with pytest.raises(BadInput, match="offset from UTC"):
        Receipt("a", "k", Pure(1), 1, "d", dt.datetime(2025, 1, 1))
    with pytest.raises(BadInput, match="not a time"):
        Receipt.from_dict(RECEIPT.to_dict() | {"at": "noon"})


def test_a_recipe_is_its_own_copy() -> None:
    columns = ["zip"]
    recipe = Recipe("histogram", {"columns": columns})
    columns.append("name")
    assert recipe.parameters == {"columns": ["zip"]}


@pytest.mark.parametrize("wrong", [{"parameters": {"f": print}}, {"seed": True}, {"seed": 1.5}])
def test_a_recipe_holds_only_what_can_be_written(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        Recipe("histogram", **wrong)


def test_a_recipe_says_what_made_the_release() -> None:
    class Titled:
        title = "DuckDB 9"

    assert set(Recipe("histogram").versions) == {"discreet", "python", "pyarrow"}
    assert versions(Titled())["engine"] == "DuckDB 9"
