"""What every model keeps: a new one gets these tests by being listed here."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models import plain

from discreet.core.card import Column
from discreet.core.families import MODELS
from discreet.core.kind import Kind
from discreet.core.statement import Claim
from discreet.errors import BadInput
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
from discreet.models.classes import Classes, Spread
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import All, Model, from_claim, settled
from discreet.models.presence import DeltaPresence
from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk, ProsecutorRisk
from discreet.models.uniqueness import PopulationUniqueness
from discreet.samples import inpatient

PEOPLE = inpatient()  # any table: only its name is used where classes are made by hand
EXAMPLES = [
    KAnonymity(3),
    KMap(4, PEOPLE),
    AlphaK("1/2", 2, "s"),
    PSensitivity(2, 2, "s"),
    LDiversity(2, "s"),
    EntropyLDiversity("1.7", "s"),
    RecursiveLDiversity("1.5", 2, "s"),
    TCloseness("0.3", "s"),
    TCloseness("0.2", "s", "ordered"),
    TCloseness("0.2", "s", "hierarchical"),
    BetaLikeness("0.5", "s"),
    BetaLikeness("0.5", "s", enhanced=True),
    DeltaDisclosure("1.2", "s"),
    DeltaPresence("0.2", "0.6", PEOPLE),
    DeltaPresence(0, "1/3", PEOPLE),
    ProsecutorRisk("1/3"),
    JournalistRisk("0.2", PEOPLE),
    MarketerRisk("0.4"),
    MarketerRisk("0.2", PEOPLE),
    AverageRisk("0.3", PEOPLE),
    AverageRisk("0.4"),
    *(PopulationUniqueness("0.05", 200, name) for name in ("largest", "dankar", "pitman", "zayatz", "snb")),
    KAnonymity(2) & LDiversity(2, "s"),
    TCloseness("0.4", "s") & MarketerRisk("0.3", PEOPLE) & KMap(2, PEOPLE),
]
TREE = Column("s", Kind.TEXT, hierarchy=plain.TREE)
ROWS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["a", "b", "c", "d", "e", None])), max_size=30)


def drawn(data, rows):
    """Classes of rows in a population that has at least as many people in each, and perhaps some in none."""
    extra = data.draw(st.lists(st.integers(0, 9), min_size=8, max_size=8))
    sizes = {key: len(values) for key, values in plain.groups(rows).items()}
    people = {key: sizes[key] + extra[key] for key in sizes}
    return plain.made(rows, TREE, people, data.draw(st.sampled_from([0, 0, 5])))


def merged(classes, into):
    """The classes with those of equal number in ``into`` made one."""
    numbers = np.unique(into, return_inverse=True)[1]
    count = int(numbers.max(initial=-1)) + 1
    spread = classes.spread("s")
    lines = {}
    for place, code, many in zip(spread.classes, spread.codes, spread.counts, strict=True):
        key = int(numbers[place]), int(code)
        lines[key] = lines.get(key, 0) + int(many)
    table = np.array([(*key, lines[key]) for key in sorted(lines)], dtype=np.int64).reshape(-1, 3)
    sums = [
        np.bincount(numbers, weights=w, minlength=count).astype(np.int64) for w in (classes.sizes, classes.people())
    ]
    joined = Spread(spread.column, spread.domain, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())
    return Classes(sums[0], {"s": joined}, None, sums[1], classes.outside)


def test_every_model_has_an_example():
    assert {type(model) for model in EXAMPLES} == {*(entry.kind for entry in MODELS.entries()), All}


@pytest.mark.parametrize("model", EXAMPLES, ids=str)
class TestContract:
    def test_it_is_a_model_that_can_be_compared_and_hashed(self, model):
        assert isinstance(model, Model)
        assert model == from_claim(model.claim, PEOPLE)
        assert hash(model) == hash(from_claim(model.claim, PEOPLE))

    def test_its_claim_is_data(self, model):
        assert Claim.from_dict(model.claim.to_dict()) == model.claim

    def test_without_rows_it_holds(self, model):
        empty = plain.made([], TREE, {})
        assert len(model.figures(empty)) == len(model.breaking(empty)) == 0
        verdict = model.verdict(empty)
        assert verdict.holds
        assert (verdict.rows, verdict.exposed, verdict.worst) == (0, 0, None)
        assert math.isnan(verdict.figure)
        assert verdict.to_dict()["figure"] is None

    @settings(max_examples=10, deadline=None)
    @given(rows=ROWS, data=st.data())
    def test_it_breaks_nothing_exactly_if_it_holds(self, model, rows, data):
        classes = drawn(data, rows)
        broken = model.breaking(classes)
        assert broken.dtype == np.bool_
        assert len(broken) == len(model.figures(classes)) == len(classes.sizes)
        verdict = model.verdict(classes)
        assert verdict.holds == (not broken.any())
        assert verdict.exposed == classes.sizes[broken].sum()
        assert str(verdict.claim) in str(verdict)
        left = classes.keeping(settled(classes, [model]))
        assert model.verdict(left).holds

    @settings(max_examples=12, deadline=None)
    @given(rows=ROWS, data=st.data())
    def test_if_it_is_monotone_merging_classes_never_breaks_it(self, model, rows, data):
        if not model.monotone:
            return
        classes = drawn(data, rows)
        classes = classes.keeping(settled(classes, [model]))
        into = data.draw(st.lists(st.integers(0, 3), min_size=len(classes.sizes), max_size=len(classes.sizes)))
        assert model.verdict(merged(classes, np.array(into, dtype=np.int64))).holds

    def test_with_another_it_holds_if_both_do(self, model):
        both = model & KAnonymity(2)
        assert KAnonymity(2) in both.models
        assert both & model == both
        rows = [(0, "a"), (0, "b"), (1, "a"), (1, "b"), (1, "a"), (2, "c")]
        classes = plain.made(rows, TREE, {0: 2, 1: 6, 2: 4})
        parts = [part.breaking(classes) for part in both.models]
        assert both.breaking(classes).tolist() == np.any(parts, axis=0).tolist()
        assert both.monotone == model.monotone


def test_a_claim_that_was_tampered_with_is_no_model():
    claim = KAnonymity(5).claim
    with pytest.raises(BadInput, match="6-anonymous"):
        from_claim(Claim(claim.name, "6-anonymous", {"k": 5}))
    with pytest.raises(BadInput, match="parameters"):
        from_claim(Claim(claim.name, claim.text, {"k": 5, "l": 2}))
    with pytest.raises(BadInput, match="no privacy model"):
        from_claim(Claim("x-privacy", "x", {}))
    with pytest.raises(BadInput, match="give its table"):
        from_claim(KMap(2, PEOPLE).claim)


def test_only_models_are_joined_and_only_one_population_is_meant():
    with pytest.raises(BadInput, match="Only privacy models"):
        KAnonymity(2) & 3
    with pytest.raises(BadInput, match="No privacy model given"):
        All([])
    joined = KMap(2, PEOPLE) & JournalistRisk("0.5", PEOPLE.where(_true()))
    with pytest.raises(BadInput, match="different populations"):
        _ = joined.reference


def _true():
    from sqlglot import exp

    return exp.true()


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KAnonymity(True),
        lambda: KAnonymity(2.0),
        lambda: KMap(0, PEOPLE),
        lambda: LDiversity(0, "s"),
        lambda: EntropyLDiversity("0.5", "s"),
        lambda: RecursiveLDiversity(0, 2, "s"),
        lambda: AlphaK(0, 2, "s"),
        lambda: AlphaK("1.1", 2, "s"),
        lambda: TCloseness("1.01", "s"),
        lambda: TCloseness(float("nan"), "s"),
        lambda: TCloseness("0.5", "s", "far"),
        lambda: BetaLikeness(0, "s"),
        lambda: DeltaDisclosure(-1, "s"),
        lambda: DeltaPresence("0.7", "0.2", PEOPLE),
        lambda: ProsecutorRisk(0),
        lambda: PopulationUniqueness("0.1", 0),
        lambda: PopulationUniqueness("0.1", 10, "guess"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make):
    with pytest.raises(BadInput):
        make()


def test_numbers_of_numpy_are_numbers():
    assert KAnonymity(np.int64(3)) == KAnonymity(3)
    assert KAnonymity(np.int64(3)).claim == KAnonymity(3).claim
    assert PopulationUniqueness("0.1", np.int32(50)).claim == PopulationUniqueness("0.1", 50).claim
    assert BetaLikeness(np.int64(2), "s") == BetaLikeness(2, "s")
