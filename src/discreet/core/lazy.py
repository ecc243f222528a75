"""Public names of a package, imported at first use; and what is done when another package is imported."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
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


def after_import(module: str, then: Callable[[ModuleType], None]) -> None:
    """Call ``then`` with a module: now if it is imported, otherwise right after it is. It is not imported here."""
    if module in sys.modules:
        then(sys.modules[module])
    else:
        sys.meta_path.insert(0, _Watch(module, then))


class _Watch:
    """Watches for the import of one module, which is found as usual; that someone only looks for it changes nothing."""

    def __init__(self, module: str, then: Callable[[ModuleType], None]) -> None:
        self._module, self._then, self._looking = module, then, False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module's own spec, which calls ``then`` once the module is there; of other modules nothing."""
        if name != self._module or self._looking:
            return None
        self._looking = True
        try:
            spec = find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = partial(self._execute, spec.loader.exec_module)  # type: ignore[method-assign]
        return spec

    def _execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._then(module)
