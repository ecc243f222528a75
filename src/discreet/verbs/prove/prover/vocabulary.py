"""Which shifts are worth trying at a draw, and in which cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from discreet.verbs.prove.inside import parts, statements
from discreet.verbs.prove.kernel.layout import Kind, Layout, Step, assigned, kind_of, names
from discreet.verbs.prove.prover.following import (
    ZERO,
    Follow,
    counters,
    difference,
    differing,
    linear,
    negated,
    op,
    tells,
)
from discreet.verbs.prove.syntax import (
    Assign,
    Emit,
    Expression,
    If,
    Name,
    Number,
    Operation,
    Return,
    Sample,
    Truth,
    While,
)
from discreet.verbs.prove.texts import written


@dataclass(frozen=True)
class Slot:
    """A draw in one case: the shifts to choose from, the plainest first, each with how plain it is."""

    site: int
    when: Expression
    words: tuple[Expression, ...]
    weights: tuple[int, ...]

    def narrowed(self) -> Slot:
        """The same with no shift at all where the draw is none that is singled out: there are many of those."""
        return replace(self, words=self.words[:1], weights=self.weights[:1]) if _usual(self.when) else self


def _usual(when: Expression) -> bool:
    match when:
        case Operation("and", (left, right)):
            return _usual(left) and _usual(right)
        case Operation("not"):
            return True
    return False


# -- words ------------------------------------------------------------------------------------------------------------


def slots(layout: Layout, site: Step, level: tuple[int, ...]) -> list[Slot]:
    """The cases of a draw of Laplace, DLaplace, Exp or Uniform kind, with words."""
    follow = Follow(layout, site, level)
    statement = site.statement
    assert isinstance(statement, Sample)  # noqa: S101
    weighed = _turns(layout, follow) if statement.distribution == "Uniform" else _words(layout, follow)
    if statement.distribution in ("DLaplace", "Uniform"):
        kinds = {**layout.kinds, **{f"{name}'": kind for name, kind in layout.kinds.items()}}
        kinds |= {
            f"{given.name}'[]": layout.kinds[f"{given.name}[]"]
            for given in layout.program.inputs
            if f"{given.name}[]" in kinds
        }
        weighed = {word: weight for word, weight in weighed.items() if _is_int(word, kinds)}
    ordered = sorted(weighed.items(), key=lambda pair: pair[1])[:40]
    words, weights = tuple(word for word, _ in ordered), tuple(weight for _, weight in ordered)
    return [Slot(site.number, when, words, weights) for when in cases(layout, follow)]


def _is_int(word: Expression, kinds: Mapping[str, Kind]) -> bool:
    return kind_of(word, kinds) == "int"


def _words(layout: Layout, follow: Follow) -> dict[Expression, int]:
    found: dict[str, tuple[Expression, int]] = {}

    def add(word: Expression, weight: int) -> None:
        text = written(word)
        if text not in found or found[text][1] > weight:
            found[text] = (word, weight)

    changing = differing(layout)
    basis: dict[str, Expression] = {}
    add(ZERO, 0)
    for met in follow.met:
        sum_ = linear(met)
        factor = sum_.pop(Name(follow.draw), Fraction(0))
        if not factor or any(follow.draw in names(part) for part in sum_):
            continue
        rest = {part: -times / factor for part, times in sum_.items() if times and names(part) & changing}
        if any("?" in names(part) for part in rest):
            rest = {part: times for part, times in rest.items() if "?" not in names(part)}
        word: Expression = ZERO
        for part, times in rest.items():
            change = difference(layout, part)
            basis.setdefault(written(change), change)
            scaled = change if times == 1 else negated(change) if times == -1 else op("*", Number(times), change)
            word = scaled if word == ZERO else op("+", word, scaled)
        add(word, 1)
    _combine(layout, list(basis.values())[:4], add)
    return dict(found.values())


def _combine(layout: Layout, basis: list[Expression], add: object) -> None:
    assert callable(add)  # noqa: S101
    by = layout.program.adjacent.by
    steps: list[Expression] = [] if layout.program.adjacent.kind == "any" else [by, op("neg", by)]
    for step in steps:
        add(step, 1)
        add(_twice(step), 3)
    for change in basis:
        for signed in (change, negated(change)):
            add(signed, 2)
            for step in steps:
                add(op("+", step, signed), 2)
    for one, two in combinations(basis, 2):
        for left in (one, negated(one)):
            for right in (two, negated(two)):
                add(op("+", left, right), 3)


def _twice(step: Expression) -> Expression:
    match step:
        case Number(value):
            return Number(2 * value)
        case Operation("neg", (Number(value),)):
            return Number(-2 * value)
    return op("*", Number(Fraction(2)), step)


def _turns(layout: Layout, follow: Follow) -> dict[Expression, int]:
    """For a uniform draw: not at all, or by the bit in which what it is added to differs."""
    found: dict[Expression, int] = {ZERO: 0}
    for met in follow.met:
        for part in parts(met):
            if isinstance(part, Operation) and part.operator == "xor":
                for argument in part.arguments:
                    change = difference(layout, argument)
                    assert isinstance(change, Operation)  # noqa: S101
                    if follow.draw not in names(argument) and "?" not in names(argument):
                        found.setdefault(op("xor", *change.arguments), 1)
    return found


# -- cases ------------------------------------------------------------------------------------------------------------


def cases(layout: Layout, follow: Follow) -> list[Expression]:
    """The cases of a draw: ways through the visible branches it decides, and whether its round is the one shown."""
    levels = {step.number: at for step, at in layout.branches}
    found = _ways(layout.steps, {n for n in follow.branches if levels[n] == follow.level[: len(levels[n])]})
    rounds = counters(layout, follow.level[-1]) if follow.level else []
    for step, at in layout.outputs:
        kind = layout.shown(step)
        if at != follow.level[: len(at)] or kind not in ("int", "bool") or not _reached(layout, follow.draw, step):
            continue
        shown = Name(f"shown{step.number}''")
        if kind == "bool" and at == follow.level:
            found = [[*way, split] for way in found for split in (shown, op("not", shown))]
        elif rounds and _singles_out(layout, follow, step, at):
            here = op("==", Name(rounds[0]), shown)
            found = [[*way, split] for way in found for split in (here, op("not", here))]
    return [_all(way) for way in found[:8]]


def ties(layout: Layout) -> dict[int, list[Expression]]:
    """What continuous draws are assumed to miss: where several outputs each single out a round by comparing them."""
    found = {}
    for site, level in layout.sites:
        statement = site.statement
        if isinstance(statement, Sample) and statement.distribution in ("Laplace", "Exp") and level:
            follow = Follow(layout, site, level)
            loop = layout.loops[level[-1] - 1]
            outside = [step for step, at in layout.outputs if _singles_out(layout, follow, step, at)]
            if sum(tells(step, loop) for step in outside) > 1:
                found[site.number] = follow.ties()
    return found


def _singles_out(layout: Layout, follow: Follow, step: Step, at: tuple[int, ...]) -> bool:
    around = at == follow.level[: len(at)] and len(at) < len(follow.level)
    return around and layout.shown(step) == "int" and _reached(layout, follow.draw, step)


def _reached(layout: Layout, draw: str, output: Step) -> bool:
    """Whether a draw has a say in what is shown, by values or by hidden branches."""
    found = {draw}
    while True:
        before = len(found)
        for statement in statements(layout.program.body):
            match statement:
                case Assign(name, value) if names(value) & found:
                    found.add(name)
                case If(condition, then, other) if names(condition) & found:
                    found |= assigned((*then, *other))
        if len(found) == before:
            break
    shown = output.statement
    return isinstance(shown, Emit | Return) and bool(names(shown.value) & found)


def _all(way: list[Expression]) -> Expression:
    found: Expression = Truth(True)
    for condition in way:
        found = condition if found == Truth(True) else op("and", found, condition)
    return found


def _ways(steps: Iterable[Step], wanted: set[int]) -> list[list[Expression]]:
    """Every way through the wanted branches."""
    found: list[list[Expression]] = [[]]
    for step in steps:
        if isinstance(step.statement, While):
            inside = _ways(step.then, wanted)
        elif isinstance(step.statement, If) and step.number:
            then, other = _ways(step.then, wanted), _ways(step.other, wanted)
            if step.number in wanted:
                name = Name(f"branch{step.number}''")
                inside = [[name, *way] for way in then] + [[op("not", name), *way] for way in other]
            else:
                inside = then if len(then) > 1 else other
        else:
            continue
        found = [way + more for way in found for more in inside]
    return found
