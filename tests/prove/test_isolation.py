"""What a PROVED rests on knows nothing of the searches: not when it runs, not lazily, not for its types.

import-linter enforces the same in pyproject.toml, but looks at no import under ``TYPE_CHECKING``.
"""

import ast
from pathlib import Path

import discreet.verbs.prove

ROOM = Path(discreet.verbs.prove.__file__).parent
PACKAGE = discreet.verbs.prove.__name__


def imports(file):
    """The modules of this room that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            path = ROOM.joinpath(*name.removeprefix(PACKAGE).strip(".").split("."))
            if name.startswith(f"{PACKAGE}."):
                yield from (found for found in (path.with_suffix(".py"), path / "__init__.py") if found.is_file())


def reached(*files):
    """All files that these import, and those that they import, and so on."""
    found, left = set(), list(files)
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left += imports(file)
    return {str(file.relative_to(ROOM)) for file in found}


def searches(files):
    return {file for file in files if file.startswith(("prover", "refuter"))}


def test_kernel_and_checker_import_no_search():
    trusted = reached(ROOM / "checker.py", *(ROOM / "kernel").glob("*.py"))
    assert {"checker.py", "kernel/walk.py", "parser.py", "syntax.py"} <= trusted
    assert not searches(trusted)


def test_the_test_would_notice():
    assert {"prover/prover.py", "refuter/search.py"} <= searches(reached(ROOM / "prove.py"))


def test_prover_and_refuter_share_no_code():
    assert not {file for file in reached(*(ROOM / "prover").glob("*.py")) if file.startswith("refuter")}
    assert not {file for file in reached(*(ROOM / "refuter").glob("*.py")) if file.startswith(("prover", "kernel"))}
