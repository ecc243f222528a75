"""The rules of docs/architecture.md that a tool for imports and types cannot see."""

import ast
import re
import tokenize
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

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


FINDERS = {SOURCE / "core" / "lazy.py", SOURCE / "core" / "catalogue.py"}
"""Modules that import others by names that they read in stubs and sources of the package itself."""
SOLVERS = {"highspy", "scipy.optimize.linprog", "scipy.optimize.milp"}


def rules_broken(path):
    """What a module does that none may."""
    text = path.read_text()
    tree = ast.parse(text)
    names = set(imported(tree))
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    if path.relative_to(SOURCE).parts[0] not in MAY_DRAW and names & RANDOM:
        yield "only noise (and samples, plainly not private) may draw"
    if names & UNSAFE or calls & {"eval", "exec", "__import__"}:
        yield "data never names code"
    if path.name != "compiled.py" and "numba" in names:
        yield "core/compiled.py finds a place for what is compiled"
    if path != SOURCE / "core" / "programs.py" and names & SOLVERS:
        yield "core/programs.py solves programs"
    if "discreet" in names:
        yield "nothing inside imports the package root"
    if path not in FINDERS and "import_module" in calls:
        yield "data never names code"
    if len(text.splitlines()) > 600:
        yield "is this one subject?"


def test_every_module_keeps_the_rules():
    broken = {str(path.relative_to(SOURCE)): found for path in MODULES if (found := list(rules_broken(path)))}
    assert broken == {}


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
DECLARED = {"most", "each", "cut", "sources"}


def bounds_made(path):
    """What a module makes or changes of what contribution bounding says."""
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    changed = [n for n in calls if getattr(n.func, "id", "") == "replace"]
    made = {n.func.id for n in calls if isinstance(n.func, ast.Name)} & BOUNDED
    return made | {keyword.arg for n in changed for keyword in n.keywords} & DECLARED


TRUSTED = [SOURCE / "engines" / "contribution.py", SOURCE / "engines" / "measures.py"]


def test_only_contribution_bounding_makes_what_privacy_rests_on():
    """Nobody else says how many rows a unit has or what it can change (docs/decisions/0008)."""
    others = [
        path
        for path in MODULES
        if path not in TRUSTED and re.search(r"engines\.(contribution|measures)", path.read_text())
    ]
    assert others
    assert {str(path.relative_to(SOURCE)): made for path in others if (made := bounds_made(path))} == {}
    assert set.union(*map(bounds_made, TRUSTED)) >= BOUNDED


def test_what_privacy_rests_on_is_small():
    """As docs/decisions/0008 says: below 450 lines of code, without their arguments."""
    assert sum(map(lines_of_code, TRUSTED)) < 450


def lines_of_code(path):
    text = path.read_text()
    strings = [
        one
        for one in ast.walk(ast.parse(text))
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
    ]
    docs = {line for one in strings for line in range(one.lineno, one.end_lineno + 1)}
    return sum(1 for number, line in enumerate(text.splitlines(), 1) if line.strip() and number not in docs)


def mentioned(text):
    """Modules that a text names by their files, such as ``core/sql.py``."""
    return set(re.findall(r"(?<![\w/.…-])(?:\w+/)*[a-z]\w*\.pyi?\b", text))


def test_texts_name_modules_that_exist():
    """A module that is merged with another or renamed is looked for under its old name."""
    root = SOURCE.parents[1]
    known = [
        f"/{path.relative_to(root).as_posix()}"
        for top in ("src", "tests", "tools", "docs", "bench")
        for path in [*(root / top).rglob("*.py"), *(root / top).rglob("*.pyi")]
    ]
    gone = {}
    for path in [*MODULES, *(root / "docs").rglob("*.md"), root / "README.md", root / "CONTRIBUTING.md"]:
        text = path.read_text()
        names = mentioned(text) - {*re.findall(r'title="(\w+\.py)"', text)}  # an example that a reader writes
        if unknown := {name for name in names if not any(one.endswith(f"/{name}") for one in known)}:
            gone[path.relative_to(root).as_posix()] = unknown
    assert gone == {}
    assert mentioned("a, ``core/sql.py``: `files.py`, kernel/…_rule.py x.pyx") == {"core/sql.py", "files.py"}


