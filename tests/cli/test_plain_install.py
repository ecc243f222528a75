"""Every command on a plain install, and where neither the home nor the package can be written to."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import typer
from tests.cli.everything import COMMANDS, command_names
from tests.curator.clinics import clinic as make_clinic

from discreet.cli.main import app

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SENTENCE = re.compile(r"Error: \S+ is not installed\. Run: pip install 'discreet\[(\w+)\]'\n")
NEEDS = {
    "publish people.csv --card people.toml --method 'shuffle": "attack",
    "show postgresql": "postgres",
    "workspace move-ledger": "postgres",
    "show sc": "spark",
    "tabulate audit": None,
    "tabulate": "tabulate",
    "hide mine": None,
    "hide discrimination": None,
    "hide": "solver",
    "prove": "prove",
    "collect serve": "serve",
    "combine protocols": None,
    "combine functions": None,
    "combine": "combine",
    "people add": "serve",
    "people reset": "serve",
    "serve clinic --cert": "serve",
    "mcp": "mcp",
}
"""How commands begin that need an extra, and which."""
NOT_DONE = (
    "card from-arx",
    "collect serve",
    "combine relay",
    "combine run",
    "mcp",
    "people",
    "serve",
    "show postgresql",
    "show sc",
    "tabulate audit",
    "workspace move-ledger",
)
"""How commands begin that end in an error of their own: a file, a party or somebody is not there."""


def optional_modules():
    """The modules of every package that only an extra brings."""
    extras = PROJECT["optional-dependencies"].keys() - {"all"}
    wanted = set().union(*map(packages, extras)) | {"starlette", "anyio", "py4j"}
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


HANDED_OUT = {".toml", ".csv", ".txt", ".dp", ".pub", ".xlsx"}
"""Endings of cards, sources and what is for others: readable as the umask says, as are folders of releases."""


def require_private(folder):
    """Of all that commands wrote under a umask of 0, others can read sources, cards and releases."""
    for path in (path for path in folder.iterdir() if path.name not in ("demo", "messy")):
        if not (path / "statement.json").is_file() and (path.suffix not in HANDED_OUT or path.name == "codes.txt"):
            assert [str(one) for one in (path, *path.rglob("*")) if one.stat().st_mode & 0o077] == []


def require_sentences(results, installed=()):
    """Whatever needs an extra says so in one sentence with the command that installs it; the rest works.

    ``installed`` are the extras that are there. A command that needs another one may work all the same, where they
    bring the packages that it uses.
    """
    for one in results:
        needed = next((extra for words, extra in NEEDS.items() if one["command"].startswith(words)), None)
        works = one["code"] == 0 or one["command"].startswith(NOT_DONE)
        assert "stumbled" not in one["said"], one
        if one["command"].endswith("--help"):
            assert (one["code"], one["said"]) == (0, ""), one
        elif needed is None or needed in installed:
            assert works, one
            assert "is not installed" not in one["said"], one
        elif one["code"] or not installed:
            if works and installed and "is not installed" not in one["said"]:
                continue
            assert one["code"] == 1, one
            named = SENTENCE.fullmatch(one["said"])[1]  # where others bring the rest, the part that is missing will do
            assert named == needed or (installed and packages(named) < packages(needed)), one


def packages(extra):
    """The names of the packages that an extra asks for."""
    lines = PROJECT["optional-dependencies"][extra]
    return {re.match(r"[\w-]+", line)[0].lower().replace("_", "-") for line in lines}


def test_every_command_is_among_those_that_are_tried():
    tried = COMMANDS.strip().splitlines()
    assert [
        name
        for name in command_names(typer.main.get_command(app))
        if not any(f"{words} ".startswith(f"{name} ") for words in tried)
    ] == []


def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(tmp_path):
    hidden = optional_modules()
    assert {
        "scipy",
        "sklearn",
        "highspy",
        "cryptography",
        "nicegui",
        "psycopg",
        "pyspark",
        "z3",
        "flint",
        "mcp",
    } <= hidden
    require_sentences(run_everything(tmp_path / "work", *hidden))
    require_private(tmp_path / "work")


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
    require_private(tmp_path / "work")


@pytest.mark.slow
def test_every_command_runs_on_the_distributions_own_python(tmp_path):
    """An older patch release, such as Debian 12's 3.11.2, lacks what later ones brought."""
    python = shutil.which(f"python{sys.version_info.major}.{sys.version_info.minor}", path="/usr/bin")
    if python is None:
        pytest.skip("the distribution has another Python")
    path = f"{ROOT / 'src'}:{sysconfig.get_path('purelib')}:{ROOT}"
    for one in run_everything(tmp_path / "work", python=python, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1"):
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
    code = "from discreet.verbs.publish import lattice_kernels; import numba; print(numba.config.CACHE_DIR)"

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
