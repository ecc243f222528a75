"""Programs that were right, made wrong in one place.

Every change here breaks a claim that is tight: less noise than the claim needs (in the limit of many or far-apart
values), neighbours further apart, a smaller claim, or something shown that nothing protects. So none may be proved.
Where the distance of neighbours is an input that neither the program nor its claim reads, the program is private
however far apart they are, and moving them further apart is left out. So is what is no program, since it would emit
values of two types.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import BadProgram
from discreet.verbs.prove.syntax import (
    INT,
    Adjacent,
    Assign,
    Emit,
    If,
    Item,
    ListOf,
    Name,
    Number,
    Operation,
    Range,
    Return,
    Sample,
    Size,
    Truth,
    While,
    expressions,
    names_in,
    statements,
)
from discreet.verbs.prove.typecheck import check_types

MOVED = ("Laplace", "DLaplace", "Exp")
ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))


def mutants(program):
    """Every mutant, with what was changed. What type the result has is left open, since more may be shown."""
    return [(what, one) for what, one in candidates(replace(program, result=None)) if accepted(one)]


def accepted(program):
    """Whether it is a program."""
    try:
        check_types(program, {})
    except BadProgram:
        return False
    return True


def candidates(program):
    for place, draw in enumerate(draws(program)):
        called = f"{draw.name} ({place + 1})"
        if draw.distribution in MOVED:
            for factor in (Fraction(1, 2), Fraction(3, 4), Fraction(1, 4)):
                yield f"scale of {called} times {factor}", at(program, place, scaled(draw, factor))
        if draw.distribution in (*MOVED, "Uniform", "Bernoulli"):
            yield f"no noise in {called}", at(program, place, dropped(draw))
        if draw.distribution in ("Exp", "Uniform", "Bernoulli") or (draw.arguments[1:] == (ZERO,)):
            yield f"{called} shown", at(program, place, (draw, Emit(Name(draw.name))))
        if (hoisted := once(program, place)) is not None:
            yield f"{called} drawn once", hoisted
    for factor in (Fraction(1, 2), Fraction(9, 10)):
        if program.epsilon != ZERO:
            yield f"claim times {factor}", replace(program, epsilon=times(program.epsilon, factor))
    if program.adjacent.kind != "any" and not any_distance(program):
        further = replace(program.adjacent, by=times(program.adjacent.by, 2))
        yield (
            "neighbours twice as far",
            replace(program, adjacent=further, inputs=tuple(map(unbounded, program.inputs))),
        )
    if program.adjacent.kind in ("one", "l1", "inc", "dec") and len(program.private) + lists(program) > 1:
        yield "all may change", replace(program, adjacent=Adjacent("all", program.adjacent.by))
    for given in program.private:
        yield from shown(program, given)
    yield from uncapped(program)


def draws(program):
    return [one for one in statements(program.body) if isinstance(one, Sample)]


def lists(program):
    return sum(isinstance(one.type, ListOf) for one in program.private)


def any_distance(program):
    """Whether neighbours may be as far apart as anybody likes: that distance is an input which nothing else reads."""
    inside = [part for one in statements(program.body) for part in expressions(one)]
    read = {name.name for part in (*inside, program.epsilon, program.delta) for name in names_in(part)}
    return isinstance(program.adjacent.by, Name) and program.adjacent.by.name not in {"eps", *read}


def unbounded(given):
    """Items that may change by more than 1."""
    return replace(given, type=ListOf(INT)) if given.type == ListOf(Range(0, 1)) else given


def times(expression, factor):
    return Operation("*", (Number(Fraction(factor)), expression))


def scaled(draw, factor):
    return (replace(draw, arguments=(times(draw.arguments[0], factor), *draw.arguments[1:])),)


def dropped(draw):
    """The centre instead of the draw."""
    centre = draw.arguments[1] if draw.distribution in ("Laplace", "DLaplace") else ZERO
    return (Assign(draw.name, Operation("<", (ONE, ZERO)) if draw.distribution == "Bernoulli" else centre, draw.at),)


def shown(program, given):
    """A private value shown, all of it, a bit of it, and in every round of the loops that read it."""
    value, guard = Name(given.name), None
    if isinstance(given.type, ListOf):
        value, guard = Item(Name(given.name), ZERO), Operation(">", (Size(Name(given.name)), ZERO))
    truth = str(given.type) == "bool"
    for what, leak in (
        (f"{given.name} shown", value),
        (f"a bit of {given.name} shown", value if truth else bit(program, value)),
    ):
        last = (If(guard, (Emit(leak),), ()),) if guard else (Emit(leak),)
        returns = program.body[-1:] if isinstance(program.body[-1], Return) else ()
        kept = program.body[: len(program.body) - len(returns)]
        yield what, replace(program, body=(*kept, *last, *returns))
    if guard:
        for loop in statements(program.body):
            item = next(iter(read(loop, given.name)), None) if isinstance(loop, While) else None
            if item is not None:
                inside = replace(loop, body=(Emit(bit(program, item)), *loop.body))
                yield f"{given.name} shown in a loop", replace(program, body=changed(program.body, loop, (inside,)))


def bit(program, value):
    """Whether a value is above 0: a truth, or 1 and 0 where numbers are emitted."""
    above = Operation(">", (value, ZERO))
    fits = accepted(replace(program, body=(Emit(Truth(True)), *program.body)))
    return above if fits else Operation("if", (above, ONE, ZERO))


def read(loop, name):
    """The items of a list that the loop itself reads by its counter."""
    limits = {one.name for one in names_in(loop.condition)}
    for one in loop.body:
        for expression in getattr(one, "arguments", ()) or (
            getattr(one, "value", None),
            getattr(one, "condition", None),
        ):
            if expression is not None:
                yield from (
                    item for item in inner(expression) if item.of.name == name and item.index in map(Name, limits)
                )


def inner(expression):
    from discreet.verbs.prove.syntax import subexpressions

    return [one for one in subexpressions(expression) if isinstance(one, Item)]


def uncapped(program):
    """A loop that goes on after its last hit."""
    for loop in statements(program.body):
        if isinstance(loop, While) and isinstance(loop.condition, Operation) and loop.condition.operator == "and":
            longer = replace(loop, condition=loop.condition.arguments[0])
            yield "no end to the hits", replace(program, body=changed(program.body, loop, (longer,)))


def at(program, place, instead):
    return replace(program, body=changed(program.body, draws(program)[place], instead))


def once(program, place):
    """A draw of a loop, made before the loop."""
    draw = draws(program)[place]
    for loop in statements(program.body):
        if isinstance(loop, While) and any(one is draw for one in statements(loop.body)):
            moved = replace(loop, body=changed(loop.body, draw, ()))
            return replace(program, body=changed(program.body, loop, (draw, moved)))
    return None


def changed(body, old, new):
    """``body`` with one statement (that very one) replaced."""
    found = []
    for one in body:
        if one is old:
            found += new
        elif isinstance(one, While):
            found.append(replace(one, body=changed(one.body, old, new)))
        elif isinstance(one, If):
            found.append(replace(one, then=changed(one.then, old, new), other=changed(one.other, old, new)))
        else:
            found.append(one)
    return tuple(found)
