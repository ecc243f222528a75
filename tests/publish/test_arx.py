"""ARX's files: hierarchies as it writes them, and projects as its source says they are written."""

from __future__ import annotations

from zipfile import ZipFile

import pytest

from discreet.core.card import Role
from discreet.core.kind import Kind
from discreet.errors import DataError, NotFound
from discreet.models.closeness import TCloseness
from discreet.models.model import parse
from discreet.verbs.publish.arx import from_arx

DEFINITION = """<definition>
  <assigment><name>name</name><type>IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype>
    <ref>hierarchies/name.csv</ref><min>All</min><max>All</max></assigment>
  <assigment><name>age</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>Integer</datatype>
    <ref>hierarchies/age.csv</ref><min>1</min><max>All</max></assigment>
  <assigment><name>city</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype>
    <ref>hierarchies/city.csv</ref><min>All</min><max>All</max></assigment>
  <assigment><name>born</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>Date/Time</datatype>
    <format>dd.MM.yyyy</format></assigment>
  <assigment><name>income</name><type>INSENSITIVE_ATTRIBUTE</type><datatype>Decimal</datatype></assigment>
  <assigment><name>disease</name><type>SENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>
</definition>"""
CONFIG = """<config><relativeMaxOutliers>0.05</relativeMaxOutliers><criteria>
  <criterion>5-anonymity</criterion>
  <criterion>distinct-3-diversity for attribute 'disease'</criterion>
  <criterion>shannon-entropy-2.5-diversity for attribute 'disease'</criterion>
  <criterion>recursive-(4.0,3)-diversity for attribute 'disease'</criterion>
  <criterion>0.2-closeness with equal ground-distance for attribute 'disease'</criterion>
  <criterion>(0.1,0.9)-presence</criterion>
</criteria></config>"""


def project(folder, **changed):
    files = {
        "input/definition.xml": DEFINITION,
        "input/config.xml": CONFIG,
        "input/hierarchies/age.csv": "1;0-9;*\n2;0-9;*\n11;10-19;*\n",
        "input/hierarchies/city.csv": "Bari\nRoma\n",
        "input/hierarchies/name.csv": "Ann;*\n",
    } | changed
    path = folder / "clinic.deid"
    with ZipFile(path, "w") as archive:
        for name, text in files.items():
            if text is not None:
                archive.writestr(name, text)
    return path


def test_a_project_becomes_a_card_and_settings(tmp_path):
    found = from_arx(project(tmp_path))
    roles = {column.name: (column.kind, column.role) for column in found.card.columns}
    assert found.card.name == "clinic"
    assert roles == {
        "name": (Kind.TEXT, Role.IDENTIFIER),
        "age": (Kind.INTEGER, Role.QUASI),
        "city": (Kind.TEXT, Role.QUASI),
        "born": (Kind.TEXT, Role.QUASI),
        "income": (Kind.REAL, Role.OTHER),
        "disease": (Kind.TEXT, Role.SENSITIVE),
    }
    assert found.card["age"].hierarchy.paths[0] == ("1", "0-9")
    assert found.card["city"].hierarchy is None
    assert found.levels == {"age": "1..2"}
    assert found.suppress == "0.05"
    assert found.left_out == ("(0.1,0.9)-presence",)
    claims = [parse(text, found.card).claim.name for text in found.models]
    assert len(claims) == 5


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_the_distance_of_closeness_is_kept(tmp_path, distance):
    text = CONFIG.replace("with equal ground", f"with {distance} ground")
    found = from_arx(project(tmp_path, **{"input/config.xml": text}))
    assert parse(found.models[-1], found.card) == TCloseness("0.2", "disease", distance)


def test_closeness_by_a_distance_that_is_not_known_is_left_out(tmp_path):
    for words in ("with other ground-distance ", "", "with equal ground-distance, nearly "):
        text = CONFIG.replace("with equal ground-distance ", words)
        found = from_arx(project(tmp_path, **{"input/config.xml": text}))
        assert len(found.models) == 4
        assert f"0.2-closeness {words}for attribute 'disease'" in found.left_out


def test_a_project_without_settings_is_a_card_only(tmp_path):
    found = from_arx(project(tmp_path, **{"input/config.xml": None}))
    assert (found.models, found.suppress) == ((), None)


@pytest.mark.parametrize(
    "definition", [None, "<definition>", '<!DOCTYPE a [<!ENTITY b "c">]><definition/>', "\udcff"], ids=range(4)
)
def test_what_is_no_project_is_refused(tmp_path, definition):
    changed = definition.encode(errors="surrogateescape") if definition else definition
    with pytest.raises(DataError):
        from_arx(project(tmp_path, **{"input/definition.xml": changed}))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.deid").write_text("no archive")
    with pytest.raises(DataError, match="is not a readable ARX project"):
        from_arx(tmp_path / "a.deid")
    with pytest.raises(NotFound):
        from_arx(tmp_path / "b.deid")
