"""The wheel, installed alone and with each extra, and on every Python that the classifiers claim."""

import hashlib
import os
import re
import shutil
import subprocess
import sys

import pytest
from tests.cli.test_plain_install import PROJECT, ROOT, require_sentences, run_everything

pytestmark = pytest.mark.slow

THIS = ".".join(map(str, sys.version_info[:2]))
EXTRAS = [name for name in PROJECT["optional-dependencies"] if name != "all"]
CLAIMED = [found[1] for line in PROJECT["classifiers"] if (found := re.search(r"Python :: (3\.\d+)$", line))]
UV = [sys.executable, "-m", "uv"]
WITHOUT_COMMAND = {
    "accounting": "from discreet.budget.pld import LaplaceNoise, batch_epsilon\n"
    "assert 0.9 < batch_epsilon([LaplaceNoise(1, 1)], 0) < 1.1",
    "oidc": "from discreet.service.openid import Provider\nfrom discreet.service.settings import Settings\n"
    "Provider(Settings(oidc_issuer='https://login.example.org', oidc_client='discreet', oidc_analysts=('all',)))",
    "spark": "import discreet as dc\nfrom discreet.engines.spark import Spark\n"
    "table = dc.read('people.csv', 'people.toml', engine=Spark.at('local[1]'))\nassert table.count() == 240",
}
"""Extras that no command needs to work on files, and what they make possible in Python."""


def uv(*words):
    """Run uv, which finds the Pythons of pyenv only where they are all switched on."""
    environment = dict(os.environ)
    if pyenv := shutil.which("pyenv"):
        found = subprocess.run([pyenv, "versions", "--bare"], capture_output=True, text=True, check=True)
        environment["PYENV_VERSION"] = ":".join(found.stdout.split())
    ran = subprocess.run([*UV, *words, "--quiet"], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture
def install(wheel, tmp_path):
    """Install the wheel with some extras into a new environment, all by the hashes of requirements.lock.

    The environments have one place after another, so that what Numba compiled in one is good for the next.
    """

    def installed(*extras, version=THIS, options=()):
        place = wheel.with_name("environment")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        wanted = tmp_path / "wanted.txt"
        wanted.write_text(f"discreet[{','.join(extras)}] @ {wheel.as_uri()} --hash=sha256:{digest}\n")
        uv("venv", "--clear", "--python", version, place)
        python = place / "bin" / "python"
        lock = ROOT / "requirements.lock"
        words = ["--python", python, "--require-hashes", "--requirement", wanted, "--constraint", lock]
        uv("pip", "install", *words, *options)
        told = subprocess.run([place / "bin" / "discreet", "--help"], capture_output=True, text=True, check=True)
        assert "Usage: discreet" in told.stdout
        return python

    return installed


def run_installed(python, folder):
    """Run every command with the Python of an environment."""
    return run_everything(folder, python=python, NUMBA_CACHE_DIR=str(python.parents[2] / "kernels"))


def probe(extra, python, folder):
    """Run what an extra without a command of its own makes possible."""
    words = [python, "-c", WITHOUT_COMMAND[extra]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_the_wheel_alone_runs_every_command_or_says_what_to_install(install, tmp_path):
    python = install(options=["--compile-bytecode"])  # as pip does, for the size
    size = sum(file.stat().st_size for file in python.parents[1].joinpath("lib").rglob("*") if file.is_file())
    told = int(re.search(r"about (\d+) MB on the disk", (ROOT / "README.md").read_text())[1])
    assert abs(size / 2**20 - told) < 60, "what the README says of its size"
    require_sentences(run_installed(python, tmp_path / "work"))
    for extra in WITHOUT_COMMAND:
        assert f"pip install 'discreet[{extra}]'" in probe(extra, python, tmp_path / "work").stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_wheel_with_one_extra_runs_what_that_brings(install, tmp_path, extra):
    python = install(extra)
    require_sentences(run_installed(python, tmp_path / "work"), {extra})
    if extra in WITHOUT_COMMAND:
        ran = probe(extra, python, tmp_path / "work")
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("version", CLAIMED)
def test_every_python_that_is_claimed_runs_every_command(install, tmp_path, version):
    python = install("all", version=version)
    require_sentences(run_installed(python, tmp_path / "work"), {*EXTRAS})
    for extra in WITHOUT_COMMAND:
        ran = probe(extra, python, tmp_path / "work")
        assert ran.returncode == 0, ran.stderr
