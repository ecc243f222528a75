"""Mutation testing of one room: change one operator or constant at a time, and see whether the room's own tests notice.

    python -m tools.mutate budget --count 100 --seed 1

The room's tests run once under coverage, so that each mutant only has to run the tests that reach its line. Mutants
live in memory: no file is changed. A mutant that no test kills is printed as ALIVE; whether it changes behaviour at
all, and not only speed or a message, has to be judged by reading it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "discreet"
HEAVY = (
    "numpy",
    "pyarrow.parquet",
    "duckdb",
    "sqlglot",
    "numba",
    "scipy.special",
    "pandas",
    "rich.console",
)
"""Packages imported once, before a process is forked for each mutant."""
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
PATIENCE_CPU_SECONDS = 20
"""A mutant whose tests compute this long beyond three times what they took before is taken for an endless loop: killed.
Processor time, since on a busy machine tests may take any time of the clock."""
IDLE_SECONDS = 60
"""A mutant whose tests compute nothing for this long waits for something that never comes: killed."""


@dataclass(frozen=True)
class Mutant:
    """One changed node: the index of its node in a walk over the tree of its file."""

    path: Path
    line: int
    node: int | None
    """None: nothing is changed, and every test must pass."""
    before: str
    after: str
    at_import: bool = False
    """Whether it stands in no function: coverage sees it run under the one test that imports the file first."""

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before} -> {self.after}"


@dataclass
class Reach:
    """Tests by the lines they run, and seconds by test."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]


