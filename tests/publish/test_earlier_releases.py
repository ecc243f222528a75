"""Several releases of the same people: what they show together, and when it is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.publish.hand import CARD, ROWS, Fixed, at_levels, people, recoding

import discreet as dc
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NoPromise, NotFound
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.verbs.publish.earlier_releases import check_together
from discreet.verbs.publish.publish import publish


@pytest.fixture
def six():
    return dc.samples.age6()


def test_two_tables_single_out_don_between_them(six):
    """Each is 2-anonymous: by age, and by weight. Who sees both knows everybody."""
    by_age = publish(six, at_levels({"age": 0, "weight": 1}), KAnonymity(2))
    publish(six, at_levels({"age": 1, "weight": 0}), KAnonymity(2))  # alone it may leave
    with pytest.raises(NoPromise) as refused:
        publish(six, at_levels({"age": 1, "weight": 0}), KAnonymity(2), earlier=[by_age])
    assert "6 of 6 people (100.0 %)" in str(refused.value)
    assert "has 1; 6 of 6 people are unique" in str(refused.value)
    sick = [row for row in six.fetch().to_pylist() if row["disease"] and (row["age"], row["weight"]) == (40, 100)]
    assert [row["name"] for row in sick] == ["Don"]


def test_the_same_levels_again_reveal_nothing_new(six, tmp_path):
    first = publish(six, at_levels({"age": 0, "weight": 1}), KAnonymity(2), to=tmp_path / "first")
    for earlier in (first, dc.Release.load(tmp_path / "first")):
        second = publish(six, at_levels({"age": 0, "weight": 1}), KAnonymity(2), earlier=[earlier])
        assert any("Checked together with" in sentence for sentence in second.statement.caveats)


def plain_joint(*labelled):
    """Classes of everything at once, in plain Python; ``None`` stands for a row that is not in a release."""
    together = list(zip(*labelled, strict=True))
    return Counter(labels for labels in together if any(label is not None for label in labels))


def at(levels, rows=ROWS):
    """The labels of the rows of the hand-made table, by hand."""
    ages = [lambda a: a, lambda a: None if a is None else f"{a // 10}", lambda a: None if a is None else f"{a // 20}"]
    top = lambda _: "*"  # noqa: E731
    found = []
    for _, age, born, sex, *_ in rows:
        year = [lambda b: b, lambda b: b and b.year, lambda b: b and b.year // 10, top]
        found.append(([*ages, top][levels["age"]](age), year[levels["born"]](born), [sex, "*"][levels["sex"]]))
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"age": 1, "born": 3, "sex": 1}, {"age": 3, "born": 3, "sex": 0}),
        ({"age": 3, "born": 2, "sex": 1}, {"age": 2, "born": 3, "sex": 1}),
        ({"age": 0, "born": 3, "sex": 1}, {"age": 3, "born": 3, "sex": 1}),
    ],
)
def test_joint_classes_are_those_of_all_labels_at_once(one, other):
    table = read(people(), CARD)
    first = publish(table, at_levels(one), KAnonymity(1))
    found = check_together(table, at_levels(other).found, [first], [KAnonymity(1)])
    expected = plain_joint(at(one), at(other))
    assert dict(found.sizes.classes) == Counter(expected.values())


def test_a_row_that_is_missing_from_one_release_tells_that_too():
    """Of five people in one class the second release leaves one out: the intruder knows who is missing."""
    card = dc.Card(
        "people", (dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI), dc.Column("sex", dc.Kind.TEXT, "quasi"))
    )
    table = read(pa.table({"age": [1, 1, 1, 1, 2], "sex": ["f"] * 5}), card)
    first = publish(table, at_levels({"age": 1, "sex": 0}), KAnonymity(5))
    second = at_levels({"age": 0, "sex": 0}, pa.table({"age": [2], "sex": ["f"]}), suppressed=1)
    publish(table, second, KAnonymity(4))
    found = check_together(table, second.found, [first], [KAnonymity(4)])
    assert dict(found.sizes.classes) == {4: 1, 1: 1}
    assert not found.holds


def test_who_is_in_no_release_is_not_counted():
    card = dc.Card("people", (dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI),))
    table = read(pa.table({"age": [1, 1, 2]}), card)
    gone = at_levels({"age": 0}, pa.table({"age": [2]}), suppressed=1)
    first = publish(table, gone, KAnonymity(2))
    found = check_together(table, gone.found, [first], [KAnonymity(2)])
    assert dict(found.sizes.classes) == {2: 1}
    assert found.holds


def test_sensitive_columns_count_too(six):
    by_age = publish(six, at_levels({"age": 0, "weight": 1}), KAnonymity(2))
    models = [LDiversity(2, "disease")]
    found = check_together(six, at_levels({"age": 1, "weight": 1}).found, [by_age], models)
    assert [verdict.exposed for verdict in found.verdicts] == [2]  # Alice and Bob are 30, and healthy


def test_a_release_of_other_data_is_noticed(six):
    other = read(six.fetch().slice(0, 5), six.card)
    first = publish(other, at_levels({"age": 0, "weight": 1}), KAnonymity(1))
    with pytest.raises(BadInput, match="not made from the current age6"):
        publish(six, at_levels({"age": 0, "weight": 1}), KAnonymity(2), earlier=[first])


def test_what_cannot_be_compared_is_said(six):
    levels = at_levels({"age": 0, "weight": 1})
    first = publish(six, levels, KAnonymity(2))
    by_hand = dc.Release(first.payload, first.statement, dc.Recipe("by hand"))
    with pytest.raises(BadInput, match="cannot be recovered from it"):
        publish(six, levels, KAnonymity(2), earlier=[by_hand])
    answer = dc.Release({"n": 6}, dc.Statement("person"), first.recipe)
    with pytest.raises(BadInput, match="not a published table"):
        publish(six, levels, KAnonymity(2), earlier=[answer])
    narrow = dc.Release(first.payload.drop_columns("weight"), first.statement, first.recipe)
    with pytest.raises(BadInput, match="no column 'weight'"):
        publish(six, levels, KAnonymity(2), earlier=[narrow])
    with pytest.raises(BadInput, match="population"):
        publish(six, levels, KMap(2, six), earlier=[first])


def by_hand():
    """Ages stay as they are where they are 30, and weights elsewhere."""
    tuples = dc.samples.age6().fetch().select(["age", "weight"])
    ages, weights = (tuples[name].to_pylist() for name in ("age", "weight"))
    mapping = tuples.append_column("age_new", pa.array(["30" if age == 30 else "*" for age in ages]))
    other = ["*" if age == 30 else str(weight) for age, weight in zip(ages, weights, strict=True)]
    mapping = mapping.append_column("weight_new", pa.array(other))
    return Fixed(recoding(mapping=mapping.append_column("kept", pa.array([weight != 90 for weight in weights]))))


def test_labels_of_their_own_are_told_from_what_was_kept(six, tmp_path):
    method, key = Fixed(replace(by_hand().found, suppressed=2)), tmp_path / "key.parquet"
    first = publish(six, method, KAnonymity(1), holder=key)
    with pytest.raises(BadInput, match="cannot be recovered from it"):
        publish(six, method, KAnonymity(1), earlier=[first])
    found = check_together(six, at_levels({"age": 1, "weight": 0}).found, [(first, key)], [KAnonymity(1)])
    labels = [("30", "*"), None, None, ("*", "100"), ("*", "60"), ("*", "100")]
    weights = [60, 90, 90, 100, 60, 100]
    assert dict(found.sizes.classes) == Counter(plain_joint(labels, weights).values())
    with pytest.raises(BadInput, match="already"):
        publish(six, method, KAnonymity(1), holder=key)


def test_what_was_kept_must_fit_the_release(six, tmp_path):
    method, key = Fixed(replace(by_hand().found, suppressed=2)), tmp_path / "key.parquet"
    first = publish(six, method, KAnonymity(1), holder=key)
    levels = at_levels({"age": 1, "weight": 1})
    other = publish(six, levels, KAnonymity(1))
    with pytest.raises(BadInput, match="not made from the current age6"):
        publish(six, levels, KAnonymity(1), earlier=[(other, key)])
    with pytest.raises(NotFound):
        publish(six, levels, KAnonymity(1), earlier=[(first, tmp_path / "none.parquet")])
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(DataError, match="cannot be read"):
        publish(six, levels, KAnonymity(1), earlier=[(first, tmp_path / "text.parquet")])
    pq.write_table(first.payload, tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="no column 'age_new'"):
        publish(six, levels, KAnonymity(1), earlier=[(first, tmp_path / "rows.parquet")])


@pytest.mark.parametrize("kept", [True, False])
def test_a_release_with_other_quasi_identifiers_is_not_taken(six, tmp_path, kept):
    """What it tells by a column that is none now would not be counted: the figure would be false."""
    key = tmp_path / "key.parquet"
    first = publish(six, Fixed(replace(by_hand().found, suppressed=2)), KAnonymity(1), holder=key)
    earlier = (first, key) if kept else first
    roles = {"age": dc.Role.IDENTIFIER}
    columns = [replace(column, role=roles.get(column.name, column.role)) for column in six.card.columns]
    fewer = read(six.fetch(), replace(six.card, columns=tuple(columns), rows_are_people=True))
    with pytest.raises(BadInput, match="published with 'age' as a quasi-identifier, which it is not now"):
        publish(fewer, at_levels({"weight": 0}), KAnonymity(1), earlier=[earlier])
    roles = {"disease": dc.Role.QUASI}
    columns = [replace(column, role=roles.get(column.name, column.role)) for column in six.card.columns]
    more = read(six.fetch(), replace(six.card, columns=tuple(columns)))
    with pytest.raises(BadInput, match="'disease' is a quasi-identifier now, but was not"):
        publish(more, at_levels({"age": 0, "weight": 0, "disease": 0}), KAnonymity(1), earlier=[earlier])


def test_a_key_with_columns_of_another_release_is_not_taken(six, tmp_path):
    key = tmp_path / "key.parquet"
    method = Fixed(replace(by_hand().found, suppressed=2))
    first = publish(six, method, KAnonymity(1), holder=key)
    pq.write_table(pq.read_table(key).append_column("zip_new", pa.array(["*"] * 6)), tmp_path / "wide.parquet")
    with pytest.raises(DataError, match="has a column 'zip_new'"):
        publish(six, method, KAnonymity(1), earlier=[(first, tmp_path / "wide.parquet")])
