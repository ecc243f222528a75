"""Documentation that cannot rot: every example runs, every name, error, command and flag is there."""

import inspect
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
            for line in body.splitlines():
                if line.startswith("$ "):
                    command(line[2:])


def command(line):
    if line.split()[0] not in ("discreet", "cat", "for", "ls", "mkdir", "head"):
        return
    words = shlex.split(line, comments=True)
    if words[0] == "discreet" and not {"|", ">", "&&"} & set(words):
        code, stdout, stderr = called(words[1:], Path())
    else:
        run = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
        code, stdout, stderr = run.returncode, run.stdout, run.stderr
    assert code == (1 if line.endswith("# an error") else 0), f"{line}\n{stdout}{stderr}"


def test_the_pictures_are_what_their_script_draws():
    pictures = runpy.run_path(str(DOCS / "pictures" / "make.py"))["PICTURES"]
    assert {path.name for path in (DOCS / "pictures").glob("*.svg")} == set(pictures)
    for name, draw in pictures.items():
        assert (DOCS / "pictures" / name).read_text() == draw()


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


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_flag_is_documented_and_has_an_example(name):
    text = (DOCS / "commands.md").read_text()
    section = re.search(rf"^#+ `{name}`$(.*?)(?=^#+ `|\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"{name} has no section in docs/commands.md"
    for parameter in COMMANDS[name].params:
        for flag in parameter.opts:
            if flag.startswith("--"):
                assert f"`{flag}" in section[1], f"{name} {flag} is not documented"
    assert "Example" in COMMANDS[name].help


@pytest.mark.parametrize("name", ["discreet", "discreet card", *COMMANDS])
def test_every_command_answers_help(name):
    run = called([*shlex.split(name)[1:], "--help"], Path())
    assert run.code == 0
    assert "Usage" in run.stdout
