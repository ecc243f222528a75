"""Which protocol, and why."""

from __future__ import annotations

import math

import pytest

from discreet.core.families import FREQUENCY_ORACLES
from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.frequency import projective_geometry
from discreet.verbs.collect.protocol_choice import ONE_TIME_ORACLES, ProtocolChoice, choose, frequency_oracle


@pytest.mark.parametrize(
    ("d", "epsilon", "priority", "name"),
    [
        (2, 1, "accuracy", "grr"),
        (4, 1, "accuracy", "grr"),
        (100, 1, "accuracy", "subset"),
        (1000, 1, "accuracy", "olh"),
        (1000, 1, "bytes", "pgr"),
        (1000, 1, "speed", "hadamard"),
        (100, 3, "speed", "grr"),
        (1000, 5, "bytes", "pgr"),
    ],
)
def test_the_best_is_chosen(d: int, epsilon: int, priority: str, name: str) -> None:
    result = choose(d, epsilon, 10**6, priority)
    assert result.oracle == frequency_oracle(name)(d, epsilon)
    assert str(result) == result.reason
    assert result.reason.startswith(f"{name}: with ε = {epsilon}, {d:,} values and 1,000,000 people")


def rows(result: ProtocolChoice) -> list[dict[str, object]]:
    return result.comparison.to_pylist()


def test_what_has_its_own_epsilon_or_is_asked_again_is_not_chosen() -> None:
    assert set(FREQUENCY_ORACLES.names()) - set(ONE_TIME_ORACLES) == {"coins", "rappor", "l-grr", "l-osue", "loloha"}


def test_all_are_compared_by_their_own_figures() -> None:
    result = choose("abcdefgh", 1, 5000)
    assert result.comparison.column_names == ["protocol", "deviation", "bytes", "operations"]
    assert {row["protocol"] for row in rows(result)} == set(ONE_TIME_ORACLES)
    assert rows(result)[0]["protocol"] == result.oracle.name
    for row in rows(result):
        oracle = frequency_oracle(str(row["protocol"]))("abcdefgh", 1)
        assert row["deviation"] == pytest.approx(math.sqrt(oracle.variance(5000, 1 / 8)))
        assert (row["bytes"], row["operations"]) == (oracle.report_type.bit_width // 8, oracle.operations)


def test_what_is_short_or_quick_is_not_off_by_more_than_twice() -> None:
    for priority in ("bytes", "speed"):
        for d in (2, 10, 300):
            for epsilon in ("1/10", 4):
                result = choose(d, epsilon, 10**5, priority)
                deviations = [float(str(row["deviation"])) for row in rows(result)]
                assert deviations[0] <= 2 * min(deviations)


def test_a_page_may_know_some_protocols_only() -> None:
    assert choose(1000, 1, 10, among=["grr", "oue"]).oracle.name == "oue"
    assert "no other to choose from" in choose(5, 1, 10, among=["sue"]).reason
    with pytest.raises(NotFound, match="no protocol 'none'"):
        choose(5, 1, 10, among=["none"])
    with pytest.raises(BadInput, match="no protocol to choose"):
        choose(5, 1, 10, among=[])


def test_what_cannot_do_so_many_values_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projective_geometry, "_MAX_VECTORS", 64)
    assert "pgr" not in [row["protocol"] for row in rows(choose(1000, 1, 10**5))]
    with pytest.raises(BadInput, match="epsilon"):
        choose(1000, 0, 10**5)


def test_what_cannot_be_chosen_for() -> None:
    with pytest.raises(BadInput, match="Priority"):
        choose(5, 1, 10, "beauty")
    with pytest.raises(BadInput, match="number of people must be at least 1"):
        choose(5, 1, 0)
