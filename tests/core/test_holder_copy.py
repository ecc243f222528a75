"""What is kept of a release knows which it belongs to, saved or not."""

import pyarrow as pa

from discreet.core.holder_copy import fingerprint
from discreet.core.release import Release
from discreet.core.statement import Recipe, Statement


def test_rows_in_memory_have_the_fingerprint_that_they_will_have_when_saved(tmp_path):
    rows = pa.table({"age": pa.array([3, None, 5]), "town": pa.array(["a", "b", None])})
    folder = Release(rows, Statement("person"), Recipe("by hand")).save(tmp_path / "r")
    assert fingerprint(rows) == fingerprint(folder) != ""
    assert fingerprint(rows.slice(1)) != fingerprint(rows)
    assert fingerprint(tmp_path) == ""
