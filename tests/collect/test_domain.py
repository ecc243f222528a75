"""What may be answered, and answers that are none of it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.domain import Domain


@pytest.mark.parametrize(
    ("values", "answers", "codes"),
    [
        (4, [3, 0, 1], [3, 0, 1]),
        (4, np.array([3, 0], dtype=np.uint8), [3, 0]),
        (4, np.array([3.0, 0.0]), [3, 0]),
        ("abc", ["c", "a"], [2, 0]),
        ("abc", np.array(["b", "a"]), [1, 0]),
        ("abc", pa.chunked_array([["b"], ["c", "a"]]), [1, 2, 0]),
        ("abc", pa.array(["b", "a", "b"]).dictionary_encode(), [1, 0, 1]),
        ("abc", [], []),
        ([False, True], [True, False], [1, 0]),
        ([0, 0.5, 1], [0.5, 1], [1, 2]),
        ([10, 20, 30], np.array([30, 10]), [2, 0]),
        ([dt.date(2024, 1, 1), dt.date(2025, 1, 1)], [dt.date(2025, 1, 1)], [1]),
    ],
)
def test_answers_have_their_place(values: Any, answers: Any, codes: list[int]) -> None:
    result = Domain(values).codes(answers)
    assert result.dtype == np.int64
    assert result.tolist() == codes


@pytest.mark.parametrize(
    ("values", "answers"),
    [
        (4, [4]),
        (4, np.array([-1])),
        (4, np.array([4], dtype=np.uint64)),
        (4, [1.5]),
        (4, ["one"]),
        (4, [1, "a"]),
        (4, [2**70]),
        ("abc", ["d"]),
        ("abc", [None]),
        ("abc", pa.array(["a", None])),
    ],
)
def test_an_answer_that_is_none_of_the_values_is_refused(values: Any, answers: Any) -> None:
    with pytest.raises(DataError, match="not one of the question's values"):
        Domain(values).codes(answers)


def test_an_error_does_not_tell_an_answer() -> None:
    with pytest.raises(DataError) as caught:
        Domain(4).codes(["my secret"])
    assert "secret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("values", [1, [], ["a"], ["a", "a"], ["a", None], ["a", 1], [[1], [2]], [2**70, 1]])
def test_values_are_two_or_more_that_differ(values: Any) -> None:
    with pytest.raises(BadInput, match="values"):
        Domain(values)


def test_equal_domains_are_equal() -> None:
    assert Domain(3) == Domain([0, 1, 2])
    assert len({Domain("ab"), Domain(["a", "b"]), Domain("ba")}) == 2
