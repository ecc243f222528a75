"""The front of ``discreet.samples``: everything listed is there, and listing it costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from discreet import samples


def test_every_listed_name_is_there_and_callable() -> None:
    assert all(callable(getattr(samples, name)) for name in samples.__all__)
    assert dir(samples) == sorted(samples.__all__)


def test_a_name_that_is_not_listed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'patients'"):
        _ = samples.patients  # type: ignore[attr-defined]


def test_importing_samples_imports_nothing_heavy() -> None:
    program = (
        "import sys, discreet.samples;"
        "print(sorted({'numpy', 'pyarrow', 'duckdb', 'sqlglot', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
