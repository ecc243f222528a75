"""Two linked tables published by the command: a workspace's register knows of both."""

import discreet as dc
from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.releases.register import Register

CARD = """
[tables.patients]
unit = "id"
rows_per_unit = 1
[tables.patients.columns]
id = { kind = "integer", role = "identifier" }
sex = { kind = "text", role = "quasi", categories = ["f", "m"] }
[tables.visits]
unit = "id"
rows_per_unit = 2
[tables.visits.columns]
id = { kind = "integer", role = "identifier" }
ward = { kind = "text", role = "quasi", categories = ["a", "b"] }
"""


def test_the_register_of_a_workspace_knows_of_both_tables(command, tmp_path):
    (tmp_path / "patients.csv").write_text("id,sex\n" + "".join(f"{n},{'fm'[n % 2]}\n" for n in range(20)))
    (tmp_path / "visits.csv").write_text("id,ward\n" + "".join(f"{n},{w}\n" for n in range(20) for w in "ab"))
    (tmp_path / "card.toml").write_text(CARD)
    tables = {name: (tmp_path / f"{name}.csv", tmp_path / "card.toml") for name in ("patients", "visits")}
    place, files = tmp_path / "work", [str(tmp_path / f"{name}.csv") for name in ("visits", "patients")]
    Curator.create(place, tables, budget=Pure(1)).close()
    options = ("--card", str(tmp_path / "card.toml"), "--workspace", str(place), "--model", "k=2")
    command("publish", files[0], *options, "--people", f"linked with {files[1]}", "-o", str(tmp_path / "out"))
    assert dc.Release.load(tmp_path / "out").also.num_rows == 20
    with Register(str(place / "register.db")) as register:
        assert {one.table for one in register.entries()} == {"visits", "patients"}
