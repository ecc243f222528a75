"""The front of ``discreet.samples``: everything listed is there, and listing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from discreet import samples
from discreet.core.table import violations


def test_every_listed_name_is_there_and_callable() -> None:
    assert all(callable(getattr(samples, name)) for name in samples.__all__)
    assert dir(samples) == sorted(samples.__all__)


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no 'patients'"):
        _ = samples.patients  # type: ignore[attr-defined]


def test_importing_samples_imports_nothing_heavy() -> None:
    program = (
        "import sys, discreet.samples;"
        "print(sorted({'numpy', 'pyarrow', 'duckdb', 'sqlglot', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_firms_are_the_same_for_the_same_seed_and_keep_to_their_card():
    table = samples.firms(rows=500, seed=3)
    assert table.fetch() == samples.firms(rows=500, seed=3).fetch() != samples.firms(rows=500, seed=4).fetch()
    assert not violations(table)
