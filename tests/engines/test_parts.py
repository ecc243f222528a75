"""A missing part is skipped with one line, and fails where nothing may be skipped."""

from __future__ import annotations

import pytest
from tests.engines.parts import require_part


def test_a_part_that_is_there_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    require_part(True, "Java", "install it")


def test_a_missing_part_is_skipped_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"^Java is missing: install a JRE$"):
        require_part(None, "Java", "install a JRE")


def test_a_missing_part_fails_where_nothing_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"^Java is missing: install a JRE$"):
        require_part(None, "Java", "install a JRE")
