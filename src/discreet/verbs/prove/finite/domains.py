"""The inputs of a finite program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from discreet.errors import BadInput
from discreet.verbs.prove.refuter.evaluator import Symbolic
from discreet.verbs.prove.syntax import BOOL, Input, ListOf, Program, Range, Scalar

MAX_INPUTS = 1 << 12
"""Most inputs that are enumerated."""


def possible_inputs(
    program: Program, length: int | None = None, public: Mapping[str, Symbolic] | None = None
) -> Iterator[dict[str, Symbolic]]:
    """Everything that can be given to ``program``: lists of ``length`` items where nothing else is declared, and
    ``public`` values for what is not finite."""
    given = public or {}
    choices = [(given[one.name],) if one.name in given else tuple(_values(one, length)) for one in program.inputs]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MAX_INPUTS:
        raise BadInput(f"{program.name} has {count} possible inputs; at most {MAX_INPUTS} are gone through.")
    for chosen in product(*choices):
        yield {one.name: value for one, value in zip(program.inputs, chosen, strict=True)}


def _values(one: Input, length: int | None) -> Iterator[Symbolic]:
    if isinstance(one.type, ListOf):
        count = one.type.length if one.type.length is not None else length
        if count is None:
            hint = "Give a length, or declare one: list of 3 …. What is found is true for that length alone."
            raise BadInput(f"{one.name} may have any length.", hint=hint)
        items = _items(one, one.type.item)
        if len(items) ** count > MAX_INPUTS:
            raise BadInput(f"{one.name} may be {len(items)}^{count} lists; at most {MAX_INPUTS} are gone through.")
        return iter(product(items, repeat=count))
    return iter(_items(one, one.type))


def _items(one: Input, type_: Scalar | Range) -> tuple[Symbolic, ...]:
    if isinstance(type_, Range):
        return tuple(range(type_.low, type_.high + 1))
    if type_ == BOOL:
        return (False, True)
    raise BadInput(f"{one.name} may be any {type_}.", hint="Declare a range such as 0..3, or give a value.")
