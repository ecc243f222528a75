"""A process that is killed at any step leaves nothing that was not registered, and nothing in the way of the next."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releases.killed import METHODS, STEPS
from tests.releases.registers import listed

import discreet as dc
from discreet.core.holder_copy import belongs

CARD = dc.Card(
    "people",
    (
        dc.Column("age", "integer", "quasi", bounds=(0, 100)),
        dc.Column("town", "text", "quasi", categories=("a", "b", "c")),
        dc.Column("ill", "text", "sensitive", categories=("yes", "no")),
    ),
)
ROWS = pa.table(
    {
        "age": [30 + n % 7 for n in range(40)],
        "town": ["abc"[n % 3] for n in range(40)],
        "ill": ["yes" if n % 4 else "no" for n in range(40)],
    }
)


@pytest.mark.parametrize("verb", METHODS)
def test_a_release_is_there_as_a_whole_and_registered_or_not_at_all(verb, tmp_path):
    for here in (tmp_path, *(tmp_path / step.replace(" ", "-") for step in STEPS)):
        here.mkdir(exist_ok=True)
        pq.write_table(ROWS, here / "people.parquet")
        (here / "people.toml").write_text(dc.dump_cards([CARD]))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.releases.killed", verb, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    for step in STEPS:
        here = tmp_path / step.replace(" ", "-")
        named = step == "after give_name"
        registered = [Path(one.release).name for one in listed(here / "people.register.db")]
        before = STEPS.index(step) < STEPS.index("after register")
        assert registered == (["r", "r2"] if named else ["r"] if before else ["r", "r"]), step
        for name in ("r", "r2") if named else ("r",):
            dc.Release.load(here / name)  # an error if a file is missing, or is not part of it
            copy = dc.read_holder_copy(here / f"{name}.holder.parquet")
            assert belongs(copy, here / name) == (here / name / "payload.parquet").exists()
        left = {path.name for path in here.rglob("*holder*")}
        assert left <= {f"{dot}{name}.holder.parquet" for name in ("r", "r2") for dot in ("", ".discreet-")}
        assert all(path.parent == here for path in here.rglob("*holder*"))
        others = {path.name for path in here.iterdir() if not path.name.startswith(".discreet-")} - left
        kept = {"people.parquet", "people.toml", "r", *(["r2"] if named else [])}
        kept |= {f"people.register.db{file}" for file in ("", "-head", "-lock")}
        assert others == kept, step
