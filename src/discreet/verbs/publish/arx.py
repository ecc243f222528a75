"""Import of ARX projects: attributes, hierarchies, models and the suppression limit of a project file.

A project (``.deid``) is a ZIP archive. Its ``input/definition.xml`` says what each attribute is, ``input/hierarchies``
has a CSV file for each hierarchy, ``input/config.xml`` the models and the limit. Its other parts are Java objects,
which are never read: data never names code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.errors import DataError, NotFound

_ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFIER,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI,
    "SENSITIVE_ATTRIBUTE": Role.SENSITIVE,
    "INSENSITIVE_ATTRIBUTE": Role.OTHER,
}
_MODELS = {
    r"(\d+)-anonymity": "k={}",
    r"distinct-(\d+)-diversity for attribute '(.*)'": "l={} on {}",
    r"(?:shannon-)?entropy-([\d.]+)-diversity for attribute '(.*)'": "entropy l={} on {}",
    r"recursive-\(([\d.]+),(\d+)\)-diversity for attribute '(.*)'": "recursive c={} l={} on {}",
    r"([\d.]+)-closeness with (equal|ordered|hierarchical) ground-distance for attribute '(.*)'": "{1} t={0} on {2}",
}
_LARGEST = 1 << 28


@dataclass(frozen=True)
class ArxProject:
    """Card, models and limits of an ARX project."""

    card: Card
    models: tuple[str, ...]
    """As ``discreet publish --model`` takes them."""
    suppress: str | None
    """The share of rows that may be suppressed."""
    levels: Mapping[str, str]
    """As ``--level`` takes them: the least and the most each column may be generalised."""
    left_out: tuple[str, ...]
    """Models that have no counterpart, in ARX's words."""


def from_arx(project: str | Path) -> ArxProject:
    """Read a project file. Of the data that is in it nothing is read."""
    path = Path(project)
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    try:
        with ZipFile(path) as archive:
            return _read(archive, path)
    except (BadZipFile, ElementTree.ParseError, KeyError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path.name} is not a readable ARX project: {error}.", hint="Save it again with ARX 2.0 or later."
        ) from error


def _read(archive: ZipFile, path: Path) -> ArxProject:
    columns, levels = [], {}
    for one in _xml(archive, "input/definition.xml").iter("assigment"):  # spelled so in the files
        name, said = one.findtext("name", ""), one.findtext("datatype", "String")
        role = _ROLES.get(one.findtext("type", ""), Role.IDENTIFIER)
        taxonomy = None
        if (place := one.findtext("ref")) and role is not Role.IDENTIFIER:
            taxonomy = _taxonomy(archive, f"input/{place}")
        kind = {"Integer": Kind.INTEGER, "Decimal": Kind.REAL}.get(said, Kind.TEXT)
        if taxonomy is not None:
            kind = Kind.INTEGER if kind is Kind.INTEGER else Kind.TEXT
            least, most = one.findtext("min", "All"), one.findtext("max", "All")
            if (least, most) != ("All", "All"):
                low, high = "0" if least == "All" else least, taxonomy.height if most == "All" else most
                levels[name] = f"{low}..{high}"
        columns.append(Column(name, kind, role, hierarchy=taxonomy))
    models, left_out, suppress = _settings(archive)
    return ArxProject(Card(path.stem, tuple(columns)), tuple(models), suppress, levels, tuple(left_out))


def _settings(archive: ZipFile) -> tuple[list[str], list[str], str | None]:
    if "input/config.xml" not in archive.namelist():
        return [], [], None
    config = _xml(archive, "input/config.xml")
    models: list[str] = []
    left_out: list[str] = []
    for criterion in config.iter("criterion"):
        text = (criterion.text or "").strip()
        found = [(re.fullmatch(pattern, text), written) for pattern, written in _MODELS.items()]
        translated = [written.format(*match.groups()) for match, written in found if match]
        (models if translated else left_out).append(translated[0] if translated else text)
    return models, left_out, config.findtext("relativeMaxOutliers")


def _taxonomy(archive: ZipFile, name: str) -> Taxonomy | None:
    """The hierarchy in a file of the archive; ``None`` if it has a level only."""
    if ";" not in (text := _text(archive, name)) and "," not in text:
        return None
    with TemporaryDirectory() as scratch:
        place = Path(scratch) / "hierarchy.csv"
        place.write_text(text, encoding="utf-8")
        return Taxonomy.from_csv(place)


def _xml(archive: ZipFile, name: str) -> ElementTree.Element:
    text = _text(archive, name)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{name} declares entities, which ARX does not write.", hint="Save the project again.")
    return ElementTree.fromstring(text)  # noqa: S314  # no entities, as was just seen


def _text(archive: ZipFile, name: str) -> str:
    if archive.getinfo(name).file_size > _LARGEST:
        raise DataError(f"{name} is too large for an ARX project.")
    return archive.read(name).decode("utf-8-sig")
