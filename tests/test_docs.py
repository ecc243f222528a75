"""Documentation that cannot rot: every example runs, every name, error, command and flag is there."""

import ast
import inspect
import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from tests.called import called

import discreet
from discreet import errors
from discreet.cli.main import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    return [(found[1], found["title"], found["body"]) for found in BLOCK.finditer(page.read_text())]


def runnable(page):
    return any(kind in ("python", "console") or title for kind, title, _ in blocks(page))


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda p: p.name)
def test_the_examples_of_a_page_run_in_an_empty_folder(page, tmp_path, monkeypatch):
    """A block with a title is a file; `console` lines behind `$` are commands; `python` blocks share their names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    names = {"__name__": "__docs__"}
    for kind, title, body in blocks(page):
        if title:
            Path(title).write_text(body)
        elif kind == "python":
            exec(compile(body, str(page), "exec"), names)  # noqa: S102
        elif kind == "console":
            for line, shown in commands_of(body):
                require_output(line, shown if output_is_checked(page) else "", run_command(line))


NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_the_code_cells_of_a_notebook_run_in_an_empty_folder(path, tmp_path, monkeypatch):
    """`%%writefile` cells are files, lines behind `!` are commands, all other cells share their names."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__notebook__"}
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        if source.startswith("%%writefile "):
            title, _, body = source.removeprefix("%%writefile ").partition("\n")
            Path(title).write_text(body + "\n")
        elif source.startswith("!"):
            for line in source.splitlines():
                run_command(line[1:])
        else:
            exec(compile(source, str(path), "exec"), names)  # noqa: S102


def test_the_notebooks_are_what_their_script_makes_of_the_tutorials():
    made = runpy.run_path(str(ROOT / "tools" / "notebooks.py"))
    assert {path.stem for path in NOTEBOOKS} == set(made["NAMES"])
    for path in NOTEBOOKS:
        assert path.read_text() == made["notebook"](path.with_suffix(".md").read_text())


def output_is_checked(page):
    """Whether what a page shows below a command must be what the command prints."""
    return page.parent.name == "tutorials" or page.name in ("README.md", "index.md", "coming-from.md")


def commands_of(body):
    """Each command of a console block, with the output shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


def require_output(line, shown, printed):
    """Every shown piece is printed, in this order; `…` stands for anything, and layout does not count."""
    place, printed = 0, without_layout(printed)
    for piece in shown.split("…"):
        found = printed.find(without_layout(piece), place)
        assert found >= 0, f"{line}\ndoes not print\n{piece}\nbut\n{printed}"
        place = found + len(without_layout(piece))


def without_layout(text):
    return re.sub(r"[\s─█▏▎▍▌▋▊▉]+", "", text)


def run_command(line):
    if line.split()[0] not in ("discreet", "cat", "for", "ls", "mkdir", "head"):
        return ""
    words = shlex.split(line, comments=True)
    if words[0] == "discreet" and not {"|", ">", "&&"} & set(words):
        code, stdout, stderr = called(words[1:], Path())
    else:
        run = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
        code, stdout, stderr = run.returncode, run.stdout, run.stderr
    expected = 1 if line.endswith("# an error") else 3 if line.endswith("# refused") else 0
    assert code == expected, f"{line}\n{stdout}{stderr}"
    return stdout + stderr


def test_the_pictures_are_what_their_script_draws():
    pictures = runpy.run_path(str(DOCS / "pictures" / "make.py"))["PICTURES"]
    assert {path.name for path in (DOCS / "pictures").glob("*.svg")} == set(pictures)
    for name, draw in pictures.items():
        assert (DOCS / "pictures" / name).read_text() == draw()


def test_a_page_on_a_concept_has_one_picture_and_links_to_the_glossary():
    concepts = DOCS / "concepts"
    listed = (concepts / "index.md").read_text()
    for page in set(concepts.glob("*.md")) - {concepts / "index.md"}:
        text = page.read_text()
        assert text.count("](../pictures/") == 1, page.name
        assert "](../glossary.md#" in text, page.name
        assert f"({page.name})" in listed, page.name


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    decisions = (DOCS / "decisions" / "index.md").read_text()
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        assert name in nav or page.name in decisions, f"{name} is on no way from the home page"


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "reference.md").read_text()
    for name in discreet.__all__:
        if not name.startswith("_"):
            assert re.search(rf"\b{name}\b", text), f"{name} is not in docs/reference.md"


def test_the_reference_has_the_names_people_type():
    reference = runpy.run_path(str(ROOT / "tools" / "reference_page.py"))
    made = reference["with_public_names"]((DOCS / "reference.md").read_text())
    headings = re.findall(r"^      heading: (\S+)$", made, re.MULTILINE)
    assert {"dc.read", "dc.publish", "dc.KAnonymity", "collect.OUE"} <= set(headings)
    assert not [heading for heading in headings if heading.startswith("discreet.")]


def test_every_error_is_drawn_in_its_tree_and_explained():
    text = (DOCS / "errors.md").read_text()
    for name, found in vars(errors).items():
        if inspect.isclass(found) and issubclass(found, errors.DiscreetError):
            assert f"`{name}`" in text, f"{name} is not in docs/errors.md"
            assert re.search(rf"\b{name}\b", errors.__doc__ or ""), f"{name} is not drawn in errors.py"


def commands(found, path=("discreet",)):
    """Every command that does something, with its full name."""
    inner = getattr(found, "commands", None)
    if not inner:
        yield " ".join(path), found
    for name, one in (inner or {}).items():
        yield from commands(one, path if name == getattr(found, "default", None) else (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_headings_that_messages_name_are_in_the_docs():
    """A message that sends someone to a page of the docs names a heading that is there."""
    named = set()
    for path in (Path(discreet.__file__).parent).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall("(docs/[a-z/-]+\\.md), “([^”]+)”", node.value))
    headings = {(page, heading) for page, heading in named if heading in headings_of(ROOT / page)}
    assert len(named) >= 3
    assert headings == named


def headings_of(page):
    """The headings of a page, without their anchors."""
    return re.findall(r"^#+ (.*?)(?: \{#.*\})?$", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_command_and_flag_is_documented_and_has_an_example():
    text = (DOCS / "commands.md").read_text()
    for name, command in COMMANDS.items():
        section = re.search(rf"^#+ `{name}`$(.*?)(?=^#+ `|\Z)", text, re.MULTILINE | re.DOTALL)
        assert section, f"{name} has no section in docs/commands.md"
        for parameter in command.params:
            for flag in parameter.opts:
                if flag.startswith("--"):
                    assert f"`{flag}" in section[1], f"{name} {flag} is not documented"
        assert "Example" in command.help, name


def test_every_command_answers_help():
    for name in ["discreet", "discreet card", *COMMANDS]:
        run = called([*shlex.split(name)[1:], "--help"], Path())
        assert run.code == 0, name
        assert "Usage" in run.stdout, name
