"""What a job is to do, as plain data."""

import pytest

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.errors import BadInput
from discreet.service.api.schemas import job_schema
from discreet.service.jobs.checks import method_of
from discreet.service.jobs.specs import (
    LONGEST,
    LONGEST_METHOD,
    SPECS,
    Attack,
    Combine,
    Compare,
    Hide,
    Learn,
    Prove,
    Publish,
    Synthesize,
    Tabulate,
    read_spec,
)
from discreet.verbs.synthesize.non_private.cart import Cart

WHOLE = (
    Publish("stays", ("k=5",), "mondrian", "5%", "precision", "For the city"),
    Synthesize("stays", "epsilon=1 delta=1e-9 by=mst on ward, disease"),
    Tabulate("stays", ("ward × disease",), None, ("min=3",), "round base=5", "Wards"),
    Hide(
        "stays",
        "5%",
        "60%",
        ("ward=north",),
        ("ward=north => disease=flu",),
        ("ward", "disease"),
        "bba",
        (),
        "10%",
        "Wards",
    ),
    Learn("stays", "tree target=disease integral=20", "Illness"),
    Attack("20260101-stays-00000000", ("uniqueness",), 100_000),
    Compare("stays", "il1", ("noise alpha=0.1",)),
    Combine("pay", "stays"),
    Prove("adjacent any\nclaim 1\nyes(x : private bool) : bool\n  return true\n", "dp", 5),
)


@pytest.mark.parametrize("spec", WHOLE, ids=lambda spec: spec.kind)
def test_a_spec_is_plain_data_and_back(spec):
    said = spec.to_dict()
    assert read_spec(spec.kind, said) == spec
    assert not any(isinstance(value, tuple) for value in said.values())
    assert set(spec.about()) == {"attack": {"release"}, "combine": {"session"}, "prove": set()}.get(
        spec.kind, {"table"}
    )


def test_there_is_one_of_each_kind():
    assert {type(spec) for spec in WHOLE} == set(SPECS.values())


def test_a_method_is_known_however_it_is_spelled():
    card = Card("stays", (Column("age", Kind.INTEGER), Column("ward", Kind.TEXT)))
    assert method_of(Publish("stays", (), "Synthesize CART"), card) == Cart()


def test_what_is_left_out_is_as_by_default():
    assert read_spec("publish", {"table": "stays", "models": ["k=5"]}) == Publish("stays", ("k=5",))
    assert read_spec("compare", {"table": "stays"}).loss == "pil"


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("magic", {}, "no job of the kind"),
        ("publsh", {}, "did you mean 'publish'"),
        ("publish", [], "is an object with table"),
        ("publish", {"table": "stays"}, "needs models"),
        ("publish", {"table": "stays", "models": [], "modles": []}, "did you mean 'models'"),
        ("publish", {"table": "stays", "models": "k=5"}, "models must be a list"),
        ("publish", {"table": "stays", "models": [5]}, "models is text"),
        ("publish", {"table": "stays", "models": ["k=5"] * 101}, "at most 100"),
        ("publish", {"table": None, "models": []}, "table is text"),
        ("publish", {"table": "x" * 1001, "models": []}, "at most 1,000"),
        ("publish", {"table": "a\nb", "models": []}, "in one line"),
        ("attack", {"release": "x", "population": True}, "whole number"),
        ("attack", {"release": "x", "population": -1}, "whole number"),
        ("attack", {"release": "x", "population": 10**12}, "whole number"),
        ("tabulate", {"table": "stays", "by": ["a"], "rules": []}, "needs value"),
        ("tabulate", {"table": "stays", "by": ["a"], "rules": [], "value": 1}, "value is text"),
    ],
)
def test_an_error_says_what_is_wrong(kind, data, said):
    with pytest.raises(BadInput, match=said):
        read_spec(kind, data)


def test_a_stand_in_names_the_columns_of_a_wide_table():
    columns = ", ".join(f"a_column_with_a_long_name_{number}" for number in range(200))
    method = f"epsilon=1 delta=1e-9 on {columns}"
    assert len(method) > LONGEST
    assert read_spec("synthesize", {"table": "stays", "method": method}).method == method
    job_schema(Synthesize)(table="stays", method=method)
    with pytest.raises(BadInput, match="at most 20,000 characters"):
        Synthesize("stays", "x" * (LONGEST_METHOD + 1))
    with pytest.raises(ValueError, match="at most 20000"):
        job_schema(Synthesize)(table="stays", method="x" * (LONGEST_METHOD + 1))
    with pytest.raises(BadInput, match="at most 1,000 characters"):
        Publish("stays", ("k=5",), "x" * (LONGEST + 1))
    with pytest.raises(ValueError, match="at most 1000"):
        job_schema(Publish)(table="stays", models=["k=5"], method="x" * (LONGEST + 1))
