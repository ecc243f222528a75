"""The same programs as Python functions: read from their source, never run.

    @private(adjacent="all by 1", claim="eps")
    def above(q: Private[list[float]], T: float):
        rho = Laplace(2 / eps)
        for i in range(len(q)):
            eta = Laplace(4 / eps)
            yield q[i] + eta >= T + rho

A draw is a call of a distribution's name, ``yield`` emits, ``assert`` at the beginning assumes, ``len`` is the size of
a list, and ``r = r + [x]`` makes it longer (``append`` and ``r += [x]`` would also change other names of the same list
and are refused). ``for i in range(…)`` is a loop that counts, where nothing in it changes the counter or the limit and
nothing outside uses the counter. Whatever else Python has is refused, and so is what would make a name something else
than it looks like: a second decorator, a name bound twice, a function from around it (``shadows.py``).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from discreet.errors import BadInput, BadProgram
from discreet.verbs.prove.functions import ALONE, FunctionReader, last_name
from discreet.verbs.prove.shadows import called, outside, rebound
from discreet.verbs.prove.syntax import At, Program

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., object])
Private = Annotated[_T, "private"]
"""Marks an input that is to be protected: ``Private[list[float]]``."""

_MARK = "__discreet_claim__"


def private(*, adjacent: str, claim: str, delta: str = "0") -> Callable[[_F], _F]:
    """Mark a function as a program with a claim, to be checked when somebody asks: ``prove.check(function)``.

    ``adjacent`` says which inputs are neighbours (``"all by 1"``), ``claim`` the epsilon. The function stays as it is.
    """

    def mark(function: _F) -> _F:
        setattr(function, _MARK, (adjacent, claim, delta))
        return function

    return mark


def is_marked(found: object) -> bool:
    """Whether something is a function that ``private`` marked."""
    return callable(found) and hasattr(found, _MARK)


def read_function(function: Callable[..., Any]) -> tuple[tuple[Program, ...], str]:
    """The programs that a marked function stands for: those it calls first, itself last; and its source."""
    found: dict[Callable[..., Any], Program] = {}
    text = _read(function, found, ())
    return tuple(found.values()), text


def read_module(text: str) -> tuple[Program, ...]:
    """The marked functions of a Python file, in their order; the file is parsed and never run."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        at = At(error.lineno or 1, error.offset or 1)
        raise BadProgram(f"This is not Python: {error.msg}.", at, (error.text or "").rstrip("\n")) from None
    claims = [(node, _claimed(node, text)) for node in tree.body if isinstance(node, ast.FunctionDef)]
    marked = [(node, claimed) for node, claimed in claims if claimed is not None]
    if not marked:
        raise BadProgram(
            "No function is marked here.", At(1, 1), hint='Mark one: @private(adjacent="one", claim="eps").'
        )
    if again := rebound(tree, [node for node, _ in marked]):
        node, name = again
        line = getattr(node, "lineno", 1)
        raise BadProgram(
            "Everything is imported here, so that no name is sure." if name == "*" else f"{name} is bound anew here.",
            At(line, getattr(node, "col_offset", 0) + 1),
            text.splitlines()[line - 1],
            hint="What a program calls must be what it looks like: one meaning for each name of a file.",
        )
    found: dict[str, Program] = {}
    for node, claimed in marked:
        found[node.name] = FunctionReader(node, text, 0).program(*claimed, frozenset(found))
    return tuple(found.values())


def _claimed(node: ast.FunctionDef, text: str) -> tuple[str, str, str] | None:
    """What the decorator says, if there is one."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and last_name(mark.func) == "private":
            said = {one.arg: one.value.value for one in mark.keywords if isinstance(one.value, ast.Constant)}
            adjacent, claim, delta = said.get("adjacent"), said.get("claim"), said.get("delta", "0")
            if isinstance(adjacent, str) and isinstance(claim, str) and isinstance(delta, str):
                return adjacent, claim, delta
            line = text.splitlines()[mark.lineno - 1]
            raise BadProgram("adjacent and claim are texts.", At(mark.lineno, mark.col_offset + 1), line)
    return None


def _read(
    function: Callable[..., Any], found: dict[Callable[..., Any], Program], callers: tuple[Callable[..., Any], ...]
) -> str:
    if not is_marked(function):
        hint = 'Mark it: @prove.private(adjacent="one", claim="eps").'
        raise BadInput(f"Nothing is claimed of {getattr(function, '__name__', function)}.", hint=hint)
    if hasattr(function, "__wrapped__"):
        raise BadInput("This function is wrapped around another: what is run is not what is read.", hint=ALONE)
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise BadInput("The source of the function cannot be read.", hint="Write it in a file.") from None
    source = "".join(lines)
    text = textwrap.dedent(source)
    tree = ast.parse(text).body[0]
    if not isinstance(tree, ast.FunctionDef) or not inspect.isfunction(function):
        raise BadInput("A program is a function that begins with def.")
    if strange := outside(function):
        raise BadInput(f"{strange} is something else where {tree.name} stands.", hint="Give that another name.")
    reader = FunctionReader(tree, text, max(start, 1) - 1)
    known: set[str] = set()
    for name in dict.fromkeys(called(tree)):
        if name in function.__code__.co_freevars:
            raise BadInput(f"{name} is from a function around {tree.name}.", hint="Call marked functions of the file.")
        other: Any = function.__globals__.get(name)
        if is_marked(other):
            if other in (*callers, function):
                raise BadInput(f"{name} calls itself.", hint="A program may call those above it.")
            if other not in found:
                _read(other, found, (*callers, function))
            if found[other].name != name:
                raise BadInput(f"{name} is another name of {found[other].name}.", hint="Call it by its own name.")
            known.add(name)
    if any(program.name == tree.name for program in found.values()):
        raise BadInput(f"Two functions are called {tree.name}.", hint="Give one of them another name.")
    adjacent, claim, delta = getattr(function, _MARK)
    found[function] = reader.program(adjacent, claim, delta, frozenset(known))
    return "\n" * reader.before + text
