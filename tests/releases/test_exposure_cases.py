"""Cases in which releases are harmless one by one and not together, and others in which they are."""

from __future__ import annotations

import shutil
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import parse_one
from tests.releases.registers import listed

import discreet as dc
from discreet.errors import BadInput, Exposed

ILL = ("cold", "flu", "hiv", "none")
COLUMNS = {
    "id": 'kind = "integer"\nrole = "identifier"',
    "town": 'kind = "text"\nrole = "quasi"',
    "sex": 'kind = "text"\nrole = "quasi"',
    "age": 'kind = "integer"\nrole = "quasi"\nbounds = [0, 120]',
    "weight": 'kind = "integer"\nrole = "quasi"\nbounds = [0, 300]',
    "ill": f'kind = "text"\nrole = "sensitive"\ncategories = {list(ILL)}',
    "disease": 'kind = "text"\nrole = "sensitive"\ncategories = ["no", "yes"]',
    "income": 'kind = "integer"\nrole = "sensitive"\nbounds = [0, 1000000]',
    "firm": 'kind = "text"\nrole = "identifier"',
    "region": 'kind = "text"\nrole = "quasi"',
    "sector": 'kind = "text"\nrole = "quasi"',
}


def opened(folder, rows, *, unit: str | None = "id", most: int | None = 1, name="p", file="p", **said) -> Any:
    """A table of rows with a card beside it."""
    lines = ["discreet = 1", f"[tables.{name}]", *([f'unit = "{unit}"'] if unit else [])]
    lines += [f"rows_per_unit = {most}"] if most and unit else []
    lines += [f'{key} = "{value}"' for key, value in said.items()]
    for column in rows[0]:
        lines += [f"[tables.{name}.columns.{column}]", COLUMNS[column]]
    (folder / f"{file}.toml").write_text("\n".join(lines))
    pq.write_table(pa.Table.from_pylist(rows), folder / f"{file}.parquet")
    return dc.read(folder / f"{file}.parquet", card=folder / f"{file}.toml")


