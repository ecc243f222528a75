"""Every command on a plain install, and where neither the home nor the package can be written to."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import typer
from tests.cli.everything import COMMANDS
from tests.curator.clinics import clinic as make_clinic

from discreet.cli.main import app

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SENTENCE = re.compile(r"Error: \S+ is not installed\. Run: pip install 'discreet\[(\w+)\]'\n")
NEEDS = {
    "tabulate": "tabulate",
    "hide": "hide",
    "prove": "prove",
    "collect serve": "serve",
    "combine": "combine",
    "people add": "serve",
    "people reset": "serve",
    "serve clinic --cert": "serve",
}
"""How commands begin that need an extra, and which."""
NOT_DONE = (
    "card from-arx",
    "collect serve",
    "combine run",
    "people",
    "serve",
)
"""How commands begin that end in an error of their own: a file, a party or somebody is not there."""


def optional_modules():
    """The modules of every package that only an extra brings."""
    wanted = {
        re.match(r"[\w-]+", line)[0].lower().replace("_", "-")
        for name, lines in PROJECT["optional-dependencies"].items()
        for line in lines
        if name != "all"
    } | {"starlette", "anyio", "py4j"}
    found = packages_distributions().items()
    return {module for module, owners in found if {owner.lower().replace("_", "-") for owner in owners} & wanted}


def run_everything(folder, *hidden, python=sys.executable, **environment):
    folder.mkdir()
    ran = subprocess.run(
        [python, "-m", "tests.cli.everything", folder, *hidden],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def require_sentences(results):
    """Whatever needs an extra says so in one sentence with the command that installs it; the rest works."""
    for one in results:
        needed = next((extra for words, extra in NEEDS.items() if one["command"].startswith(words)), None)
        if needed:
            assert one["code"] == 1, one
            assert SENTENCE.fullmatch(one["said"])[1] == needed, one
        else:
            assert one["code"] == 0 or one["command"].startswith(NOT_DONE), one
            assert "stumbled" not in one["said"], one


def commands(command, path=()):
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path)
    for name, one in (inner or {}).items():
        yield from commands(one, (*path, name))


def test_every_command_is_among_those_that_are_tried():
    tried = COMMANDS.strip().splitlines()
    assert [
        name
        for name in commands(typer.main.get_command(app))
        if not any(f"{words} ".startswith(f"{name} ") for words in tried)
    ] == []


def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(tmp_path):
    hidden = optional_modules()
    assert {"scipy", "sklearn", "highspy", "cryptography", "nicegui", "psycopg", "pyspark", "z3", "flint"} <= hidden
    require_sentences(run_everything(tmp_path / "work", *hidden))


@pytest.mark.slow
def test_the_wheel_alone_runs_every_command_or_says_what_to_install(tmp_path):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "plain"], check=True)
    python = tmp_path / "plain" / "bin" / "python"
    [wheel] = tmp_path.glob("*.whl")
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    require_sentences(run_everything(tmp_path / "work", python=python))
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools"], check=True)
    taken = sum(file.stat().st_size for file in (tmp_path / "plain" / "lib").rglob("*") if file.is_file()) / 2**20
    told = int(re.search(r"about (\d+) MB on the disk", (ROOT / "README.md").read_text())[1])
    assert abs(taken - told) < 60, "what the README says of its size"


def read_only_copy(place):
    """The package where nothing compiled can be kept beside it: the name of every such folder is taken by a file."""
    copy = Path(shutil.copytree(ROOT / "src", place, ignore=shutil.ignore_patterns("__pycache__")))
    for folder in {module.parent for module in copy.rglob("*.py")}:
        (folder / "__pycache__").touch()
    return copy


@pytest.fixture
def nowhere(tmp_path):
    """An environment in which neither the package nor the home can be written to. Nobody can write below a file."""
    home = "/dev/null/home"
    found = {"PYTHONPATH": str(read_only_copy(tmp_path / "package")), "HOME": home, "XDG_CACHE_HOME": home}
    return {**found, "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.slow
def test_every_command_runs_where_only_the_working_folder_can_be_written_to(tmp_path, nowhere):
    for one in run_everything(tmp_path / "work", **nowhere):
        assert one["code"] == 0 or one["command"].startswith(NOT_DONE), one
        assert "stumbled" not in one["said"], one


def test_the_service_starts_where_only_the_workspace_can_be_written_to(tmp_path, nowhere):
    make_clinic(tmp_path / "clinic").close()
    words = [sys.executable, "-m", "discreet.cli", "serve", "clinic", "--port", "0", "--no-open"]
    environment = {**os.environ, **nowhere}
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = [process.stdout.readline() for _ in range(2)]
            process.send_signal(signal.SIGTERM)
        finally:
            process.communicate()
    assert "discreet serves clinic at http" in told[1], told
    assert process.returncode == 0


def test_compiled_kernels_are_kept_in_a_folder_that_is_the_users_alone(tmp_path, nowhere):
    code = "from discreet.publish import kernels; import numba; print(numba.config.CACHE_DIR)"

    def cache():
        words = [sys.executable, "-c", code]
        ran = subprocess.run(words, cwd=tmp_path, env={**os.environ, **nowhere}, capture_output=True, check=True)
        return ran.stdout.decode().strip()

    [kept] = tmp_path.glob(Path(cache()).name)
    assert kept.stat().st_mode & 0o777 == 0o700
    assert cache() == str(kept)
    kept.chmod(0o777)
    assert cache() == "", "what others can write to is not run"
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    assert cache() == ""
