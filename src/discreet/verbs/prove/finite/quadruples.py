"""Relational judgements of finite programs: ``c1 ~ c2 : P => Q``.

If two inputs are related by P, then what the two programs show is related by Q: the two distributions have a coupling
within Q (or, with eps and delta, an approximate lifting of it). P speaks of the inputs, whose names end in 1 and 2; Q
of ``result1`` and ``result2``, and of the inputs too. A result is what is returned, else the list of what is emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import BadInput
from discreet.verbs.prove.finite.couplings import find_coupling
from discreet.verbs.prove.finite.domains import possible_inputs
from discreet.verbs.prove.finite.enumeration import outcomes
from discreet.verbs.prove.interpreter import Outputs, value_of
from discreet.verbs.prove.parser import parse_expression
from discreet.verbs.prove.refuter.evaluator import Symbolic
from discreet.verbs.prove.refuter.logarithms import Exact
from discreet.verbs.prove.syntax import Expression, Program, Value


@dataclass(frozen=True)
class Quadruple:
    """``first ~ second : before => after``, up to eps and delta; ``length`` is that of lists that declare none."""

    first: Program
    second: Program
    before: Expression
    after: Expression
    eps: Exact = 0
    delta: Fraction = Fraction(0)
    parameters: Mapping[str, Exact] = field(default_factory=dict)
    length: int | None = None


def read_quadruple(
    text: str, programs: Mapping[str, Program], eps: Exact = 0, *, length: int | None = None
) -> Quadruple:
    """A judgement from its text, such as ``pad ~ pad : true => result1 == result2``."""
    names, colon, judgement = text.partition(":")
    before, arrow, after = judgement.partition("=>")
    first, tilde, second = (part.strip() for part in names.partition("~"))
    if not (colon and arrow and tilde):
        raise BadInput("A judgement is c1 ~ c2 : P => Q.", hint="Such as: pad ~ pad : true => result1 == result2")
    if missing := [name for name in (first, second) if name not in programs]:
        raise BadInput(f"There is no program {missing[0]}.")
    return Quadruple(
        programs[first],
        programs[second],
        parse_expression(before.strip()),
        parse_expression(after.strip()),
        eps,
        length=length,
    )


def judgement_holds(quadruple: Quadruple) -> bool:
    """Whether a judgement is true, for all finite inputs; with lists of no declared length, for the given one."""
    return find_failing_inputs(quadruple) is None


def find_failing_inputs(quadruple: Quadruple) -> tuple[Mapping[str, Symbolic], Mapping[str, Symbolic]] | None:
    """Two inputs that P relates, for which there is no coupling within Q; none if the judgement is true."""
    q = quadruple
    seconds = list(possible_inputs(q.second, q.length))
    laws = [outcomes(q.second, one, q.parameters) for one in seconds]
    for first in possible_inputs(q.first, q.length):
        law = outcomes(q.first, first, q.parameters)
        for second, other in zip(seconds, laws, strict=True):
            names = {**_suffixed(first, "1"), **_suffixed(second, "2")}
            if value_of(q.before, names) is not True:
                continue

            def related(one: Outputs, two: Outputs, names: Mapping[str, Value] = names) -> bool:
                if one.fault or two.fault:
                    return one == two
                return value_of(q.after, {**names, "result1": _result(one), "result2": _result(two)}) is True

            if find_coupling(law, other, related, q.eps, q.delta) is None:
                return first, second
    return None


def _suffixed(given: Mapping[str, Symbolic], ending: str) -> dict[str, Value]:
    return {name + ending: value for name, value in given.items()}  # type: ignore[misc]


def _result(outcome: Outputs) -> Value:
    return outcome.emitted if outcome.returned is None else outcome.returned
