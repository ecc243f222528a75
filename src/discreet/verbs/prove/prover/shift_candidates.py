"""Candidate shifts of draws, by case, and candidate couplings of coins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations

from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS, Pairing
from discreet.verbs.prove.kernel.exp_bounds import log_above
from discreet.verbs.prove.kernel.layout import NumberedStep, ProgramLayout, assigned_variables, kind_of, read_variables
from discreet.verbs.prove.prover.dataflow import (
    ZERO,
    DrawFlow,
    counters,
    difference,
    differing_variables,
    linear_parts,
    negate,
    operation,
    shows_loop_variable,
)
from discreet.verbs.prove.syntax import expressions, statements, subexpressions
from discreet.verbs.prove.unparse import expression_text


@dataclass(frozen=True)
class ShiftSlot:
    """A draw in one case: candidate shifts with weights, the simplest first."""

    site: int
    when: syntax.Expression
    words: tuple[syntax.Expression, ...]
    weights: tuple[int, ...]

    def narrowed(self) -> ShiftSlot:
        """The slot without shifts, if its draw is not a singled-out one, of which there are many."""
        return replace(self, words=self.words[:1], weights=self.weights[:1]) if _is_default_case(self.when) else self


def _is_default_case(when: syntax.Expression) -> bool:
    match when:
        case syntax.Operation("and", (left, right)):
            return _is_default_case(left) and _is_default_case(right)
        case syntax.Operation("not"):
            return True
    return False


# -- words ------------------------------------------------------------------------------------------------------------


def shift_slots(layout: ProgramLayout, site: NumberedStep, level: tuple[int, ...]) -> list[ShiftSlot]:
    """The slots of a draw that is shifted or rotated, one for each case."""
    follow = DrawFlow(layout, site, level)
    statement = site.statement
    assert isinstance(statement, syntax.Sample)  # noqa: S101
    declared = DISTRIBUTIONS[statement.distribution]
    weighed = _rotation_words(layout, follow) if declared.pairing is Pairing.ROTATE else _shift_words(layout, follow)
    if not declared.continuous:
        kinds = {**layout.kinds, **{f"{name}'": kind for name, kind in layout.kinds.items()}}
        kinds |= {
            f"{given.name}'[]": layout.kinds[f"{given.name}[]"]
            for given in layout.program.inputs
            if f"{given.name}[]" in kinds
        }
        weighed = {word: weight for word, weight in weighed.items() if kind_of(word, kinds) == "int"}
    ordered = sorted(weighed.items(), key=lambda pair: pair[1])[:40]
    words, weights = tuple(word for word, _ in ordered), tuple(weight for _, weight in ordered)
    return [ShiftSlot(site.number, when, words, weights) for when in draw_cases(layout, follow)]


def _shift_words(layout: ProgramLayout, follow: DrawFlow) -> dict[syntax.Expression, int]:
    words: dict[str, tuple[syntax.Expression, int]] = {}

    def add(word: syntax.Expression, weight: int) -> None:
        text = expression_text(word)
        if text not in words or words[text][1] > weight:
            words[text] = (word, weight)

    changing = differing_variables(layout)
    basis: dict[str, syntax.Expression] = {}
    add(ZERO, 0)
    for met in follow.met:
        sum_ = linear_parts(met)
        factor = sum_.pop(syntax.Name(follow.draw), Fraction(0))
        if not factor or any(follow.draw in read_variables(part) for part in sum_):
            continue
        rest = {part: -times / factor for part, times in sum_.items() if times and read_variables(part) & changing}
        if any("?" in read_variables(part) for part in rest):
            rest = {part: times for part, times in rest.items() if "?" not in read_variables(part)}
        word: syntax.Expression = ZERO
        for part, times in rest.items():
            change = difference(layout, part)
            basis.setdefault(expression_text(change), change)
            scaled = (
                change
                if times == 1
                else negate(change)
                if times == -1
                else operation("*", syntax.Number(times), change)
            )
            word = scaled if word == ZERO else operation("+", word, scaled)
        add(word, 1)
    _combine(layout, list(basis.values())[:4], add)
    return dict(words.values())


def _combine(layout: ProgramLayout, basis: list[syntax.Expression], add: object) -> None:
    assert callable(add)  # noqa: S101
    by = layout.program.adjacent.by
    steps: list[syntax.Expression] = [] if layout.program.adjacent.kind == "any" else [by, operation("neg", by)]
    for step in steps:
        add(step, 1)
        add(_doubled(step), 3)
    for change in basis:
        for signed in (change, negate(change)):
            add(signed, 2)
            for step in steps:
                add(operation("+", step, signed), 2)
    for one, two in combinations(basis, 2):
        for left in (one, negate(one)):
            for right in (two, negate(two)):
                add(operation("+", left, right), 3)


def _doubled(step: syntax.Expression) -> syntax.Expression:
    match step:
        case syntax.Number(value):
            return syntax.Number(2 * value)
        case syntax.Operation("neg", (syntax.Number(value),)):
            return syntax.Number(-2 * value)
    return operation("*", syntax.Number(Fraction(2)), step)


def _rotation_words(layout: ProgramLayout, follow: DrawFlow) -> dict[syntax.Expression, int]:
    """For a uniform draw: not at all, or by the bit in which what it is added to differs."""
    words: dict[syntax.Expression, int] = {ZERO: 0}
    for met in follow.met:
        for part in subexpressions(met):
            if isinstance(part, syntax.Operation) and part.operator == "xor":
                for argument in part.arguments:
                    change = difference(layout, argument)
                    assert isinstance(change, syntax.Operation)  # noqa: S101
                    if follow.draw not in read_variables(argument) and "?" not in read_variables(argument):
                        words.setdefault(operation("xor", *change.arguments), 1)
    return words


# -- cases ------------------------------------------------------------------------------------------------------------


def draw_cases(layout: ProgramLayout, follow: DrawFlow) -> list[syntax.Expression]:
    """The cases of a draw: ways through the visible branches it decides, and whether its round is the one shown."""
    levels = {step.number: at for step, at in layout.branches}
    outcomes = _branch_outcomes(
        layout.steps, {n for n in follow.branches if levels[n] == follow.level[: len(levels[n])]}
    )
    rounds = counters(layout, follow.level[-1]) if follow.level else []
    for step, at in layout.outputs:
        kind = layout.shown(step)
        if at != follow.level[: len(at)] or kind not in ("int", "bool") or not _influences(layout, follow.draw, step):
            continue
        shown = syntax.Name(f"shown{step.number}''")
        if kind == "bool" and at == follow.level:
            outcomes = [[*way, split] for way in outcomes for split in (shown, operation("not", shown))]
        elif rounds and _selects_round(layout, follow, step, at):
            here = operation("==", syntax.Name(rounds[0]), shown)
            outcomes = [[*way, split] for way in outcomes for split in (here, operation("not", here))]
    return [_conjunction(way) for way in outcomes[:8]]


def ties(layout: ProgramLayout) -> dict[int, list[syntax.Expression]]:
    """What continuous draws are assumed to miss: where several outputs each single out a round by comparing them."""
    misses = {}
    for site, level in layout.sites:
        statement = site.statement
        if isinstance(statement, syntax.Sample) and DISTRIBUTIONS[statement.distribution].continuous and level:
            follow = DrawFlow(layout, site, level)
            loop = layout.loops[level[-1] - 1]
            outside = [step for step, at in layout.outputs if _selects_round(layout, follow, step, at)]
            if sum(shows_loop_variable(step, loop) for step in outside) > 1:
                misses[site.number] = follow.ties()
    return misses


def _selects_round(layout: ProgramLayout, follow: DrawFlow, step: NumberedStep, at: tuple[int, ...]) -> bool:
    around = at == follow.level[: len(at)] and len(at) < len(follow.level)
    return around and layout.shown(step) == "int" and _influences(layout, follow.draw, step)


def _influences(layout: ProgramLayout, draw: str, output: NumberedStep) -> bool:
    """Whether a draw influences an output, by values or by hidden branches."""
    reached = {draw}
    while True:
        before = len(reached)
        for statement in statements(layout.program.body):
            match statement:
                case syntax.Assign(name, value) if read_variables(value) & reached:
                    reached.add(name)
                case syntax.If(condition, then, other) if read_variables(condition) & reached:
                    reached |= assigned_variables((*then, *other))
        if len(reached) == before:
            break
    shown = output.statement
    return isinstance(shown, syntax.Emit | syntax.Return) and bool(read_variables(shown.value) & reached)


def _conjunction(way: list[syntax.Expression]) -> syntax.Expression:
    conjunction: syntax.Expression = syntax.Truth(True)
    for condition in way:
        conjunction = condition if conjunction == syntax.Truth(True) else operation("and", conjunction, condition)
    return conjunction


def _branch_outcomes(steps: Iterable[NumberedStep], wanted: set[int]) -> list[list[syntax.Expression]]:
    """All outcomes of the wanted branches."""
    outcomes: list[list[syntax.Expression]] = [[]]
    for step in steps:
        if isinstance(step.statement, syntax.While):
            inside = _branch_outcomes(step.then, wanted)
        elif isinstance(step.statement, syntax.If) and step.number:
            then, other = _branch_outcomes(step.then, wanted), _branch_outcomes(step.other, wanted)
            if step.number in wanted:
                name = syntax.Name(f"branch{step.number}''")
                inside = [[name, *way] for way in then] + [[operation("not", name), *way] for way in other]
            else:
                inside = then if len(then) > 1 else other
        else:
            continue
        outcomes = [way + more for way in outcomes for more in inside]
    return outcomes


def coin_couplings(
    layout: ProgramLayout, site: NumberedStep, level: tuple[int, ...]
) -> list[tuple[syntax.Expression, syntax.Expression]]:
    """Candidate couplings of a coin, each with its charge."""
    draw = site.statement
    assert isinstance(draw, syntax.Sample)  # noqa: S101
    chances = _possible_chances(draw.arguments[0])
    couplings: list[tuple[syntax.Expression, syntax.Expression]] = []
    apart = [
        operation("!=", *change.arguments)
        for change in _private_differences(layout, level)
        if isinstance(change, syntax.Operation)
    ]
    if chances is None or len(chances) == 1:
        couplings.append((syntax.Truth(False), ZERO))
    if chances is None or min(chances) <= 0 or max(chances) >= 1:
        return couplings
    if len(chances) > 1:
        sides = sorted(chances | {1 - chance for chance in chances})
        cost = syntax.Number(max(_log(p / q) for p, q in permutations(sides, 2)))
        couplings += [(syntax.Truth(False), syntax.Operation("if", (when, cost, ZERO))) for when in apart]
        return couplings
    [chance] = chances
    cost = syntax.Number(_log(max(chance / (1 - chance), (1 - chance) / chance)))
    couplings += [(when, syntax.Operation("if", (when, cost, ZERO))) for when in apart]
    return couplings


def _log(ratio: Fraction) -> Fraction:
    return log_above(max(ratio, Fraction(1)))


def _possible_chances(chance: syntax.Expression) -> set[Fraction] | None:
    """The numbers that a chance may be; None if it is no number."""
    match chance:
        case syntax.Number(value):
            return {value}
        case syntax.Operation("/", (syntax.Number(over), syntax.Number(under))) if under:
            return {over / under}
        case syntax.Operation("if", (_, then, other)):
            first, second = _possible_chances(then), _possible_chances(other)
            return None if first is None or second is None else first | second
    return None


def _private_differences(layout: ProgramLayout, level: tuple[int, ...]) -> list[syntax.Expression]:
    """What is private and may be read at the draw: values, and the items of lists that its round reads."""
    private = {given.name for given in layout.program.private}
    private_parts: dict[str, syntax.Expression] = {}
    for statement in statements(layout.program.body):
        for expression in expressions(statement):
            for part in subexpressions(expression):
                if isinstance(part, syntax.Name) and part.name in private:
                    private_parts[part.name] = part
                if isinstance(part, syntax.Item) and part.of.name in private and level:
                    private_parts[repr(part)] = part
    return [difference(layout, part) for part in private_parts.values()]
