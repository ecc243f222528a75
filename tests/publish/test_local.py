"""Local recoding: models hold for what is released, limits are exact, and no single step betters the result."""

import itertools
from collections import defaultdict
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.publish import exhaustive as slow
from tests.publish.labelled import of_case, released, seeded, text, values_of

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise
from discreet.models.closeness import TCloseness
from discreet.models.diversity import EntropyLDiversity, LDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.risk import AverageRisk, MarketerRisk
from discreet.samples import inpatient
from discreet.utility.quality import Granularity, Precision
from discreet.verbs.publish.local import LocalRecode
from discreet.verbs.publish.publish import publish
from discreet.verbs.publish.tuples import refusal, tuples_of

SHARES = [0, 0, "1/10", "1/4"]


def table_of(case):
    return read(case.data(), case.card())


@pytest.mark.parametrize("seed", range(30))
def test_k_anonymity_alone(seed):
    rng = seeded(seed)
    case, k, share = slow.random_case(rng), rng.randint(1, 6), rng.choice(SHARES)
    recoder = LocalRecode(share, effort=2)
    if len(case.rows) < k:
        with pytest.raises(NoPromise, match="not even all rows together are"):
            recoder.recode(table_of(case), [KAnonymity(k)])
        return
    found = recoder.recode(table_of(case), [KAnonymity(k)])
    classes = of_case(case, found)
    assert min(map(len, classes.values())) >= k
    assert found.suppressed <= Fraction(share) * len(case.rows)
    assert found.parameters["locally_optimal"]
    total = sum(lost(case, labels) * len(places) for labels, places in classes.items()) + found.suppressed
    assert found.loss == pytest.approx(total / len(case.rows))
    assert found.gap <= found.loss + 1e-9
    step = better_step(case, classes, k, int(Fraction(share) * len(case.rows)))
    assert step is None, f"{step} would lose less"


def lost(case, labels):
    """The mean share of their domains that labels cover."""
    return sum(share_of(case, column, label) for column, label in enumerate(labels)) / len(labels)


def share_of(case, column, label):
    """How much of its domain a label covers: that of the finest level it occurs on."""
    for level in range(case.heights[column] + 1):
        for value in case.domain(column):
            if case.label(column, value, level) == label:
                return case.share(column, value, level)
    raise AssertionError(label)


def box(case, values):
    """What a row loses by the finest labels that values share, and the level of each column."""
    total, levels = 0.0, []
    for column, own in enumerate(zip(*values, strict=True)):
        level = next(
            level
            for level in range(case.heights[column] + 1)
            if len({case.label(column, value, level) for value in own}) == 1
        )
        total += case.share(column, own[0], level)
        levels.append(level)
    return total / len(levels), levels


def better_step(case, classes, k, limit):
    """A move of one combination of values, or a split of a class by a finer label, that loses less; ``None``: none."""
    rows = [quasi for quasi, _ in case.rows]
    parts = [[rows[place] for place in places] for places in classes.values()]
    kept = set(itertools.chain(*classes.values()))
    outside = [quasi for place, quasi in enumerate(rows) if place not in kept]
    cost = [len(part) * box(case, part)[0] for part in parts]
    for one, part in enumerate(parts):
        for values in set(part):
            moving, rest = [v for v in part if v == values], [v for v in part if v != values]
            if len(rest) < k:
                continue
            spared = cost[one] - len(rest) * box(case, rest)[0]
            if len(outside) + len(moving) <= limit and len(moving) < spared - 1e-9:
                return "suppressing", values
            for two, other in enumerate(parts):
                joined = other + moving
                if two != one and len(joined) * box(case, joined)[0] - cost[two] < spared - 1e-9:
                    return "moving", values
        for column, level in enumerate(box(case, part)[1]):
            for label in {case.label(column, v[column], level - 1) for v in part} if level else ():
                inner = [v for v in part if case.label(column, v[column], level - 1) == label]
                outer = [v for v in part if case.label(column, v[column], level - 1) != label]
                halves = sum(len(half) * box(case, half)[0] for half in (inner, outer))
                if min(len(inner), len(outer)) >= k and halves < cost[one] - 1e-9:
                    return "splitting", column, label
    for values in set(outside):
        moving = [v for v in outside if v == values]
        for two, other in enumerate(parts):
            if (len(other) + len(moving)) * box(case, other + moving)[0] - cost[two] < len(moving) - 1e-9:
                return "taking back", values
    return None


