"""What occurs in a program."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.verbs.prove.inside import expressions, names_in, statements
from discreet.verbs.prove.syntax import Call, Program, Sample


def distributions(program: Program, others: Mapping[str, Program]) -> set[str]:
    """Which distributions are drawn from, by the programs that are called too."""
    found: set[str] = set()
    for one in statements(program.body):
        if isinstance(one, Sample):
            found.add(one.distribution)
        if isinstance(one, Call) and one.program in others:
            found |= distributions(others[one.program], others)
    return found


def mentions_eps(program: Program, others: Mapping[str, Program]) -> bool:
    """Whether ``eps`` matters to a program, its claim, or the programs it calls."""
    found = [program.epsilon, program.delta, program.adjacent.by, *program.assumes]
    for one in statements(program.body):
        found += expressions(one)
        if isinstance(one, Call) and one.program in others and mentions_eps(others[one.program], others):
            return True
    return any(name.name == "eps" for one in found for name in names_in(one))