def people(count: int, *, first: int = 0, oldest: int = 1) -> list[dict[str, Any]]:
    """Four illnesses in each of four towns, and ``oldest`` of them 79 or older, all of one town."""
    return [
        {
            "id": first + n,
            "town": "ABCD"[n % 4] if n >= oldest else "A",
            "age": 79 + n % 5 if n < oldest else 20 + n % 50,
            "ill": ILL[(n * 7 + n // 4) % 4],
        }
        for n in range(count)
    ]


def where(table, text):
    return table.where(parse_one(text))


def test_a_table_of_all_and_of_all_but_one(tmp_path):
    table = opened(tmp_path, people(400))
    dc.tabulate(table, "town × ill", rules="min=3")
    dc.tabulate(opened(tmp_path, people(400), file="warm"), "town × ill", rules="min=3")
    began = time.process_time()
    with pytest.raises(Exposed) as refusal:
        dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")
    assert time.process_time() - began < 1, "the release included"
    text = str(refusal.value)
    assert "together with “counts by town × ill” of 20" in text
    assert "(release 1)" in text
    assert "reveals ill of a group of 1 person; groups of fewer than 3 people must stay unknown" in text
    assert "This exposes 1 person." in text
    assert "for the same rows as the earlier one" in text
    assert "This would pass: the same table without town" not in text, "the totals differ by one person, too"
    assert len(listed(table.registers[0])) == 1


def test_a_coarser_table_is_named_if_it_would_pass(tmp_path):
    rows = people(400, oldest=0)
    rows += [{"id": 500 + n, "town": town, "age": 90, "ill": ILL[n]} for n, town in enumerate("ABCD")]
    table = opened(tmp_path, rows)
    dc.tabulate(table, "town × ill", rules="min=3")
    with pytest.raises(Exposed, match="This would pass: the same table without town"):
        dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")
    dc.tabulate(where(table, "age < 79"), "ill", rules="min=3")


@pytest.mark.parametrize("oldest", [3, 5])
def test_tables_that_differ_by_three_or_more_pass(tmp_path, oldest):
    table = opened(tmp_path, people(400, oldest=oldest))
    dc.tabulate(table, "town × ill", rules="min=3")
    made = dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")
    assert any("Checked together with 1 earlier release" in one for one in made.statement.caveats)


def test_the_same_release_twice_passes(tmp_path):
    table = opened(tmp_path, people(400))
    for _ in range(3):
        dc.tabulate(table, "town × ill", rules="min=3")
    assert len(listed(table.registers[0])) == 3


AGES = (30, 30, 40, 40, 50, 50)
WEIGHTS = (60, 90, 90, 100, 60, 100)
DISEASE = ("no", "no", "no", "yes", "no", "yes")


def six(folder, disease):
    by_age = [{"id": n, "age": age, "disease": ill} for n, (age, ill) in enumerate(zip(AGES, disease, strict=True))]
    by_weight = [
        {"id": n, "weight": w, "disease": ill} for n, (w, ill) in enumerate(zip(WEIGHTS, disease, strict=True))
    ]
    one = opened(folder, by_age, file="age6", name="age6", population="six")
    return one, opened(folder, by_weight, file="weight6", name="weight6", population="six")


def test_anonymous_by_age_and_by_weight(tmp_path):
    """Somebody of 40 has the disease, and somebody of 100 kg: it is Don."""
    one, other = six(tmp_path, ("no", "no", "no", "yes", "no", "no"))
    assert dc.publish(one, "generalize", "k=2").payload.num_rows == 6
    with pytest.raises(Exposed, match=r"“age6, published” .* reveals disease of a group of 1 person"):
        dc.publish(other, "generalize", "k=2")
    assert dc.publish(other.despite("a test"), "generalize", "k=2").payload.num_rows == 6


@pytest.mark.parametrize("first", [0, 1])
def test_two_files_of_six_people_single_out_one(tmp_path, first):
    """The weights alone tell that both people of 100 kg have it, in a class of two; with the ages it is one of them."""
    tables = six(tmp_path, DISEASE)
    dc.publish(tables[first], "generalize", "k=2")
    dc.publish(tables[first], "generalize", "k=2")  # again: no group becomes smaller
    with pytest.raises(Exposed, match="reveals disease of a group of 1 person"):
        dc.publish(tables[1 - first], "generalize", "k=2")


def test_three_tables_of_which_each_two_are_safe(tmp_path):
    """Old people, women, and all the others: what is left of all is one man."""
    rows = people(200, oldest=0)
    rows = [row | {"sex": "fm"[n % 2], "age": 20 + n % 50} for n, row in enumerate(rows)]
    rows.append({"id": 900, "town": "A", "age": 79, "ill": "hiv", "sex": "m"})
    rows += [{"id": 901 + n, "town": "A", "age": 79, "ill": ILL[n % 4], "sex": "f"} for n in range(8)]
    asked = (None, "age < 79", "age >= 79 AND sex = 'f'")
    for left_out in range(3):
        folder = tmp_path / str(left_out)
        folder.mkdir()
        table = opened(folder, rows)
        for text in (one for n, one in enumerate(asked) if n != left_out):
            dc.tabulate(table if text is None else where(table, text), "ill", rules="min=2")
        last = asked[left_out]
        with pytest.raises(Exposed, match=r"release 1\) and .*release 2\).* group of 1 person"):
            dc.tabulate(table if last is None else where(table, last), "ill", rules="min=2")


def test_three_tables_that_overlap_in_one_person(tmp_path):
    """The women, the old, and the women or old: what is counted twice is one old woman."""
    rows = [row | {"sex": "fm"[n % 2], "age": 20 + n % 40} for n, row in enumerate(people(200, oldest=0))]
    rows += [{"id": 900 + n, "town": "A", "age": 79, "ill": ILL[n % 4], "sex": "m"} for n in range(8)]
    rows.append({"id": 950, "town": "A", "age": 79, "ill": "hiv", "sex": "f"})
    asked = ("sex = 'f'", "age >= 79", "sex = 'f' OR age >= 79")
    for last in range(3):
        folder = tmp_path / str(last)
        folder.mkdir()
        table = opened(folder, rows)
        for text in (one for n, one in enumerate(asked) if n != last):
            dc.tabulate(where(table, text), "ill", rules="min=2")
        with pytest.raises(Exposed, match=r"release 1\) and .*release 2\).* group of 1 person"):
            dc.tabulate(where(table, asked[last]), "ill", rules="min=2")


def test_rows_chosen_by_columns_that_are_left_out_later(tmp_path):
    table = opened(tmp_path, people(400))
    columns = ("id", "town", "ill")
    dc.publish(table.select(*columns), "generalize", "k=2")
    with pytest.raises(Exposed, match="group of 1 person"):
        dc.publish(where(table, "age < 79").select(*columns), "generalize", "k=2")


def test_a_pair_that_another_table_tells_apart_is_still_a_pair(tmp_path):
    """A rounded table puts two people in groups of their own, of which nothing is known; their sum is."""
    rows = [row | {"ill": ILL[n % 2]} for n, row in enumerate(people(200, oldest=2))]
    table = opened(tmp_path, rows)
    dc.tabulate(where(table, "age > 60"), "age × ill", method="round base=10 how=conventional")
    dc.tabulate(table, "ill", rules="min=3")
    with pytest.raises(Exposed, match="reveals ill of a group of 2 people"):
        dc.tabulate(where(table, "age < 79"), "ill", rules="min=3")


# -- sums


def firms(*contributions: tuple[str, str, str, int]) -> list[dict[str, Any]]:
    return [dict(zip(("firm", "region", "sector", "income"), one, strict=True)) for one in contributions]


def others(regions: str, sectors: str) -> list[tuple[str, str, str, int]]:
    return [(f"{r}{s}{n}", f"r{r}", f"s{s}", 300 + n) for r in regions for s in sectors for n in range(6)]


def test_a_respondent_in_two_hidden_cells(tmp_path):
    rows = firms(
        ("1", "r1", "s1", 100), ("2", "r1", "s1", 90), ("2", "r1", "s2", 5), ("3", "r1", "s2", 6),
        *others("1", "3"), *others("2", "123"),
    )  # fmt: skip
    table = opened(tmp_path, rows, unit="firm", most=5)
    with pytest.raises(Exposed, match="by itself reveals income") as refused:
        dc.tabulate(table, "region × sector", value="income", rules="p=10")
    assert "coarser level" in refused.value.hint
    assert "the earlier one" not in refused.value.hint


def test_the_union_of_hidden_cells(tmp_path):
    rows = firms(
        ("1", "r1", "s1", 100), ("2", "r1", "s1", 40), ("1", "r1", "s2", 80), ("3", "r1", "s2", 4),
        *others("1", "3"), *others("2", "123"),
    )  # fmt: skip
    table = opened(tmp_path, rows, unit="firm", most=5)
    with pytest.raises(Exposed, match="by itself reveals income"):
        dc.tabulate(table, "region × sector", value="income", rules="p=10")


# -- next quarter


def test_next_quarter_with_one_new_person_is_refused_and_with_three_passes(tmp_path):
    before = people(200, oldest=0)
    dc.tabulate(opened(tmp_path, before), "town × ill", rules="min=3")
    added = [{"id": 900 + n, "town": "B", "age": 30, "ill": ill} for n, ill in enumerate(("flu", "hiv", "cold"))]
    with pytest.raises(Exposed, match="group of 1 person"):
        dc.tabulate(opened(tmp_path, [*before, added[0]]), "town × ill", rules="min=3")
    dc.tabulate(opened(tmp_path, [*before, *added]), "town × ill", rules="min=3")


def test_changed_values_begin_a_new_state(tmp_path):
    before = people(200, oldest=1)
    dc.tabulate(opened(tmp_path, before), "town × ill", rules="min=3")
    after = [row | ({"ill": ILL[(ILL.index(row["ill"]) + 1) % 4]} if row["id"] > 150 else {}) for row in before]
    table = opened(tmp_path, after)
    dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")
    with pytest.raises(Exposed, match=r"release 2\)"):
        dc.tabulate(table, "town × ill", rules="min=3")


# -- who is who


def test_a_unit_that_changed_and_other_people_of_the_same_name(tmp_path):
    rows = people(200)
    dc.tabulate(opened(tmp_path, rows), "town × ill", rules="min=3")
    with pytest.raises(BadInput, match=r"The unit of p was id .* and is the row now"):
        dc.tabulate(opened(tmp_path, rows, unit=None), "town × ill", rules="min=3")


def test_two_populations_of_one_name(tmp_path):
    dc.tabulate(opened(tmp_path, people(200), file="a", population="all"), "town × ill", rules="min=3")
    strangers = opened(tmp_path, people(200, first=1000), file="b", population="all")
    with pytest.raises(BadInput, match="population 'all' has other people"):
        dc.tabulate(strangers, "town × ill", rules="min=3")
    own = opened(tmp_path, people(200, first=1000), file="b", population="others")
    dc.tabulate(own, "town × ill", rules="min=3")


def test_a_release_whose_folder_is_gone_still_counts(tmp_path):
    table = opened(tmp_path, people(400))
    dc.tabulate(table, "town × ill", rules="min=3", to=tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    with pytest.raises(Exposed, match=r"release 1\)"):
        dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3", to=tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_reason_is_quoted_by_the_statement_and_the_register(tmp_path):
    table = opened(tmp_path, people(400))
    dc.tabulate(table, "town × ill", rules="min=3")
    made = dc.tabulate(where(table, "age < 79").despite("the minister wants it"), "town × ill", rules="min=3")
    (said,) = [one for one in made.statement.caveats if "Reason given: " in one]
    assert said.startswith("Released although “counts by town × ill”, together with “counts by town × ill”")
    assert said.endswith("Reason given: the minister wants it.")
    assert [one.note for one in listed(table.registers[0])] == ["", "the minister wants it"]
    dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=3")  # it is out already


def test_one_person_with_three_rows_is_one(tmp_path):
    rows = people(300, oldest=0)
    old = [{"id": 900, "town": "A", "age": 80 + n, "ill": ill} for n, ill in enumerate(("flu", "hiv", "cold"))]
    three = [{"id": 900 + n, "town": "A", "age": 80 + n, "ill": ill} for n, ill in enumerate(("flu", "hiv", "cold"))]
    for name, more, refused in (("one", old, True), ("three", three, False)):
        folder = tmp_path / name
        folder.mkdir()
        table = opened(folder, [*rows, *more], most=3)
        dc.tabulate(table, "town × ill", rules="min=4")
        if refused:
            with pytest.raises(Exposed, match="group of 1 person"):
                dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=4")
        else:
            dc.tabulate(where(table, "age < 79"), "town × ill", rules="min=4")


def test_rows_of_which_some_have_no_double_are_told_apart_as_before(tmp_path):
    """Of the people under 79 everybody has one row, of all somebody has two: both are told apart in the same way."""
    rows = [*people(300, oldest=1), {"id": 0, "town": "A", "age": 95, "ill": "flu"}]
    table = opened(tmp_path, rows, most=3)
    dc.tabulate(where(table, "age < 90"), "town × ill", rules="min=3")
    with pytest.raises(Exposed, match="group of 1 person"):
        dc.tabulate(table, "town × ill", rules="min=3")


def test_rows_that_were_told_apart_by_other_columns_are_undecided(tmp_path):
    rows = [{name: value for name, value in row.items() if name != "id"} for row in people(300)]
    table = opened(tmp_path, rows, unit=None)
    dc.tabulate(table, "town × ill", rules="min=3")
    with pytest.raises(Exposed, match="distinguished rows by columns that are missing"):
        dc.tabulate(table.select("town", "ill"), "town × ill", rules="min=3")


def test_a_table_of_what_everybody_knows_tells_no_value(tmp_path):
    table = opened(tmp_path, people(40))
    dc.tabulate(table, "town", rules="zero")
    assert [(one.facts, one.told["why"]) for one in listed(table.registers[0])] == [
        ("opaque", "it reveals no person's value")
    ]
