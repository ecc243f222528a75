"""The image of deploy/: its Dockerfile's steps are run in an empty copy of this machine's system, and what they make is
run as deploy/compose.yaml says. There is no container engine here, so that is all of it but the engine itself."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import psycopg
import pytest
import yaml
from tests.cli.test_wheel import UV
from tests.hosts import hosts
from tests.service.certificates import certificate
from tests.service.test_database_cut import DOOR
from tests.service.test_unit import _until, can_mount
from typer.main import get_command

from discreet.cli.main import app
from discreet.samples import hospital
from discreet.service.configuration import PREFIX, configured

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICE = COMPOSE["services"]["discreet"]
MOUNTS = """
set -e
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/system"
mount --rbind /dev "$1/system/dev"
mount -t proc proc "$1/system/proc"
mount --rbind "$2" "$1/system/usr/local"
mount -o remount,ro,bind "$1/system/usr/local"
mkdir -p "$1/system/data" "$1/system/run/secrets" "$1/system/$3"
if [ -n "$3" ]; then
    for pair in data:/data secrets:/run/secrets volume:"$3"; do
        mount --bind "$1/${pair%%:*}" "$1/system${pair#*:}"
    done
    mount -o remount,ro "$1/system"
fi
root="$1/system"
shift 3
exec /usr/sbin/chroot "$root" "$@"
"""
"""This machine's system with what a stage has made upon it, and a Python as /usr/local; with a volume, read-only."""


