"""Examples with published answers."""

from fractions import Fraction

import pyarrow as pa
import pytest
from tests.models import plain

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.models.check import check
from discreet.models.closeness import Distance, TCloseness, usual_distance
from discreet.models.diversity import EntropyLDiversity, LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.models.risk import ProsecutorRisk
from discreet.samples import age6, inpatient, tarragona5

DISEASES = Taxonomy.from_tree(
    {
        "respiratory": {
            "respiratory infection": ["flu", "pneumonia", "bronchitis"],
            "vascular lung": ["pulmonary edema", "pulmonary embolism"],
        },
        "digestive": {
            "stomach": ["gastric ulcer", "stomach cancer", "gastritis"],
            "colon": ["colitis", "colon cancer"],
        },
    }
)
PATIENTS = [  # the nine patients of Li, Li and Venkatasubramanian (2007): salary in thousands, disease
    (3, "gastric ulcer"),
    (4, "gastritis"),
    (5, "stomach cancer"),
    (6, "gastritis"),
    (11, "flu"),
    (8, "bronchitis"),
    (7, "bronchitis"),
    (9, "pneumonia"),
    (10, "stomach cancer"),
]
DIVERSE = [0, 0, 0, 1, 1, 1, 2, 2, 2]  # 3-diverse, and all of the first class are poor and have a sick stomach
CLOSE = [0, 2, 0, 1, 1, 1, 2, 0, 2]


def patients(classes):
    card = Card(
        "patients",
        (
            Column("place", Kind.INTEGER, Role.QUASI),
            Column("salary", Kind.INTEGER, Role.SENSITIVE),
            Column("disease", Kind.TEXT, Role.SENSITIVE, hierarchy=DISEASES),
        ),
    )
    salaries, diseases = zip(*PATIENTS, strict=True)
    return read(pa.table({"place": classes, "salary": salaries, "disease": diseases}), card)


def test_the_tables_of_the_closeness_paper():
    salary, disease = check(patients(CLOSE), TCloseness(1, "salary"), TCloseness(1, "disease"))
    assert salary.figure == pytest.approx(1 / 6)  # "0.167-closeness w.r.t. salary"
    assert check(patients(CLOSE), TCloseness(Fraction(1, 6), "salary")).holds
    assert not check(patients(CLOSE), TCloseness("0.1666", "salary")).holds
    # The paper prints 0.278 for disease. By its own hierarchical distance the class of gastritis, flu and bronchitis is
    # (4/9 + 2/9 + 2/9) / 3 from the whole, also by the linear program; 5/18 is half of the largest equal distance.
    assert disease.figure == pytest.approx(8 / 27)
    assert disease.worst == {"place": 1}
    whole = [name for _, name in PATIENTS]
    parts = [[name for (_, name), at in zip(PATIENTS, CLOSE, strict=True) if at == place] for place in range(3)]
    assert max(plain.moved(part, whole, apart) for part in parts) == pytest.approx(8 / 27)
    assert check(patients(CLOSE), TCloseness(1, "disease", "equal"))[0].figure == pytest.approx(2 * 5 / 18)


def apart(one, other):
    levels = [[*path, "*"] for path in DISEASES.paths]
    upward = {path[0]: path for path in levels}
    return next(level for level in range(4) if upward[one][level] == upward[other][level]) / 3


@pytest.mark.parametrize(
    ("other", "distance"), [("bronchitis", 1 / 3), ("pulmonary embolism", 2 / 3), ("stomach cancer", 1)]
)
def test_the_papers_distances_from_flu(other, distance):
    card = Card(
        "two",
        (Column("q", Kind.INTEGER, Role.QUASI), Column("disease", Kind.TEXT, Role.SENSITIVE, hierarchy=DISEASES)),
    )
    two = read(pa.table({"q": [1, 2], "disease": ["flu", other]}), card)
    assert check(two, TCloseness(1, "disease"))[0].figure == pytest.approx(distance / 2)  # half has to be moved


def test_the_distance_of_the_papers_first_class():
    found = check(patients(DIVERSE), LDiversity(3, "disease"), TCloseness("0.2", "salary"))
    assert [verdict.holds for verdict in found] == [True, False]
    assert found[1].figure == pytest.approx(0.375)  # D({3k, 4k, 5k}, Q)
    assert found[1].worst == {"place": 0}
    moved = TCloseness(1, "salary")
    other = patients([1, 1, 1, 0, 0, 0, 1, 1, 1])  # {6k, 11k, 8k}: 0.167 in the paper
    assert check(other, moved)[0].figure == pytest.approx(1 / 6)


def test_distances_are_chosen_by_the_column():
    card = patients(CLOSE).card
    assert usual_distance(card["salary"]) is Distance.ORDERED
    assert usual_distance(card["disease"]) is Distance.HIERARCHICAL
    assert usual_distance(Column("x", Kind.TEXT, categories=("a", "b"))) is Distance.EQUAL


def test_inpatients_are_4_anonymous_and_one_class_gives_the_condition_away():
    coarse = inpatient().generalize({"zip": 2, "age": 1, "nationality": 1})
    k, diverse = check(coarse, KAnonymity(4), LDiversity(2, "condition"))
    assert (k.holds, k.figure, k.exposed) == (True, 4, 0)
    assert (diverse.holds, diverse.figure, diverse.exposed) == (False, 1, 4)
    assert diverse.worst == {"zip": "130**", "age": "3*", "nationality": "*"}
    assert not check(coarse, KAnonymity(5)).holds
    regrouped = inpatient().generalize({"zip": 1, "age": 2, "nationality": 1})
    assert check(regrouped, KAnonymity(4), LDiversity(3, "condition")).holds
    assert check(regrouped, EntropyLDiversity("2.8", "condition")).holds  # e^1.0397: two of four alike in each class
    assert not check(regrouped, EntropyLDiversity(3, "condition")).holds


def test_identity_and_attribute_disclosure_are_two_things():
    table = tarragona5()
    k, diverse = check(table, KAnonymity(2), LDiversity(2, "illness"))
    assert (k.figure, k.exposed, k.worst) == (1, 1, {"city": "Tarragona", "age": 58})
    assert diverse.exposed == 5
    from sqlglot import parse_one

    without = table.where(parse_one("respondent <> 'HYU'"))
    k, diverse = check(without, KAnonymity(2), LDiversity(2, "illness"))
    assert k.holds
    assert diverse.exposed == 4


def test_each_of_two_columns_is_2_anonymous_and_both_together_are_not():
    table = age6()
    from discreet.models.classes import classes_of

    for column in ("age", "weight"):
        assert KAnonymity(2).verdict(classes_of(table, [column])).holds
    both = check(table, KAnonymity(2), ProsecutorRisk("0.5"))
    assert [verdict.holds for verdict in both] == [False, False]
    assert both.unique == 6