def test_the_rules_would_notice(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_rules.SOURCE", tmp_path)
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import numpy as np\nx = np.random.default_rng()\nimport discreet\neval('1')\nimport numba\n" + "\n" * 600
    )
    assert len(list(rules_broken(bad))) == 5
    bad.write_text("from secrets import token_hex\nimport pickle\nimport_module('x')")
    assert len(list(rules_broken(bad))) == 3
    bad.write_text("Measure(1)\nreplace(rows, most=2)")
    assert bounds_made(bad) == {"Measure", "most"}


RETIRED = {
    r"\bno(?:body|bodies)\b": "no one",
    r"\b(?:some|any|every)body\b": "a person, someone, anyone, everyone",
    r"\bwhoever\b": "anyone who, the person who",
    r"\bhangs? on\b": "depends on",
    r"\bso many (?:seconds|rows|guesses|times|bytes|lines)\b": "a quantity with a unit",
    r"\bread off the data\b": "taken from the data",
    r"\bbounded twins?\b|\bthe twin\b": "bounded table, synthetic stand-in",
    r"\bout already\b|\bhas left yet\b": "earlier releases, released",
    r"\bturned us away\b": "refused the connection",
    r"\bmeans nothing to\b": "does not apply to",
    r"\balone in (?:a|its|their|the) class\b": "unique",
    r"\bhides among\b": "is in an equivalence class of",
    r"\b(?:that|which) there (?:is|are) not\b": "unknown",
    r"\bwhose row is whose\b": "which column identifies the person of each row",
    r"\bgiven away\b|\bgives? (?:it|them|people|somebody) away\b": "revealed, exposed",
}
"""Words that are not used for people to read, as patterns, and what to say instead."""


def retired_words(text):
    """Retired words in a text, each with what to say instead; they may stand on two lines."""
    text = " ".join(text.split())
    return {
        found[0]: say
        for one, say in RETIRED.items()
        if (found := re.search(rf"(?i:{one})", text)) and found[0] != "NOBODY"
    }


def words_of(path):
    """All that a module says: its strings, docstrings and comments, not its names."""
    with tokenize.open(path) as file:
        kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
        return " ".join(one.string for one in tokenize.generate_tokens(file.readline) if one.type in kinds)


def test_retired_words_do_not_come_back():
    root = SOURCE.parents[1]
    texts = {path.relative_to(SOURCE).as_posix(): words_of(path) for path in MODULES}
    others = [page for page in SOURCE.rglob("*") if page.suffix in {".js", ".css", ".html", ".toml", ".txt"}]
    pages = [root / "README.md", *(root / "changelog.d").glob("*.md"), *(root / "docs").rglob("*.md"), *others]
    texts |= {page.relative_to(root).as_posix(): page.read_text(encoding="utf-8") for page in pages}
    assert {name: words for name, text in texts.items() if (words := retired_words(text))} == {}
    assert retired_words("Nobody else, nothing.") == {"Nobody": "no one"}
    assert retired_words("It is out\n    already.") == {"out already": "earlier releases, released"}
    assert not retired_words("so many; in the body; what there is not")


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
    optional = [module for module, by in known.items() if by & set().union(*extras.values())]
    named = re.compile(rf"\b(?:import|from) +(?:{'|'.join(optional)})\b")
    found = {
        path.relative_to(SOURCE).as_posix(): loose
        for path in MODULES
        if not path.is_relative_to(BEHIND_SERVE) or path.name == "client.py"
        if named.search(path.read_text())
        if (loose := loose_imports(ast.parse(path.read_text()), extras, known))
    }
    assert found == {}
    bad = "def f():\n    import scipy.sparse\nwith extra('serve'):\n    import sklearn\n"
    bad += "with extra('attack'):\n    import scipy"
    assert loose_imports(ast.parse(bad), extras, known) == ["scipy.sparse", "sklearn"]
