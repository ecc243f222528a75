"""Error of answers from a synthetic stand-in: bounds that hold whatever is asked, and none where none is known."""

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.curator.methods import MadeUp

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.curator.curator import Curator
from discreet.curator.synthetic import Nearness
from discreet.engines.read import read
from discreet.verbs.ask.question import planned

CARD = Card(
    "people",
    (
        Column("city", Kind.TEXT, Role.QUASI, categories=("Rome", "Milan", "Turin")),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("F", "M"), required=True),
        Column("visits", Kind.INTEGER, Role.SENSITIVE, bounds=(0, 9)),
        Column("income", Kind.REAL, Role.SENSITIVE, bounds=(0.0, 1000.0)),
    ),
)
EXACT = ("city", "sex", "visits")
CARD_NAMES = tuple(column.name for column in CARD.columns)


def people(rows, seed):
    rng = np.random.default_rng(seed)
    cities = rng.choice(["Rome", "Milan", "Turin", None], rows, p=[0.5, 0.3, 0.1, 0.1])
    visits = rng.integers(0, 10, rows)
    return pa.table(
        {
            "city": pa.array(cities.tolist(), pa.string()),
            "sex": rng.choice(["F", "M"], rows).tolist(),
            "visits": pa.array(visits, mask=rng.random(rows) < 0.1),
            "income": rng.uniform(0, 1000, rows),
        }
    )


TRUE, TWIN = people(900, 1), people(1000, 2)


def reach(columns):
    """The most that any count over columns is off by: what there is too much of, or too little."""
    true, made = (Counter(zip(*(table[name].to_pylist() for name in columns), strict=True)) for table in (TRUE, TWIN))
    off = [true[key] - made[key] for key in true.keys() | made.keys()]
    return max(sum(one for one in off if one > 0), -sum(one for one in off if one < 0))


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    """A workspace with a twin that says how far it is off, to the row."""
    names = [*((one,) for one in CARD_NAMES), *combinations(CARD_NAMES, 2)]
    about = {
        "by": "hand",
        "rows": TWIN.num_rows,
        "columns": list(CARD_NAMES),
        "exact": list(EXACT),
        "reach": {" × ".join(one): reach(one) for one in names},
    }
    made = TWIN.replace_schema_metadata({"discreet.synthetic": json.dumps(about)})
    folder = tmp_path_factory.mktemp("near") / "people"
    with Curator.create(folder, {"people": (TRUE, CARD)}, Pure(1)) as found:
        found.make_synthetic(MadeUp(lambda _: made), "people")  # for half of it
        yield found


def twin(curator, sql):
    answer = curator.ask(sql, epsilon=1)
    assert answer.synthetic
    return answer.table.to_pylist()


def truth(sql):
    return duckdb.connect().register("people", TRUE).sql(sql).to_arrow_table().to_pylist()


def group(row):
    return str(row.get("city", row.get("sex", ""))).upper()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM people",
        "SELECT COUNT(city) AS n FROM people",
        "SELECT city, COUNT(*) AS n FROM people GROUP BY city",
        "SELECT sex, COUNT(*) AS n FROM people WHERE city <> 'Rome' GROUP BY sex",
        "SELECT sex, COUNT(*) FILTER (WHERE visits > 3) AS n FROM people GROUP BY sex",
        "SELECT SUM(visits) AS n FROM people WHERE sex = 'F'",
        "SELECT city, AVG(visits) AS n FROM people GROUP BY city",
        "SELECT AVG(visits) AS n FROM people WHERE sex = 'M' AND visits > 2",
        "SELECT AVG(CASE WHEN city = 'Rome' THEN 1 ELSE 0 END) AS n FROM people",
        "SELECT city, COUNT(*) AS n FROM people WHERE visits BETWEEN 2 AND 5 AND visits <> 3 GROUP BY 1",
    ],
)
def test_the_truth_is_within_the_error_bar(curator, sql):
    true = {group(row): row["n"] for row in truth(sql)}
    found = twin(curator, sql)
    assert found
    for row in found:
        assert row["n_error"] is not None
        assert abs(row["n"] - float(true.get(group(row)) or 0)) <= row["n_error"]


def test_a_count_is_off_by_no_more_than_the_worst_count_over_its_columns(curator):
    for condition, columns in (
        ("city = 'Rome'", ("city",)),
        ("visits > 3", ("visits",)),
        ("visits > 3 OR sex = 'F'", ("sex", "visits")),
        ("TRUE", ("city",)),  # the first by name, and not the least of all: that would not hold so often
    ):
        [row] = twin(curator, f"SELECT COUNT(*) AS n FROM people WHERE {condition}")
        assert row["n_error"] in (reach(columns), reach(columns) + 1)


def test_a_sum_of_values_of_one_sign_is_off_by_the_largest_times_the_rows(curator):
    [row] = twin(curator, "SELECT SUM(visits) AS n FROM people")
    assert row["n_error"] in (9 * reach(("visits",)), 9 * (reach(("visits",)) + 1))
    [row] = twin(curator, "SELECT SUM(visits - 3) AS n FROM people")
    assert row["n_error"] in (2 * 6 * reach(("visits",)), 2 * 6 * (reach(("visits",)) + 1))


def test_an_average_takes_one_reach_for_its_sum_and_its_count():
    """Two reaches are more events that must hold than one: together they would with less than 95 %."""
    card = replace(CARD, columns=tuple(replace(one, required=True) for one in CARD.columns))
    near = Nearness({frozenset({"city"}): 1.0, frozenset({"visits"}): 50.0}, TWIN.num_rows)
    table = read(TWIN.drop_null(), card)
    asked = planned("SELECT AVG(visits) AS n FROM people", {"people": table}).plan
    [off] = near.errors(asked, table).values()
    [mean] = asked.figures.values()
    assert off[mean.count] == 50


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM people WHERE income < 300",  # which looks into a bin
        "SELECT AVG(income) AS n FROM people",
        "SELECT COUNT(*) AS n FROM people WHERE city = 'Rome' AND sex = 'F' AND visits > 2",  # three columns
        "SELECT city, AVG(visits) AS n FROM people WHERE sex = 'F' GROUP BY city",
        "SELECT MEDIAN(visits) AS n FROM people",
        "SELECT STDDEV(visits) AS n FROM people",
        "SELECT COUNT(*) AS n FROM (SELECT sex FROM people) AS p",  # synthetic rows of others
        "SELECT COUNT(*) AS n FROM (SELECT sex FROM people UNION ALL SELECT sex FROM people) AS p",
    ],
)
def test_where_no_bound_is_known_none_is_said(curator, sql):
    for row in twin(curator, sql):
        assert row["n_error"] is None


def test_a_reach_of_as_many_rows_as_there_are_is_no_bound():
    table = read(TWIN, CARD)
    asked = planned("SELECT COUNT(*) AS n FROM people WHERE sex = 'F'", {"people": table}).plan
    for far, known in ((TWIN.num_rows - 1, True), (TWIN.num_rows, False)):
        assert bool(Nearness({frozenset({"sex"}): far}, TWIN.num_rows).errors(asked, table)) is known
