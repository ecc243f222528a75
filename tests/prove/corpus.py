"""The programs beside this file: each says in its first line what is true of it."""

from pathlib import Path

FOLDER = Path(__file__).parent / "programs"
FILES = sorted(FOLDER.glob("*.dp"))


def expected(file):
    """``proved`` or ``refuted``, as the first line says."""
    first = file.read_text().splitlines()[0]
    assert first.startswith("# expect: "), f"{file.name} does not say what is true of it"
    return first.removeprefix("# expect: ").split()[0]


def text(name):
    """The text of one of the programs."""
    return (FOLDER / f"{name}.dp").read_text()