def instructions():
    """The instructions of each stage: its name, and words after it."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    starts = [number for number, (name, _) in enumerate(lines) if name == "FROM"]
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


BUILD, FINAL = instructions()
[PYTHON] = re.findall(r"^ARG PYTHON=(\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)


def said(name):
    """What an instruction of the image says."""
    [found] = [words for what, words in FINAL if what == name]
    return found


LIBRARIES = {"LD_LIBRARY_PATH": "/usr/local/lib"}
"""Where Python's own library is, which the base image has in the linker's list."""
ENVIRONMENT = dict(pair.split("=", 1) for pair in shlex.split(said("ENV")))


class Stage:
    """A stage of the image on this machine."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python
        self.at = "/"
        for name in ("upper", "work", "system", "data", "secrets", "volume"):
            (folder / name).mkdir(parents=True)

    def command(self, words, *, volume="", netns=()):
        return [*netns, "unshare", "--mount", "sh", "-c", MOUNTS, "sh", str(self.folder), self.python, volume, *words]

    def run(self, step):
        """A RUN step, with what this machine says of where packages are."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
        environment = {**kept, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
        words = ["sh", "-c", f"cd {self.at} && {step}"]
        ran = subprocess.run(self.command(words), env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{step}\n{ran.stdout}{ran.stderr}"

    def copy(self, words, stages):
        """A COPY step, from what the image's own list leaves of the repository, or from an earlier stage."""
        *sources, target = [word for word in words if not word.startswith("--")]
        to = self.folder / "upper" / str(Path(self.at, target)).lstrip("/")
        base = ROOT
        if (flag := next((word for word in words if word.startswith("--from=")), None)) is not None:
            base = stages[flag.removeprefix("--from=")].folder / "upper"
        for source in sources:
            here = base / source.lstrip("/")
            assert base is not ROOT or in_context(source), f"{source} is not sent to the engine"
            place = to / here.name if target.endswith("/") and here.is_file() else to
            place.parent.mkdir(parents=True, exist_ok=True)
            if here.is_dir():
                shutil.copytree(here, place, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(here, place)

    def make(self, lines, stages):
        for name, words in lines:
            if name == "WORKDIR":
                self.at = words
                (self.folder / "upper" / words.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif name == "RUN":
                self.run(words)
            elif name == "COPY":
                self.copy(words.split(), stages)
            else:
                assert name in ("FROM", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"), name


def in_context(path):
    """Whether the engine is sent a file or a folder, by the list of what it is not."""
    patterns = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    return patterns[0] == "*" and any(fnmatch(path.removeprefix("./"), one[1:]) for one in patterns if one[0] == "!")


def test_the_image_has_what_it_copies_and_runs_as_no_one():
    for name, words in BUILD:
        if name == "COPY":
            assert all(in_context(word) and (ROOT / word).exists() for word in words.split()[:-1]), words
    user = said("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert json.loads(said("ENTRYPOINT")) == ["discreet"]
    assert f"--owner={user.split(':')[0]} " in said("RUN")
    defined = (ROOT / "pyproject.toml").read_text()
    [wanted] = re.findall(r'"\.\[([a-z,]+)\]"', (DEPLOY / "Dockerfile").read_text())
    assert all(f"\n{extra} = [" in defined for extra in wanted.split(","))


def test_the_services_are_read_only_and_watched_and_their_settings_exist():
    for one in COMPOSE["services"].values():
        assert one["read_only"] and one["cap_drop"] == ["ALL"] and one["healthcheck"]["test"][0] == "CMD"
        assert one["security_opt"] == ["no-new-privileges:true"]
        assert set(one["secrets"]) <= set(COMPOSE["secrets"])
        named = {volume.split(":")[0] for volume in one["volumes"]}
        assert {name for name in named if not name.startswith(".")} <= set(COMPOSE["volumes"])
    assert SERVICE["depends_on"]["db"] == {"condition": "service_healthy"}
    name, *words = SERVICE["command"]
    assert get_command(app).commands[name].make_context(name, words).params["folder"] == Path("clinic")
    given = {name: value for name, value in SERVICE["environment"].items() if name.startswith(PREFIX)}
    assert configured(None, given, {}).host == "0.0.0.0"  # noqa: S104


@contextmanager
def network(address):
    """A host with the tests' PostgreSQL at the port that clients expect: how commands are started there."""
    folder = re.search(r"host=([^&]+)", address)[1]
    with hosts("service") as wan:
        command = wan.run("service", sys.executable, "-c", DOOR, "127.0.0.1", f"{folder}/.s.PGSQL.5432")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as door:
            try:
                assert door.stdout.readline() == "open\n"
                yield wan.run("service")
            finally:
                door.kill()


@pytest.fixture
def budget(postgres_address):
    """The database of deploy/compose.yaml."""
    named = COMPOSE["services"]["db"]["environment"]
    user, name = named["POSTGRES_USER"], named["POSTGRES_DB"]
    with psycopg.connect(postgres_address, autocommit=True) as server:
        server.execute(f"CREATE ROLE {user} LOGIN")
        server.execute(f"CREATE DATABASE {name} OWNER {user}")
        yield postgres_address
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        server.execute(f"DROP ROLE {user}")


def python_of(version):
    """Where a Python of a version is installed; nothing if there is none."""
    environment = dict(os.environ)
    if pyenv := shutil.which("pyenv"):
        found = subprocess.run([pyenv, "versions", "--bare"], capture_output=True, text=True, check=True)
        environment["PYENV_VERSION"] = ":".join(found.stdout.split())
    ran = subprocess.run(
        [*UV, "python", "find", "--no-project", "--system", version],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        return None
    asked = "import sys; print(sys.base_prefix)"
    return subprocess.run([ran.stdout.strip(), "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", PYTHON])
def test_the_steps_of_the_image_make_a_service_that_runs_as_it_is_told(tmp_path, budget, version):
    python = python_of(version)
    if python is None or not can_mount():
        pytest.skip(f"this needs root, mount namespaces, and Python {version}")
    stages = {"build": Stage(tmp_path / "build", python)}
    stages["build"].make(BUILD, stages)
    image = Stage(tmp_path / "image", python)
    image.make(FINAL, stages)
    user = int(said("USER").split(":")[0])
    (image.folder / "upper" / "etc").mkdir(exist_ok=True)
    (image.folder / "upper" / "etc" / "hosts").write_text("127.0.0.1 localhost db\n")
    shutil.chown(image.folder / "volume", user, user)  # as an engine does with a volume, by what the image has there
    hospital(1_000, seed=1).write(image.folder / "data")
    certificate(image.folder / "pair", names=("data.example.org",))
    for one, secret in zip(sorted((image.folder / "pair").iterdir()), ("cert", "key"), strict=True):
        shutil.chown(shutil.copy(one, image.folder / "secrets" / secret), user)
    (image.folder / "secrets" / "pgpass").write_text("db:5432:budget:discreet:none\n")
    shutil.chown(image.folder / "secrets" / "pgpass", user)
    (image.folder / "secrets" / "pgpass").chmod(0o400)
    for path in (tmp_path, image.folder):
        path.chmod(0o755)

    with network(budget) as netns:

        def command(words):
            environment = [
                f"{name}={value}" for name, value in {**ENVIRONMENT, **SERVICE["environment"], **LIBRARIES}.items()
            ]
            rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
            who = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
            inner = [
                "setpriv",
                *who,
                *rights,
                "env",
                "-i",
                *environment,
                "sh",
                "-c",
                f'cd {image.at} && exec "$@"',
                "sh",
            ]
            return image.command([*inner, *words], volume=image.at, netns=netns)

        def run(*words):
            ran = subprocess.run(command(words), capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stdout + ran.stderr
            return ran.stdout

        table = ["--table", "patients=/data/patients.parquet", "--card", "/data/hospital.toml"]
        ledger = ["--ledger", "postgresql://discreet@db/budget"]
        run("discreet", "workspace", "init", "clinic", *table, "--budget", "epsilon=3, delta=1e-6", *ledger)
        run("discreet", "people", "add", "clinic", "sue", "--role", "steward")
        healthy = command(SERVICE["healthcheck"]["test"][1:])
        log = tmp_path / "log"
        with (
            log.open("w") as told,
            subprocess.Popen(command(["discreet", *SERVICE["command"]]), stdout=told, stderr=told) as served,
        ):
            try:
                _until(lambda: subprocess.run(healthy, capture_output=True, check=False).returncode == 0, served, log)
                run("discreet", "ask", "clinic", "SELECT COUNT(*) AS n FROM patients", "--epsilon", "0.1")
                run("discreet", "serve", "clinic", "--check")
            finally:
                served.terminate()
                served.wait(60)
        assert served.returncode == 0 and "Traceback" not in log.read_text(), log.read_text()
        assert subprocess.run(healthy, capture_output=True, check=False).returncode != 0
    kept = image.folder / "volume" / "clinic"
    assert 'ledger = "postgresql://discreet@db/budget"' in (kept / "workspace.toml").read_text()
    assert kept.stat().st_mode & 0o077 == 0
    exposed = [path for path in kept.rglob("*") if path.stat().st_mode & 0o077 and ".compiled" not in path.parts]
    assert exposed == [], "all but compiled kernels"
