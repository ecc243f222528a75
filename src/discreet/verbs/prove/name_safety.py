"""Checks that the names of a Python file mean what they seem to.

A proof of a function is worth nothing if what it calls is another function when it is run: so a name that is bound
twice, or that hides a word of the language, is refused.

What cannot be seen by reading (``setattr`` on a module, ``globals()[…] = …``) is not looked for.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from discreet.verbs.prove.distributions import DISTRIBUTIONS

FUNCTIONS = {"min": 2, "max": 2, "abs": 1}
"""Functions of Python that the language has, and how many arguments each takes there."""
_PACKAGE = "discreet"
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def called_names(tree: ast.AST) -> Iterator[str]:
    """The plain names that are called somewhere in ``tree``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def find_shadowed_call(tree: ast.FunctionDef) -> str | None:
    """A name that a function calls and also binds itself, as an input or a variable."""
    own = {name for part in (*tree.body, tree.args) for name, _ in _bindings(part)}
    return min(own.intersection(called_names(tree)), default=None)


def find_rebinding(tree: ast.Module, marked: Sequence[ast.FunctionDef]) -> tuple[ast.AST, str] | None:
    """Where a file binds a marked function's name again, or gives a word of the language, or of discreet,
    another meaning; None if it does not."""
    own = {node.name for node in marked}
    marks = (mark.func for node in marked for mark in node.decorator_list if isinstance(mark, ast.Call))
    fixed = {*_fixed_words(), "*", "private"}
    fixed |= {_root(mark) for mark in marks if isinstance(mark, ast.Attribute) and mark.attr == "private"}
    seen: set[str] = set()
    for name, node in _bindings(tree):
        if name in own & seen or (name in fixed and not _imported_from_discreet(node)):
            return node, name
        seen.add(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) and (names := sorted((own | fixed).intersection(node.names))):
            return node, names[0]
    return None


def find_foreign_word(function: Callable[..., Any]) -> str | None:
    """A word of the language with another meaning in a function's module."""
    free, around = function.__code__.co_freevars, function.__globals__
    for name in sorted(_fixed_words().intersection((*free, *around))):
        home = getattr(around.get(name), "__module__", None) or ""
        own = name not in free and (around[name] is getattr(builtins, name, None) or home.split(".")[0] == _PACKAGE)
        if not own:
            return name
    return None


def _fixed_words() -> frozenset[str]:
    """Names that are called and have a fixed meaning."""
    return frozenset({*DISTRIBUTIONS, *FUNCTIONS, "len", "range"})


def _root(node: ast.expr) -> str:
    """The first part of a dotted name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imported_from_discreet(node: ast.AST) -> bool:
    """Whether a statement imports from discreet alone."""
    if isinstance(node, ast.Import):
        return all(one.name.split(".")[0] == _PACKAGE for one in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == _PACKAGE


def _bindings(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every name that gets a meaning in this scope, with where it does; not in the scopes inside it."""
    match tree:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name, tree
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, tree
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            yield name, tree
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name, tree
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for one in names:
                yield (one.asname or one.name.split(".")[0]), tree
    inner = (*tree.body, getattr(tree, "args", None)) if isinstance(tree, _SCOPES) else ()
    for node in ast.iter_child_nodes(tree):
        if node not in inner:
            yield from _bindings(node)
