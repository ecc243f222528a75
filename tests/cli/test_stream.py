"""`discreet stream`: start, advance, show and list, for people and programs."""

import json
from pathlib import Path

import pyarrow.csv as csv
import pytest
from tests.called import called
from tests.curator.clinics import clinic, visits


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    clinic(folder / "clinic").close()
    csv.write_csv(visits(10), folder / "monday.csv")
    return folder


def run(place, words):
    return called(["stream", *words.split()], Path(place))


def test_a_stream_is_started_advanced_and_shown(place):
    start = f"start {place}/clinic visits arrivals --steps 5 --by city --sum income --epsilon 0.5"
    assert "±" in run(place, f"{start} --dry-run").stdout
    assert run(place, f"list {place}/clinic --json").stdout.strip() == "[]"
    assert "It cost ε = 0.5" in run(place, start).stdout
    told = json.loads(run(place, f"advance {place}/clinic visits arrivals {place}/monday.csv --step 1 --json").stdout)
    assert (told["step"], [one["city"] for one in told["rows"]]) == (1, ["Rome", "Milan", "Turin"])
    again = run(place, f"advance {place}/clinic visits arrivals --step 1 --json")
    assert json.loads(again.stdout) == told
    assert "arrivals, step 2 of 5" in run(place, f"advance {place}/clinic visits arrivals").stdout
    shown = run(place, f"show {place}/clinic visits arrivals --step 1 --json").stdout
    assert json.loads(shown) == told
    assert len(json.loads(run(place, f"show {place}/clinic visits arrivals --history --json").stdout)["rows"]) == 6
    assert "arrivals" in run(place, f"list {place}/clinic").stdout
    gone = run(place, f"show {place}/clinic visits departures")
    assert gone.code == 1
    assert "there are 'arrivals'" in gone.stderr
