"""Models as people write them."""

import pytest

from discreet.core.card import Card, Column, Role
from discreet.core.families import MODELS
from discreet.core.kind import Kind
from discreet.errors import BadInput, NotFound
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import parse, parse_all, population_of
from discreet.models.presence import DeltaPresence
from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk, ProsecutorRisk
from discreet.models.uniqueness import PopulationUniqueness

CARD = Card(
    "people",
    (
        Column("age", Kind.INTEGER, Role.QUASI),
        Column("disease", Kind.TEXT, Role.SENSITIVE),
        Column("born in", Kind.TEXT, Role.OTHER),
    ),
)
WRITTEN = {
    "k=5": KAnonymity(5),
    " K = 5 ": KAnonymity(5),
    "l=3 on disease": LDiversity(3, "disease"),
    "l=3": LDiversity(3, "disease"),
    "distinct l=3 on 'born in'": LDiversity(3, "born in"),
    "entropy l=2.5 on disease": EntropyLDiversity("2.5", "disease"),
    "recursive c=2 l=3 on disease": RecursiveLDiversity(2, 3, "disease"),
    "t=0.2 on disease": TCloseness("0.2", "disease"),
    "t=20% on born in": TCloseness("0.2", "born in"),
    "ordered t=1/3 on disease": TCloseness("1/3", "disease", "ordered"),
    "alpha=0.5 k=5 on disease": AlphaK("0.5", 5, "disease"),
    "p=2 k=5 on disease": PSensitivity(2, 5, "disease"),
    "beta=1 on disease": BetaLikeness(1, "disease"),
    "enhanced beta=1": BetaLikeness(1, "disease", enhanced=True),
    "delta=1.5 on disease": DeltaDisclosure("1.5", "disease"),
    "risk=0.2": ProsecutorRisk("0.2"),
    "average risk=5%": AverageRisk("0.05"),
    "marketer risk=0.05": MarketerRisk("0.05"),
    "unique=0.01 of 1,000,000": PopulationUniqueness("0.01", 1_000_000),
    "unique=0.01 of 1000 by Pitman": PopulationUniqueness("0.01", 1000, "pitman"),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written_is_what_is_meant(text):
    assert parse(text, CARD) == WRITTEN[text]


@pytest.mark.parametrize(
    ("text", "kind"),
    {
        "presence=0.1..0.7 in people of town.csv": DeltaPresence,
        "k-map=5 in people of town.csv": KMap,
        "risk=0.2 in people of town.csv": JournalistRisk,
        "average risk=0.2 in people of town.csv": AverageRisk,
        "marketer risk=0.2 in people of town.csv": MarketerRisk,
    }.items(),
)
def test_a_population_is_opened_with_the_quasi_identifiers_of_the_card(text, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people of town.csv").write_text("age\n30\n40\n")
    found = parse(text, CARD)
    assert isinstance(found, kind)
    assert found.reference.card.name == "people of town"
    assert found.reference.count() == 2


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "x=5": "no privacy model",
        "": "no privacy model",
        "k=5 on disease": "no privacy model",
        "k=five": "k must be a whole number",
        "k=0": "whole number, at least 1",
        "l=2.5 on disease": "l must be a whole number",
        "t=2 on disease": "between 0 and 1",
        "t=x on disease": "t must be a number",
        "unique=0.1 of 100 by guess": "estimator must be largest",
    }.items(),
)
def test_what_cannot_be_meant_is_refused(text, said):
    with pytest.raises(BadInput, match=said):
        parse(text, CARD)


def test_the_error_lists_what_is_known():
    with pytest.raises(BadInput) as error:
        parse("privacy", CARD)
    assert all(entry.usage in error.value.hint for entry in MODELS.entries())


def test_columns_and_files_that_are_not_there():
    with pytest.raises(NotFound, match="no column 'illness'"):
        parse("l=3 on illness", CARD)
    with pytest.raises(NotFound):
        parse("k-map=3 in nowhere.csv", CARD)
    with pytest.raises(BadInput, match="declares no sensitive column"):
        parse("l=3", Card("x", CARD.columns[:1]))


def test_a_population_that_several_models_name_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.csv").write_text("age\n30\n40\n")
    found = parse_all(["k-map=3 in town.csv", "k=2", f"presence=0..0.7 in {tmp_path}/town.csv"], CARD)
    assert found[0].reference is found[2].reference is population_of(found)


@pytest.mark.parametrize(("text", "unit"), [("age\n30\n", None), ("age,who,other\n30,a,1\n", "who")])
def test_a_population_keeps_the_unit_if_it_has_it(text, unit, tmp_path, monkeypatch):
    """Then people are counted, and not rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "town.csv").write_text(text)
    card = Card("people", (Column("who", Kind.TEXT), *CARD.columns), unit="who", rows_per_unit=3, groups_per_unit=2)
    found = parse("k-map=1 in town.csv", card).reference.card
    assert (found.unit, found.rows_per_unit) == (unit, None)
