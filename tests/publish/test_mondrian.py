"""Mondrian: parts satisfy the models, ranges cover their members, and strict cuts do not overlap."""

import datetime as dt
import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.publish import exhaustive as slow
from tests.publish.labelled import released, seeded, text, values_of

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise
from discreet.models.closeness import TCloseness
from discreet.models.diversity import EntropyLDiversity, LDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.risk import AverageRisk
from discreet.verbs.publish.mondrian import Mondrian
from discreet.verbs.publish.publish import publish

MODELS = [
    (LDiversity(2, "s"), slow.distinct(2)),
    (EntropyLDiversity(2, "s"), slow.entropy(2)),
    (TCloseness("3/10", "s"), slow.close("3/10")),
    (TCloseness("1/2", "s"), slow.close("1/2")),
]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("strict", [True, False])
def test_models_hold(seed, strict):
    rng = seeded(seed)
    case, k = slow.random_case(rng), rng.randint(1, 5)
    chosen = [(KAnonymity(k), slow.at_least(k)), *rng.sample(MODELS, rng.randint(0, 2))]
    models, tests = zip(*chosen, strict=True)
    everybody = [value for _, value in case.rows]
    try:
        found = Mondrian(strict=strict).recode(read(case.data(), case.card()), models)
    except NoPromise:
        assert not all(test(everybody, everybody) for test in tests)
        return
    rows = [dict(zip(case.names, quasi, strict=True)) for quasi, _ in case.rows]
    inside, whole = values_of(case, released(rows, case.names, found.mapping))
    assert sorted(whole) == sorted(everybody), "nothing is suppressed"
    assert all(test(values, whole) for test in tests for values in inside)


def numbers(seed, rows=200):
    rng = seeded(seed)
    drawn = [(rng.randint(-20, 60), rng.choice([None, 1, 2, 2, 3, 9])) for _ in range(rows)]
    card = Card("numbers", tuple(Column(name, Kind.INTEGER, Role.QUASI) for name in "xy"))
    columns = [pa.array(cells, pa.int64()) for cells in zip(*drawn, strict=True)]
    return read(pa.table(dict(zip("xy", columns, strict=True))), card)


def ends(label):
    """The first and the last value of a label, and whether NULL is in it."""
    if label is None:
        return None, None, True
    if label == "*":
        return -math.inf, math.inf, True
    inside = label.strip("[]")
    if " to " in inside:
        low, high = inside.split(" to ")
    elif "-" in inside[1:]:
        low, high = inside.split("-")
    else:
        low = high = inside
    return int(low), int(high), False


@pytest.mark.parametrize("seed", range(6))
def test_ranges(seed):
    table = numbers(seed)
    rows = table.fetch().to_pylist()
    for strict in (True, False):
        classes = released(rows, "xy", Mondrian(strict=strict).recode(table, [KAnonymity(5)]).mapping)
        boxes = []
        for labels, places in classes.items():
            assert len(places) >= 5
            box = [ends(label) for label in labels]
            for name, (low, high, missing) in zip("xy", box, strict=True):
                own = {rows[place][name] for place in places}
                known = own - {None}
                assert (None in own) == missing
                if low == -math.inf:
                    assert known, "nothing is shown only if both are in a class, those with a value and those without"
                else:
                    assert (min(known, default=None), max(known, default=None)) == (low, high), "ranges are tight"
            boxes.append(box)
        overlapping = sum(
            all(touching(a, b) for a, b in zip(one, two, strict=True))
            for place, one in enumerate(boxes)
            for two in boxes[:place]
        )
        assert not overlapping or not strict or any(low == -math.inf for box in boxes for low, _, _ in box)


def touching(one, two):
    (a, b, missing), (c, d, gone) = one, two
    both = None not in (a, c)
    return (both and a <= d and c <= b) or (missing and gone)


def test_a_part_that_can_be_cut_is_cut():
    """With one ordered column, no class can be cut in two that are large enough."""
    table = numbers(3).select("x")
    rows = table.fetch().to_pylist()
    classes = released(rows, "x", Mondrian().recode(table, [KAnonymity(4)]).mapping)
    for places in classes.values():
        own = sorted(rows[place]["x"] for place in places)
        assert not any(own[at - 1] < own[at] for at in range(4, len(own) - 3))


def one(kind, values, type_, **said):
    card = Card("one", (Column("v", kind, Role.QUASI, **said),))
    table = read(pa.table({"v": pa.array(values, type_)}), card)
    found = Mondrian().recode(table, [KAnonymity(2)])
    return [line["v_new"] for line in found.mapping.to_pylist()]


