"""Public names of a package, imported at first use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Lazy = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_names(package: str) -> Lazy:
    """``__getattr__``, ``__dir__`` and ``__all__`` of ``package``, as its stub ``__init__.pyi`` declares them.

    The stub is the one list of the package's names: editors and type checkers read it, and so does this. It consists
    of ``from module import name as name`` lines (``from package import module as module`` for a module).
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    lines = [line for line in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(line, ast.ImportFrom)]
    homes = {name.asname: str(line.module) for line in lines for name in line.names if name.asname}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"{package} has no {name!r}")
        home = sys.modules[package] if homes[name] == package else import_module(homes[name])
        value = vars(home)[name] if name in vars(home) else import_module(f"{homes[name]}.{name}")
        setattr(sys.modules[package], name, value)
        for other in (other for other, its in homes.items() if its == homes[name] and other in vars(home)):
            setattr(sys.modules[package], other, vars(home)[other])  # a module of that name would stand in its place
        return value

    return get, lambda: sorted(homes), sorted(homes)
