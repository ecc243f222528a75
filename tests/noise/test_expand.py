"""Random bits by the million: as many as are asked for, never the same, and fair."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.noise.expand import BULK


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 100_001])
def test_as_many_bytes_as_are_asked_for(count: int) -> None:
    assert len(BULK.bytes(count)) == count


def test_no_two_requests_are_alike() -> None:
    drawn = {BULK.bytes(1 << 12) for _ in range(100)}
    assert len(drawn) == 100


def test_bytes_are_even() -> None:
    seen = np.bincount(np.frombuffer(BULK.bytes(1 << 20), dtype=np.uint8), minlength=256)
    assert stats.chisquare(seen).pvalue > 1e-9


def test_without_the_cipher_all_bits_are_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    true = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name.startswith("cryptography"):
            raise ModuleNotFoundError(name=name)
        return true(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    drawn = [BULK.bytes(1 << 13) for _ in range(2)]
    assert [len(bits) for bits in drawn] == [1 << 13] * 2
    assert drawn[0] != drawn[1]
