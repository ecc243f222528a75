"""The rules of docs/architecture.md that a tool for imports and types cannot see."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "discreet"
MODULES = sorted(SOURCE.rglob("*.py"))
RANDOM = {"random", "secrets", "numpy.random"}
MAY_DRAW = {"noise", "samples"}
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
BEHIND_SERVE = SOURCE / "service"
"""Loaded by `discreet serve` alone, which looks for its parts first."""
UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}


def imported(tree):
    """Every module a file imports, and every attribute chain such as ``np.random``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}".replace("np.", "numpy.")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_keeps_the_rules(path):
    text = path.read_text()
    tree = ast.parse(text)
    names = set(imported(tree))
    room = path.relative_to(SOURCE).parts[0]
    if room not in MAY_DRAW:
        assert not names & RANDOM, "only noise (and samples, plainly not private) may draw"
    assert not names & UNSAFE, "data never names code"
    if path.name != "compiled.py":
        assert "numba" not in names, "core/compiled.py finds a place for what is compiled"
    if path != SOURCE / "core" / "programs.py":
        solvers = {"highspy", "scipy.optimize.linprog", "scipy.optimize.milp"}
        assert not names & solvers, "core/programs.py solves programs"
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not calls & {"eval", "exec", "__import__"}, "data never names code"
    assert "discreet" not in names, "nothing inside imports the package root"
    if path.name != "lazy.py":  # it reads stubs of the package itself
        assert "import_module" not in calls, "data never names code"
    assert len(text.splitlines()) <= 600, "is this one subject?"


ELEMENTS = """a b body br button caption circle code dd defs desc details div dl dt em fieldset figcaption figure form g
h1 h2 h3 h4 h5 h6 head header html i img input label legend li line link main marker meta ol option p path polyline pre
rect script section select small span strong style summary svg table tbody td text th thead title tr u ul"""
IN_MARKUP = re.compile(rf"(?<![?]P)<(!doctype html|/?({'|'.join(ELEMENTS.split())})\b)", re.I)


def loose_markup(tree):
    """Lines with HTML or SVG in a string that is no literal given to ``Markup`` or ``Template``, and with a ``Markup``
    that is made of anything but a literal or a picture's own drawing."""
    fine = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}  # docstrings
    for one in ast.walk(tree):
        if isinstance(one, ast.Call) and ast.unparse(one.func) in {"Markup", "Template"} and one.args:
            if isinstance(one.args[0], ast.Constant):
                fine.add(id(one.args[0]))
            elif not ast.unparse(one.args[0]).startswith(("self.svg", "picture.svg")):
                yield one.lineno
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and id(one) not in fine and IN_MARKUP.search(str(one.value)):
            yield one.lineno


def test_html_is_built_of_elements_that_escape_what_is_in_them():
    found = {
        path.relative_to(SOURCE).as_posix(): lines
        for path in MODULES
        if path != SOURCE / "core" / "markup.py" and (lines := list(loose_markup(ast.parse(path.read_text()))))
    }
    assert found == {}, "core/markup.py makes HTML and SVG"
    users = {path.relative_to(SOURCE).as_posix() for path in MODULES if "html import escape" in path.read_text()}
    assert users <= {"core/markup.py", "service/console/theme.py"}, "core/markup.py escapes"
    bad = "x = f'<td>{y}</td>'\nx = '<p>' + y\nx = Markup(y)\nx = Markup(f'{y}')\nx = '<P class=%s>' % y\nx = '</svg>'"
    assert sorted(loose_markup(ast.parse(bad))) == [1, 1, 2, 3, 4, 5, 6]
    assert not list(loose_markup(ast.parse("x = Markup('<p>')\nx = f'<{y}>'\nx = '<k> is k'\nx = a < b")))


BOUNDED = {"OwnedRows", "UnitAggregate", "Measure"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_contribution_bounding_makes_what_privacy_rests_on(path):
    """Nobody else says how many rows a unit has or what it can change (docs/decisions/0008)."""
    if path.parent != SOURCE / "engines" / "contribution" and "discreet.engines.contribution" in path.read_text():
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert not {n.func.id for n in calls if isinstance(n.func, ast.Name)} & BOUNDED
        changed = {keyword.arg for n in calls if getattr(n.func, "id", "") == "replace" for keyword in n.keywords} & {
            "most",
            "each",
            "cut",
            "sources",
        }
        assert not changed


def test_what_privacy_rests_on_is_small():
    """As docs/decisions/0008 says: below 300 lines of code, without their arguments."""
    total = 0
    for path in (SOURCE / "engines" / "contribution").glob("*.py"):
        text = path.read_text()
        strings = [
            one
            for one in ast.walk(ast.parse(text))
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
        ]
        docs = {line for one in strings for line in range(one.lineno, one.end_lineno + 1)}
        total += sum(1 for number, line in enumerate(text.splitlines(), 1) if line.strip() and number not in docs)
    assert total < 300


def test_the_rules_would_notice():
    bad = ast.parse("import numpy as np\nfrom secrets import token_hex\nx = np.random.default_rng()\nimport discreet")
    assert {"secrets", "numpy.random", "discreet"} <= set(imported(bad))


def packages(lines):
    return {re.match(r"[\w-]+", line)[0].lower().replace("_", "-") for line in lines}


def owners():
    """Of each installed module, the packages that bring it."""
    found = packages_distributions().items()
    return {module: {owner.lower().replace("_", "-") for owner in owners} for module, owners in found}


def loose_imports(tree, extras, owners):
    """Imports of optional packages that are not inside ``with extra(…)`` of an extra that brings them."""
    optional = set().union(*extras.values())

    def walk(node, within):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            inside = within
            if isinstance(child, ast.With):
                call = child.items[0].context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "extra":
                    inside = extras[call.args[0].value]
            names = [alias.name for alias in child.names] if isinstance(child, ast.Import) else []
            names += [child.module or ""] if isinstance(child, ast.ImportFrom) else []
            for name in names:
                brought = owners.get(name.partition(".")[0], set()) & optional
                if brought and not brought & inside:
                    yield name
            yield from walk(child, inside)

    return list(walk(tree, set()))


def test_every_import_of_an_optional_package_says_which_extra_brings_it():
    extras = {name: packages(lines) for name, lines in PROJECT["optional-dependencies"].items() if name != "all"}
    known = owners()
    found = {
        path.relative_to(SOURCE).as_posix(): loose
        for path in MODULES
        if not path.is_relative_to(BEHIND_SERVE) or path.name == "client.py"
        if (loose := loose_imports(ast.parse(path.read_text()), extras, known))
    }
    assert found == {}
    bad = "def f():\n    import scipy.sparse\nwith extra('serve'):\n    import sklearn\n"
    bad += "with extra('attack'):\n    import scipy"
    assert loose_imports(ast.parse(bad), extras, known) == ["scipy.sparse", "sklearn"]
