"""The domain of a question: its possible answers, declared before anyone answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import BadInput, DataError

Codes: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Values: TypeAlias = Iterable[Any]
"""Answers: a list, a NumPy array or an Arrow array."""


@dataclass(frozen=True, init=False)
class Domain:
    """Possible answers to a question, in a fixed order."""

    values: tuple[Any, ...]

    def __init__(self, values: int | Iterable[Any]) -> None:
        """Values, or a number that stands for 0, 1, 2, … below it."""
        listed = tuple(range(values)) if isinstance(values, int) else tuple(values)
        if len(listed) < 2:
            raise BadInput("A question needs at least two values to choose between.")
        object.__setattr__(self, "values", listed)
        try:
            differ = pc.count_distinct(self._known).as_py()
        except (pa.ArrowException, OverflowError) as error:
            raise BadInput(f"The values of a question must be of one plain kind: {error}.") from None
        if self._known.null_count or differ < len(listed):
            raise BadInput("The values of a question must differ, and none may be missing.")

    @classmethod
    def of(cls, values: Domain | int | Iterable[Any]) -> Domain:
        """The domain itself, or one with these values."""
        return values if isinstance(values, Domain) else cls(values)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _known(self) -> pa.Array[Any]:
        return _array(self.values)

    @cached_property
    def _counts_up(self) -> bool:
        return self.values == tuple(range(len(self)))

    @property
    def _hint(self) -> str:
        return f"Choose from {', '.join(map(str, self.values[:10]))}."

    def codes(self, answers: Values) -> Codes:
        """Index of each answer among the values; an error for other answers."""
        if self._counts_up and isinstance(answers, np.ndarray) and answers.dtype.kind in "iu":
            codes = answers.astype(np.int64, copy=False)
            if codes.size and (codes.min() < 0 or codes.max() >= len(self)):
                raise DataError(_UNKNOWN_ANSWER, hint=f"Values are 0 to {len(self) - 1}.")
            return codes
        try:
            array = answers if isinstance(answers, pa.Array | pa.ChunkedArray) else _array(answers)
            result = pc.index_in(array.cast(self._known.type), value_set=self._known)
        except (pa.ArrowException, OverflowError):  # what it says may quote an answer
            raise DataError(_UNKNOWN_ANSWER, hint=self._hint) from None
        if result.null_count:
            raise DataError(_UNKNOWN_ANSWER, hint=self._hint)
        return result.to_numpy(zero_copy_only=False).astype(np.int64)


def set_fields(instance: object, **values: Any) -> None:
    """Set fields of a frozen dataclass during its construction."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def plain_fields(instance: Any, *without: str) -> dict[str, Any]:
    """Fields of a dataclass as plain data: exact numbers as texts, grids and regions flattened."""
    plain: dict[str, Any] = {}
    for name in (one.name for one in fields(instance) if one.name not in without):
        value = getattr(instance, name)
        plain |= (
            value.parameters
            if hasattr(value, "parameters")
            else {name: str(value) if type(value) is Fraction else value}
        )
    return plain


def _array(values: Any) -> pa.Array[Any]:
    made: pa.Array[Any] = pa.array(values)
    return made


_UNKNOWN_ANSWER = "An answer is not one of the question's values."
