"""Modules of this package that are imported at first use: public names, and members of the catalogue."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
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
        return value

    return get, lambda: sorted(homes), sorted(homes)


def declarations(family: str, packages: Sequence[str]) -> Mapping[str, str]:
    """The names that modules of packages of discreet declare in a family, each with its module; none is imported.

    A declaration is ``declare(FAMILY, "name", …`` or ``register(FAMILY, "name", …`` in a module's source. Folders that
    were added to a package's ``__path__`` count.
    """
    found: dict[str, str] = {}
    for package in packages:
        for folder in getattr(import_module(package), "__path__", [None]):
            found |= _declared(family, package, folder)
    return found


def imported(name: str) -> Any:
    """A module that ``declarations`` found, or a class in one that a family names."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last) if last[:1].isupper() else import_module(name)


@lru_cache(maxsize=256)
def _declared(family: str, package: str, folder: str | None) -> dict[str, str]:
    """What is declared in a folder of a package or, without a folder, in the module itself."""
    pattern = re.compile(rf'^@?(?:declare|register)\(\s*{family},\s*"([^"]+)"', re.MULTILINE)
    if folder is None:
        source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
        return dict.fromkeys(pattern.findall(source), package)
    found: dict[str, str] = {}
    for file in sorted(Path(folder).rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        module = ".".join((package, *parts)).removesuffix(".__init__")
        found |= dict.fromkeys(pattern.findall(file.read_text(encoding="utf-8")), module)
    return found