def main() -> None:
    """Parse the command line, run the mutants, print the score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("room", help="for example budget, noise, ask")
    parser.add_argument("--count", type=int, default=50, help="number of mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seconds", type=float, default=60, help="most CPU seconds of tests per mutant, the quickest first"
    )
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--skip", default="spark or postgres", help="tests left out, as for pytest -k")
    given = parser.parse_args()
    os.chdir(ROOT)
    folder = next(place for place in (SOURCE / given.room, SOURCE / "verbs" / given.room) if place.is_dir())
    files = [file for file in sorted(folder.rglob("*.py")) if file.name != "__init__.py" and given.only in str(file)]
    reach = _reach(given.room, folder, given.skip)
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    alive = []
    mutants = random.Random(given.seed).sample(  # noqa: S311
        found := [one for file in files for one in _mutants(file)], min(given.count, len(found))
    )
    if mutants and _try(replace(mutants[0], node=None), reach, given.seconds) in ("killed", "endless"):
        sys.exit("The tests fail even where nothing is changed: nothing can be concluded.")
    for number, mutant in enumerate(mutants, 1):
        verdict = _try(mutant, reach, given.seconds)
        print(f"{number:4} {verdict:10} {mutant}", flush=True)
        if verdict not in ("killed", "endless"):
            alive.append(f"{verdict:10} {mutant}")
    print(f"{given.room}: {len(mutants) - len(alive)} of {len(mutants)} killed, seed {given.seed}", *alive, sep="\n")


def _mutants(path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text())
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
        for inner in ast.walk(part)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    within = {id(inner) for one in functions for step in one.body for inner in ast.walk(step)}
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in annotations or not _mutable(node):
            continue
        before = ast.unparse(node)
        after = ast.unparse(_changed(ast.parse(path.read_text()), index))
        yield Mutant(path, node.lineno, index, before, after, id(node) not in within)  # type: ignore[attr-defined]


def _mutable(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[one]):
            return type(one) in SWAPS
        case ast.BinOp(op=one):
            return type(one) in SWAPS
        case ast.BoolOp():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Constant(value=value):
            return type(value) is int and value in (0, 1, 2)
    return False


def _changed(tree: ast.Module, index: int) -> ast.AST:
    """Change one node of a tree in place."""
    node: Any = next(node for number, node in enumerate(ast.walk(tree)) if number == index)
    match node:
        case ast.Compare():
            node.ops = [SWAPS[type(node.ops[0])]()]
        case ast.BinOp() | ast.BoolOp():
            node.op = SWAPS[type(node.op)]()
        case ast.UnaryOp():  # `not x` becomes `not not x`
            node.operand = ast.copy_location(ast.UnaryOp(ast.Not(), node.operand), node.operand)
        case ast.Constant():
            node.value += 1
    return node


def _reach(room: str, folder: Path, skip: str) -> Reach:
    """Which test runs which line, measured once for the present state of the room and its tests."""
    digest = hashlib.sha256(skip.encode())
    for file in sorted([*folder.rglob("*.py"), *(ROOT / "tests" / room).rglob("*.py")]):
        digest.update(str(file).encode() + file.read_bytes())
    kept = Path(tempfile.gettempdir()) / f"discreet-mutants-{room}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        print(f"Running tests/{room} once under coverage.", flush=True)
        child = os.fork()
        if not child:
            _measure(room, folder, skip, kept)
            os._exit(0)
        os.waitpid(child, 0)
    if not kept.exists():
        sys.exit(f"The tests of {room} fail without a mutant: run pytest tests/{room} first.")
    stored = json.loads(kept.read_text())
    lines = {file: {int(line): tests for line, tests in found.items()} for file, found in stored["lines"].items()}
    return Reach(lines, stored["seconds"])


def _measure(room: str, folder: Path, skip: str, kept: Path) -> None:
    import coverage

    meter = coverage.Coverage(data_file=None, include=[f"{folder}/*"], config_file=False)
    plugin = _Meter(meter)
    meter.start()
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", f"not ({skip})" if skip else "", f"tests/{room}"],
        [plugin],
    )
    meter.stop()
    if code != 0:
        return
    data = meter.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for file in data.measured_files():
        lines[file] = {line: [one for one in tests if one] for line, tests in data.contexts_by_lineno(file).items()}
    kept.write_text(json.dumps({"lines": lines, "seconds": plugin.seconds}))


class _Meter:
    """Pytest plugin: lines by test, seconds by test."""

    def __init__(self, meter: Any) -> None:
        self.meter, self.seconds = meter, defaultdict[str, float](float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.meter.switch_context(item.nodeid)
        begin = sum(os.times()[:4])
        result = yield
        self.seconds[item.nodeid] += sum(os.times()[:4]) - begin
        self.meter.switch_context("")
        return result  # type: ignore[return-value]


def _try(mutant: Mutant, reach: Reach, most: float) -> str:
    """Run the tests that reach the mutant, the quickest first, in a process of its own."""
    lines = reach.lines.get(str(mutant.path), {})
    compiled = "@njit" in mutant.path.read_text()
    reaching = set(lines.get(mutant.line, ()))
    if not reaching or mutant.at_import or compiled:
        reaching |= {test for tests in lines.values() for test in tests}
    if compiled:  # coverage sees no line of a kernel: whoever runs a line of a file that imports it may run it
        imports = re.compile(rf"import.*\b{mutant.path.stem}\b|\b{mutant.path.stem} import")
        callers = [found for file, found in reach.lines.items() if imports.search(Path(file).read_text())]
        reaching |= {test for found in callers for tests in found.values() for test in tests}
    tests, total = [], 0.0
    for test in sorted(reaching, key=lambda test: (reach.seconds.get(test, 0.0), test)):
        total += reach.seconds.get(test, 0.0)
        if total > most:
            break
        tests.append(test)
    if not tests:
        return "NO TEST"
    child = os.fork()
    if not child:
        most_cpu = int(PATIENCE_CPU_SECONDS + 3 * total + (60 if compiled else 0))
        resource.setrlimit(resource.RLIMIT_CPU, (most_cpu, most_cpu))
        _run(mutant, tests, compiled)
    _, status = os.waitpid(child, 0)
    return "ALIVE" if status == 0 else "endless" if os.WIFSIGNALED(status) else "killed"


def _run(mutant: Mutant, tests: list[str], compiled: bool) -> None:
    os.setpgrp()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    if compiled:
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
        from numba.core import config

        config.reload_config()  # it was read before the fork
    threading.Thread(target=_watch, daemon=True).start()
    sys.meta_path.insert(0, _Mutated(mutant))
    code = 1
    with contextlib.suppress(BaseException):
        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
    os._exit(code)


def _watch() -> None:
    """End this process and its children once it computes nothing any more."""
    spent = -1.0
    while (now := time.process_time()) - spent > 0.01:
        spent = now
        time.sleep(IDLE_SECONDS)
    os.killpg(0, signal.SIGKILL)


class _Mutated(importlib.abc.MetaPathFinder):
    """Import hook that compiles the mutant instead of its file."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        parts = mutant.path.relative_to(SOURCE.parent).with_suffix("").parts
        self.module = ".".join(parts)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self.mutant.path, loader=_Loader(fullname, self.mutant))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, mutant: Mutant) -> None:
        super().__init__(fullname, str(mutant.path))
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.mutant.path.read_text())
        if self.mutant.node is not None:
            _changed(tree, self.mutant.node)
        return compile(tree, str(self.mutant.path), "exec")


if __name__ == "__main__":
    main()