def test_labels_of_every_kind():
    days = [dt.date(2001, 5, 5), dt.date(2001, 7, 1), dt.date(2003, 1, 1), dt.date(2003, 1, 2)]
    assert one(Kind.INTEGER, [20, 29, 31, 39], pa.int64()) == ["[20-29]"] * 2 + ["[31-39]"] * 2
    assert one(Kind.INTEGER, [-9, -1, 1, 4], pa.int64()) == ["[-9 to -1]"] * 2 + ["[1-4]"] * 2
    assert one(Kind.REAL, [0.5, 1.5, 2.5, 9.0], pa.float64())[0] == "[0.5-1.5]"
    assert one(Kind.DECIMAL, [Decimal("0.50"), Decimal("1.25")], pa.decimal128(9, 2)) == ["[0.50-1.25]"] * 2
    assert one(Kind.DATE, days, pa.date32())[0] == "[2001-05-05 to 2001-07-01]"
    assert one(Kind.BOOLEAN, [True, False], pa.bool_()) == ["{false, true}"] * 2
    assert one(Kind.TEXT, ["flu", "cold"], pa.string()) == ["{cold, flu}"] * 2
    assert one(Kind.TEXT, ["flu", None], pa.string()) == ["*"] * 2
    assert one(Kind.INTEGER, [1, 2, None], pa.int64()) == ["*"] * 3


def test_categories_are_cut_in_their_order():
    sizes = ["small", "medium", "large", "huge"]
    assert one(Kind.TEXT, sorted(sizes), pa.string(), categories=tuple(sizes)) == [
        "{large, huge}",
        "{large, huge}",
        "{small, medium}",
        "{small, medium}",
    ]
    labels = one(Kind.TEXT, sorted(sizes), pa.string(), hierarchy=Ordered(sizes, (2,)))
    assert labels == ["[large to huge]", "[large to huge]", "[small to medium]", "[small to medium]"]


def test_text_is_cut_by_its_hierarchy():
    tree = Taxonomy.from_tree({"north": ["a", "b"], "south": ["c", "d"]})
    assert one(Kind.TEXT, ["a", "b", "c", "d"], pa.string(), hierarchy=tree) == ["north", "north", "south", "south"]
    assert one(Kind.TEXT, ["a", "b", "c"], pa.string(), hierarchy=tree) == ["*"] * 3


def test_numbers_are_cut_in_their_order_whatever_their_hierarchy():
    assert one(Kind.INTEGER, [3, 5, 91, 95], pa.int64(), hierarchy=Coding(top=90)) == ["[3-5]"] * 2 + ["[91-95]"] * 2


def test_the_median_is_shared_out():
    card = Card("ties", tuple(Column(name, Kind.INTEGER, Role.QUASI) for name in "xy"))
    table = read(pa.table({"x": [1, 1, 1, 2], "y": [1, 2, 3, 4]}), card)
    strict = Mondrian().recode(table, [KAnonymity(2)])
    relaxed = Mondrian(strict=False).recode(table, [KAnonymity(2)])
    assert len(set(strict.mapping.column("y_new").to_pylist())) == 2
    assert relaxed.loss <= strict.loss
    only_x = read(pa.table({"x": [1, 1, 1, 2, 3, 3], "y": [5] * 6}), card)
    assert Mondrian(strict=False).recode(only_x, [KAnonymity(3)]).quality["class size"] == 3


def test_rows_with_equal_values_stay_together():
    table = read(pa.table({"x": [4] * 9}), Card("same", (Column("x", Kind.INTEGER, Role.QUASI),)))
    for strict in (True, False):
        found = Mondrian(strict=strict).recode(table, [KAnonymity(2)])
        assert found.mapping.column("x_new").to_pylist() == [4]
        assert found.loss == 0


def test_a_model_of_all_classes_together():
    table = numbers(1)
    classes = released(table.fetch().to_pylist(), "xy", Mondrian().recode(table, [AverageRisk("1/10")]).mapping)
    assert Fraction(len(classes), 200) <= Fraction(1, 10)
    assert len(classes) > 1


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_with_next_to_nothing(rows):
    table = numbers(0, 1) if rows else numbers(0, 1).where(exp.false())
    assert Mondrian().recode(table, [KAnonymity(1)]).mapping.num_rows == rows


def test_fewer_rows_than_a_class_must_have():
    with pytest.raises(NoPromise, match="9-anonymous"):
        Mondrian().recode(numbers(0, 8), [KAnonymity(9)])


def test_a_population_has_no_ranges():
    with pytest.raises(BadInput, match="population"):
        Mondrian().recode(numbers(0), [KMap(2, numbers(0))])


def test_all_the_way_out():
    rng = seeded(9)
    card = Card(
        "patients",
        (
            Column("age", Kind.INTEGER, Role.QUASI),
            Column("city", Kind.TEXT, Role.QUASI, hierarchy=Taxonomy.from_tree({"north": ["a", "b"], "south": ["c"]})),
            Column("illness", Kind.TEXT, Role.SENSITIVE),
        ),
    )
    ages = pa.array([rng.choice([None, *range(20, 60)]) for _ in range(120)], pa.int64())
    data = {"age": ages, "city": text(rng.choices("abc", k=120)), "illness": text(rng.choices(["flu", "cold"], k=120))}
    release = publish(read(pa.table(data), card), Mondrian(), [KAnonymity(4), LDiversity(2, "illness")])
    found = defaultdict(list)
    for row in release.payload.to_pylist():
        found[row["age"], row["city"]].append(row["illness"])
    assert min(map(len, found.values())) >= 4
    assert min(len(set(values)) for values in found.values()) == 2
    assert len(found) > 4
