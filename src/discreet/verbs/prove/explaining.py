"""A proof in words: what is coupled with what at each draw, what that costs, and what stays true in loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import BadProgram
from discreet.verbs.prove.certificate import Alignment, Coupling
from discreet.verbs.prove.costs import cost_text, factor_text, is_product
from discreet.verbs.prove.inside import statements
from discreet.verbs.prove.kernel.layout import Unsupported, lay_out
from discreet.verbs.prove.reading import read_expression
from discreet.verbs.prove.syntax import Call, Emit, Expression, Item, Name, Operation, Program, Return, Sample
from discreet.verbs.prove.texts import written
from discreet.verbs.prove.writing import claim_text


@dataclass(frozen=True)
class Row:
    """One draw of a proof, in words; ``cost`` is what one draw costs."""

    sample: str
    line: int
    scale: str
    shift: str
    cost: str


def rows(program: Program, alignment: Alignment, others: Mapping[str, Program]) -> tuple[Row, ...]:
    """The draws of a proof, in the order of the program."""
    words = _words(program, alignment, others)
    draws = [one for one in statements(program.body) if isinstance(one, Sample | Call)]
    return tuple(_row(one, draws[one.number - 1], words, others) for one in alignment.couplings)


def invariants(program: Program, alignment: Alignment, others: Mapping[str, Program]) -> tuple[tuple[str, ...], ...]:
    """What stays true in each loop."""
    words = _words(program, alignment, others)
    return tuple(tuple(_invariant(text, words) for text in one) for one in alignment.invariants)


def _row(coupling: Coupling, draw: Sample | Call, words: Mapping[str, str], others: Mapping[str, Program]) -> Row:
    if isinstance(draw, Call):
        by = f"{draw.program}, as proved"
        return Row(coupling.name, draw.at.line, by, "the same result", claim_text(others[draw.program]))
    shift, cost = _said(coupling.shift, words), _cost(coupling, words)
    scale = coupling.scale
    match draw.distribution:
        case "Bernoulli":
            scale, shift = "", {"false": "the same side", "true": "the other side"}.get(shift, f"turned if {shift}")
        case "Uniform":
            scale, cost = "", "0"
            shift = "the same value" if shift == "0" else f"moved by {shift}"
        case "ExpMech":
            scale, shift, cost = f"weight {written(draw.arguments[1])}", "the same index", "by the scores' change"
        case "Gaussian":
            shift = "the same value" if shift == "0" else shift
    return Row(coupling.name, draw.at.line, scale, shift, cost)


def _cost(coupling: Coupling, words: Mapping[str, str]) -> str:
    """In short ``|shift|`` where the charge is just the size of the shift."""
    try:
        charge, shift = read_expression(coupling.charge), read_expression(coupling.shift)
    except BadProgram:
        return coupling.charge
    if coupling.distribution in ("Bernoulli", "Uniform", "ExpMech"):
        return _text(charge, words)
    if coupling.distribution == "Gaussian":  # (difference of centres)² / (2 sigma²), in zCDP
        price, sigma = f"({coupling.charge})", f"({coupling.scale})"
        return f"rho = {cost_text(f'{price} * {price}', f'2 * {sigma} * {sigma}')}"
    if not is_product(charge) and _bare(charge) == _bare(shift):
        return f"|shift| * {factor_text(coupling.scale)}"
    return cost_text(coupling.charge, coupling.scale)


def _bare(found: Expression) -> Expression:
    """An expression without the ``abs`` in it."""
    if isinstance(found, Operation):
        arguments = tuple(_bare(argument) for argument in found.arguments)
        return arguments[0] if found.operator == "abs" else Operation(found.operator, arguments)
    return found


def _words(program: Program, alignment: Alignment, others: Mapping[str, Program]) -> dict[str, str]:
    """What the proof's own names stand for."""
    found = {f"cost{one.number}''": f"charged({one.name})" for one in alignment.couplings}
    try:
        layout = lay_out(program, others)
    except Unsupported:
        return found
    found |= {f"branch{step.number}''": f"‹line {step.statement.at.line} holds›" for step, _ in layout.branches}
    lines = Counter(step.statement.at.line for step, _ in layout.outputs)
    for step, _ in layout.outputs:
        line, shown = step.statement.at.line, step.statement
        what = f"{written(shown.value)} " if lines[line] > 1 and isinstance(shown, Emit | Return) else ""
        found[f"shown{step.number}''"] = f"‹{what}shown at line {line}›"
    return found | {"where''": "‹the place that differs›", "which''": "‹the input that differs›"}


def _invariant(text: str, words: Mapping[str, str]) -> str:
    """``not a or b`` is said as ``b, when a``."""
    try:
        found = read_expression(text)
    except BadProgram:
        return text
    match found:
        case Operation("or", (Operation("not", (when,)), then)):
            return f"{_text(then, words)}, when {_text(when, words)}"
    return _text(found, words)


def _said(text: str, words: Mapping[str, str]) -> str:
    try:
        return _text(read_expression(text), words)
    except BadProgram:
        return text


def _text(found: Expression, words: Mapping[str, str]) -> str:
    return written(_replaced(_upright(found), words))


def _upright(found: Expression) -> Expression:
    """``0 if not c else x`` is ``x if c else 0``."""
    if isinstance(found, Operation):
        arguments = tuple(_upright(argument) for argument in found.arguments)
        match found.operator, arguments:
            case "if", (Operation("not", (condition,)), yes, no):
                return Operation("if", (condition, no, yes))
        return Operation(found.operator, arguments)
    return found


def _replaced(found: Expression, words: Mapping[str, str]) -> Expression:
    match found:
        case Name(name):
            return Name(words.get(name, name))
        case Operation(operator, arguments):
            return Operation(operator, tuple(_replaced(argument, words) for argument in arguments))
        case Item(of, index):
            return Item(of, _replaced(index, words))
    return found
