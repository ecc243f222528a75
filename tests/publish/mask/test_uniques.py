from itertools import combinations

import pytest
from tests.publish.mask.people import people

from discreet.errors import BadInput
from discreet.verbs.attack.suda import minimal_uniques
from discreet.verbs.publish.mask.uniques import SuppressUniques

NAMES = ["age", "town", "smokes"]


def brute(rows, size):
    """Minimal sample uniques by the definition."""
    table = rows.select(NAMES).to_pylist()

    def alone(row, subset):
        mine = [row[NAMES[i]] for i in subset]
        return None not in mine and sum([other[NAMES[i]] for i in subset] == mine for other in table) == 1

    found = {}
    for width in range(1, size + 1):
        for subset in combinations(range(3), width):
            parts = [part for less in range(1, width) for part in combinations(subset, less)]
            who = [n for n, row in enumerate(table) if alone(row, subset) and not any(alone(row, p) for p in parts)]
            if who:
                found[subset] = who
    return found


@pytest.mark.parametrize("size", [1, 2, 3])
def test_minimal_uniques_are_those_of_the_definition(size):
    rows = people(120).payload()
    assert {s: list(who) for s, who in minimal_uniques(rows, NAMES, size).items()} == brute(rows, size)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_afterwards_somebody_else_could_have_every_combination(size):
    rows = SuppressUniques(size, NAMES).mask(people(120)).rows.select(NAMES).to_pylist()
    for n, row in enumerate(rows):
        for width in range(1, size + 1):
            for subset in combinations(NAMES, width):
                if None in [row[c] for c in subset]:
                    continue
                could = (all(other[c] in (None, row[c]) for c in subset) for m, other in enumerate(rows) if m != n)
                assert any(could)


def test_what_is_said_is_of_released_rows_and_a_gap_may_tell():
    masked = SuppressUniques(1, NAMES).mask(people(120))
    assert "no released row shows a combination of up to 1 values of age, town, smokes" in masked.steps[0]
    assert "A unique pattern of suppressed cells may identify a person." in masked.not_promised


def test_a_size_is_a_number_of_columns():
    with pytest.raises(BadInput):
        SuppressUniques(0)