MODELS = [
    (LDiversity(2, "s"), slow.distinct(2)),
    (LDiversity(3, "s"), slow.distinct(3)),
    (EntropyLDiversity(2, "s"), slow.entropy(2)),
    (TCloseness("3/10", "s"), slow.close("3/10")),
    (TCloseness("1/2", "s"), slow.close("1/2")),
]


@pytest.mark.parametrize("seed", range(40))
def test_any_models(seed):
    rng = seeded(1000 + seed)
    case, k, share = slow.random_case(rng), rng.randint(1, 4), rng.choice(SHARES)
    chosen = [(KAnonymity(k), slow.at_least(k)), *rng.sample(MODELS, rng.randint(1, 2))]
    models, tests = zip(*chosen, strict=True)
    everybody = [value for _, value in case.rows]
    try:
        found = LocalRecode(share, effort=2).recode(table_of(case), models)
    except NoPromise:
        assert not all(test(everybody, everybody) for test in tests)
        return
    classes = of_case(case, found)
    inside, whole = values_of(case, classes)
    assert all(test(values, whole) for test in tests for values in inside)
    assert found.suppressed <= Fraction(share) * len(case.rows)
    assert not found.parameters["locally_optimal"], "moves that a model forbids were not all tried"


def test_a_model_of_all_classes_together():
    case = next(case for case in (slow.random_case(seeded(seed)) for seed in range(99)) if len(case.rows) == 60)
    found = LocalRecode(effort=1).recode(table_of(case), [AverageRisk("1/8")])
    sizes = [len(places) for places in of_case(case, found).values()]
    assert Fraction(len(sizes), sum(sizes)) <= Fraction(1, 8)


def small(ages, cities=None, hierarchy=None):
    """Rows of an age and a city."""
    card = Card(
        "small",
        (
            Column("age", Kind.INTEGER, Role.QUASI, hierarchy=hierarchy),
            Column("city", Kind.TEXT, Role.QUASI, hierarchy=Taxonomy.from_tree({"north": ["a", "b"], "south": ["c"]})),
        ),
    )
    return read(pa.table({"age": pa.array(ages, pa.int64()), "city": text(cities or ["a"] * len(ages))}), card)


def labels_of(table, recoding):
    classes = released(table.fetch().to_pylist(), table.quasi(), recoding.mapping)
    return {labels: len(places) for labels, places in classes.items()}


def test_top_and_bottom_coding():
    table = small([3, 5, 40, 40, 91, 95], hierarchy=Coding(bottom=18, top=90))
    found = LocalRecode().recode(table, [KAnonymity(2)])
    assert labels_of(table, found) == {("<18", "a"): 2, ("40", "a"): 2, (">=90", "a"): 2}


def test_a_column_without_hierarchy_is_kept_or_suppressed():
    table = small([1, 1, 2, 3])
    found = LocalRecode().recode(table, [KAnonymity(2)])
    assert labels_of(table, found) == {("1", "a"): 2, ("*", "a"): 2}


def test_a_missing_value_is_a_value():
    table = small([None, None, 7, 7], ["a", "a", None, "b"])
    found = LocalRecode().recode(table, [KAnonymity(2)])
    assert labels_of(table, found) == {(None, "a"): 2, (7, "*"): 2}
    assert found.mapping.schema.field("age_new").type == pa.int64(), "nothing was changed in it"


def test_nothing_to_do():
    table = small([7, 7, 7])
    found = LocalRecode().recode(table, [KAnonymity(3)])
    assert labels_of(table, found) == {(7, "a"): 3}
    assert (found.loss, found.gap, found.suppressed) == (0, 0, 0)


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_with_next_to_nothing(rows):
    table = small([5] * rows)
    found = LocalRecode().recode(table, [KAnonymity(1)])
    assert labels_of(table, found) == ({(5, "a"): 1} if rows else {})
    assert publish(table, LocalRecode(), [KAnonymity(1)]).payload.num_rows == rows


def test_everybody_different():
    table = small(list(range(20)), list("abc") * 6 + ["a", "b"])
    found = LocalRecode().recode(table, [KAnonymity(4)])
    assert min(labels_of(table, found).values()) >= 4
    assert {age for age, _ in labels_of(table, found)} == {"*"}


def test_one_row_that_spoils_it_is_suppressed_if_it_may_be():
    table = small([1, 1, 1, 1, 2], ["a", "a", "b", "b", "c"])
    assert LocalRecode("1/5").recode(table, [KAnonymity(2)]).suppressed == 1
    assert LocalRecode("1/6").recode(table, [KAnonymity(2)]).suppressed == 0


