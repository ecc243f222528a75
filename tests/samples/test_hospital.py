"""The made-up hospital: the same every time, true to its cards, and as skewed as it says."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import samples
from discreet.core.cardfile import load_cards
from discreet.core.table import violations
from discreet.engines.read import read
from discreet.errors import BadInput, NotFound
from discreet.samples.world.generate import CHUNK, TABLES, Hospital


@pytest.fixture(scope="module")
def world() -> duckdb.DuckDBPyConnection:
    """A hospital of 150,000 patients, its tables in one database."""
    hospital = samples.hospital(150_000, seed=7)
    database = duckdb.connect()
    for name in TABLES:
        database.register(name, pa.Table.from_batches(hospital.batches(name)))
    return database


@pytest.fixture(scope="module")
def two_chunks() -> Hospital:
    return samples.hospital(CHUNK + 1_000, seed=3)


@pytest.mark.parametrize("name", TABLES)
def test_the_same_seed_gives_the_same_table_and_another_seed_another(name: str) -> None:
    first, again, other = (next(samples.hospital(500, seed).batches(name)) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.parametrize("name", TABLES)
def test_a_chunk_made_alone_is_the_one_made_in_order(two_chunks: Hospital, name: str) -> None:
    in_order = list(two_chunks.batches(name))
    alone = samples.hospital(CHUNK + 1_000, seed=3).batch(name, 1)
    assert alone.equals(in_order[1])
    key = pa.Table.from_batches(in_order).column(0)
    assert len(key.unique()) == len(key), "numbers are not given twice across chunks"


def test_patients_are_numbered_from_1_and_as_many_as_asked_for(two_chunks: Hospital) -> None:
    numbers = pa.Table.from_batches(two_chunks.batches("patients")).column("patient_id").to_pylist()
    assert numbers == list(range(1, CHUNK + 1_001))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [1, 20_000])
def test_every_table_keeps_to_its_card(name: str, rows: int) -> None:
    table = samples.hospital(rows, seed=5).table(name)
    assert violations(table) == ()
    assert table.card.private
    assert table.count() >= rows


def test_uniqueness_is_near_what_sweeney_found(world: duckdb.DuckDBPyConnection) -> None:
    assert 0.84 < unique(world, "zip, sex, birth_date") < 0.90
    assert unique(world, "zip, sex, year(birth_date)") < 0.02


def test_zip_areas_are_very_unequal_and_have_their_own_mix_of_people(
    world: duckdb.DuckDBPyConnection,
) -> None:
    ratio = one(world, "SELECT max(n) / median(n) FROM (SELECT count(*) n FROM patients GROUP BY zip)")
    assert ratio > 4
    low, high = row(
        world,
        "SELECT min(share), max(share) FROM (SELECT avg((ethnicity = 'White')::int) share FROM patients GROUP BY zip)",
    )
    assert high - low > 0.3


def test_every_patient_has_a_visit_and_nobody_more_than_20(world: duckdb.DuckDBPyConnection) -> None:
    patients, fewest, most, usual, mean = row(
        world,
        "SELECT count(*), min(n), max(n), median(n), avg(n) FROM (SELECT count(*) n FROM visits GROUP BY patient_id)",
    )
    assert (patients, fewest, most) == (150_000, 1, 20)
    assert mean > 1.3 * usual


def test_the_old_come_more_often(world: duckdb.DuckDBPyConnection) -> None:
    young, old = (
        one(
            world,
            f"SELECT count(*) / count(DISTINCT patient_id) FROM visits JOIN patients USING (patient_id) "
            f"WHERE birth_date {side}",
        )
        for side in ("BETWEEN '1995-01-01' AND '2005-12-31'", "< '1950-01-01'")
    )
    assert old > 1.5 * young


def test_nobody_is_admitted_before_birth_or_after_death(world: duckdb.DuckDBPyConnection) -> None:
    early = "SELECT count(*) FROM visits JOIN patients USING (patient_id) WHERE admitted < birth_date"
    assert one(world, early) == 0
    late = (
        "SELECT count(*) FROM visits v JOIN visits d USING (patient_id) "
        "WHERE d.outcome = 'died' AND v.admitted > d.admitted"
    )
    assert one(world, late) == 0
    assert one(world, "SELECT count(*) FROM visits WHERE outcome = 'died'") > 0


@pytest.mark.parametrize(
    ("diagnosis", "sex"), [("Single delivery", "F"), ("Breast cancer", "F"), ("Prostate cancer", "M")]
)
def test_diagnoses_of_one_sex_stay_with_it(world: duckdb.DuckDBPyConnection, diagnosis: str, sex: str) -> None:
    query = f"SELECT DISTINCT sex FROM visits JOIN patients USING (patient_id) WHERE diagnosis = '{diagnosis}'"
    assert world.execute(query).fetchall() == [(sex,)]


def test_diagnoses_depend_on_age(world: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT median(year(birth_date)) FROM visits JOIN patients USING (patient_id) WHERE diagnosis = '{}'"
    assert one(world, query.format("Cataract")) < 1955
    assert one(world, query.format("Acute bronchitis")) > 2010


def test_costs_are_skewed_and_grow_with_the_stay(world: duckdb.DuckDBPyConnection) -> None:
    mean, usual, correlation = row(world, "SELECT avg(cost), median(cost), corr(length_of_stay, ln(cost)) FROM visits")
    assert mean > 1.3 * float(usual)
    assert correlation > 0.4


def test_the_voter_list_has_70_percent_of_adult_patients_beside_others(
    world: duckdb.DuckDBPyConnection,
) -> None:
    adults = one(world, "SELECT count(*) FROM patients WHERE birth_date <= '2007-12-31'")
    listed = one(world, "SELECT count(*) FROM voters") - 150_000
    assert 0.69 < listed / adults < 0.71
    assert one(world, "SELECT count(*) FROM voters WHERE birth_date > '2007-12-31'") == 0


def test_the_voter_list_names_patients_whose_name_was_removed(world: duckdb.DuckDBPyConnection) -> None:
    alone = "SELECT zip, sex, birth_date, any_value(name) AS name FROM {} GROUP BY ALL HAVING count(*) = 1"
    linked, right = row(
        world,
        f"WITH p AS ({alone.format('patients')}), v AS ({alone.format('voters')}) "
        "SELECT count(*), count(*) FILTER (p.name = v.name) FROM p JOIN v USING (zip, sex, birth_date)",
    )
    assert linked > 50_000
    assert 0.9 < right / linked < 1


def test_written_files_read_back_with_the_card_written_beside_them(tmp_path: Path) -> None:
    hospital = samples.hospital(300, seed=1)
    told: list[tuple[str, float]] = []
    written = hospital.write(tmp_path / "new", progress=lambda *step: told.append(step))
    assert set(written) == set(TABLES)
    assert told == [("patients", 1.0), ("visits", 1.0), ("voters", 1.0)]
    card = tmp_path / "new" / "hospital.toml"
    assert load_cards(card) == hospital.cards
    for name, path in written.items():
        assert pq.read_table(path).equals(pa.Table.from_batches(hospital.batches(name)))
        assert read(path, card, table=name).fetch().equals(hospital.table(name).fetch())


def test_a_write_that_fails_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "patients.parquet").write_text("precious")

    def stop(name: str, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        samples.hospital(300).write(tmp_path, progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["patients.parquet"]
    assert (tmp_path / "patients.parquet").read_text() == "precious"


def test_only_the_tables_asked_for_are_written(tmp_path: Path) -> None:
    samples.hospital(10).write(tmp_path, ["voters"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hospital.toml", "voters.parquet"]


def test_bad_requests_are_refused_in_words() -> None:
    with pytest.raises(BadInput, match="at least 1 patient, got 0"):
        samples.hospital(0)
    with pytest.raises(BadInput, match="of at least 0, got -1"):
        samples.hospital(10, seed=-1)
    with pytest.raises(NotFound, match="no table 'doctors'; it has patients, visits, voters"):
        samples.hospital(10).batches("doctors")
    with pytest.raises(NotFound, match="no chunk 1"):
        samples.hospital(10).batch("patients", 1)


def unique(world: duckdb.DuckDBPyConnection, keys: str) -> float:
    """The share of patients who are alone with their values of ``keys``."""
    counted = f"SELECT count(*) n FROM patients GROUP BY {keys}"
    return float(one(world, f"SELECT count(*) FILTER (n = 1) / sum(n) FROM ({counted})"))


def one(world: duckdb.DuckDBPyConnection, query: str) -> float:
    return float(row(world, query)[0])


def row(world: duckdb.DuckDBPyConnection, query: str) -> tuple[float, ...]:
    (only,) = world.execute(query).fetchall()
    return tuple(only)