def test_not_all_rows_are_suppressed():
    with pytest.raises(NoPromise):
        LocalRecode(1).recode(small([1, 2]), [KAnonymity(3)])


def test_time_is_up_at_once():
    case = slow.random_case(seeded(5))
    found = LocalRecode(time_limit=0).recode(table_of(case), [KAnonymity(2)])
    assert min(map(len, of_case(case, found).values())) >= 2
    assert not found.parameters["locally_optimal"]


def test_progress_ends_where_it_should():
    told = []
    LocalRecode().recode(small([1, 2, 3, 4]), [KAnonymity(2)], lambda share, what: told.append(share))
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] <= 1


def test_by_precision():
    case = slow.random_case(seeded(11))
    found = LocalRecode(quality=Precision()).recode(table_of(case), [KAnonymity(3)])
    classes = of_case(case, found)
    rows = [quasi for quasi, _ in case.rows]
    height = sum(
        len(places) * sum(level / top for level, top in zip(levels, case.heights, strict=True))
        for places in classes.values()
        for levels in [box(case, [rows[place] for place in places])[1]]
    )
    assert found.loss == pytest.approx(height / len(rows) / len(case.heights))


def test_the_recipe_warns():
    found = LocalRecode().recode(small([1, 2, 3, 4]), [KAnonymity(2)])
    assert any("2509.03350" in step and "random" in step for step in found.steps)
    assert any("locally optimal" in step for step in found.steps)


def test_a_grouping_is_drawn_at_random():
    seen = set()
    for _ in range(40):
        found = LocalRecode(effort=1).recode(table_with_halves(), [KAnonymity(2)])
        groups = defaultdict(set)
        for line in found.mapping.to_pylist():
            groups[line["age_new"], line["city_new"]].add((line["age"], line["city"]))
        seen.add(frozenset(map(frozenset, groups.values())))
        if len(seen) > 1:
            break
    assert len(seen) > 1, "forty draws gave the same grouping: one in a billion, if it is random"


def table_with_halves():
    """Four people, of whom any one can be grouped with either of two others at the same price."""
    card = Card("halves", tuple(Column(name, Kind.INTEGER, Role.QUASI) for name in ("age", "city")))
    return read(pa.table({"age": [1, 1, 2, 2], "city": [1, 2, 1, 2]}), card)


def test_the_inpatient_table():
    table = inpatient()
    release = publish(table, LocalRecode(), [KAnonymity(4), LDiversity(3, "condition")])
    conditions = defaultdict(list)
    for row in release.payload.to_pylist():
        conditions[tuple(row[name] for name in table.quasi())].append(row["condition"])
    assert min(map(len, conditions.values())) >= 4
    assert min(len(set(values)) for values in conditions.values()) >= 3


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"quality": Granularity("geometric")}, "is a sum over cells"),
        ({"suppress": 2}, "suppress must be a number between 0 and 1"),
        ({"effort": -1}, "effort"),
        ({"effort": True}, "effort"),
    ],
)
def test_what_cannot_be_asked(said, match):
    with pytest.raises(BadInput, match=match):
        LocalRecode(**said)


def test_a_population_has_no_labels():
    table = small([1, 2])
    with pytest.raises(BadInput, match="needs a population"):
        LocalRecode().recode(table, [KMap(2, table)])


def test_a_quasi_identifier_is_no_secret():
    with pytest.raises(BadInput, match="quasi-identifier"):
        LocalRecode().recode(small([1, 2]), [LDiversity(2, "age")])


@pytest.mark.parametrize("rows", ["abcd", "aabc", "abcdef"])
@pytest.mark.parametrize("share", [0, "1/2", "9/10"])
def test_what_all_rows_as_one_class_satisfy_is_found(rows, share):
    """Also where suppressing leads nowhere."""
    table = read(pa.table({"z": list(rows)}), Card("t", (Column("z", Kind.TEXT, Role.QUASI),)))
    found = LocalRecode(share, effort=2).recode(table, [MarketerRisk("0.3")])
    assert found.suppressed <= Fraction(share) * len(rows)


def test_a_refusal_says_that_one_class_does_not_help_only_if_so():
    table = read(pa.table({"z": list("aabb")}), Card("t", (Column("z", Kind.TEXT, Role.QUASI),)))
    tuples = tuples_of(table)
    assert "not even all rows" in str(refusal(tuples, [KAnonymity(5)]))
    assert "No equivalence classes were found" in str(refusal(tuples, [KAnonymity(4)]))
