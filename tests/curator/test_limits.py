"""Limits of a question: hit by the data or not, the words are the same, and it is charged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.budget.entries import Charged
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Pure
from discreet.curator.curator import Curator
from discreet.engines.limits import Limits
from discreet.errors import Damaged, Refused

CARD = Card(
    "visits",
    (
        Column("who", Kind.INTEGER),
        Column("age", Kind.INTEGER, bounds=(0, 9)),
        Column("note", Kind.TEXT, max_length=900),
    ),
    unit="who",
    rows_per_unit=60,
)
JOINED = "SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b USING (who)"
COUNT = "SELECT COUNT(*) AS n FROM visits"
SAID = "The question could not be answered; it was charged. Ask the data holder to investigate."


LONG = f"{JOINED} WHERE " + " OR ".join(f"a.age * {2 * i} + b.age * {2 * i + 2} = 7" for i in range(1, 30))


def _rows(people: int = 400, note: int = 800) -> pa.Table:
    who = np.repeat(np.arange(people), 60)
    notes = [f"{'x' * note}{one}" for one in range(len(who))]
    return pa.table({"who": who, "age": np.arange(len(who)) % 10, "note": notes})


def _made(folder: Path, people: int = 400, note: int = 800) -> None:
    Curator.create(folder, {"visits": (_rows(people, note), CARD)}, Approximate(100, "1e-3")).close()


def _limit(folder: Path, text: str) -> None:
    file = folder / "workspace.toml"
    file.write_text(f"{file.read_text()}\n[limits]\n{text}\n")


def _charged(curator: Curator) -> list[object]:
    entries = (line.entry for line in curator.ledger.lines())
    return [one.loss for one in entries if isinstance(one, Charged) and one.loss != Pure(0)]


def test_a_question_that_takes_too_long_is_charged_and_says_nothing_of_it(tmp_path: Path) -> None:
    _made(tmp_path / "w", people=8_000, note=1)
    _limit(tmp_path / "w", "seconds = 0.4")
    with Curator(tmp_path / "w") as curator:
        curator.price(COUNT, epsilon=1)  # what is read for the first time takes a while
        curator.price(LONG, epsilon=1)
        with pytest.raises(Refused) as slow:
            curator.ask(LONG, epsilon=1)
        assert str(slow.value) == SAID
        assert slow.value.__cause__ is None
        assert _charged(curator) == [Pure(1)]


@pytest.mark.parametrize("server", ["postgres", "spark"])
def test_nor_on_a_server(
    server: str, tmp_path: Path, fresh: Callable[[], str], request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stops it; the words and the charge are the same, and it answers what comes after."""
    engine = request.getfixturevalue({"postgres": "postgres", "spark": "connect"}[server])
    address = request.getfixturevalue({"postgres": "postgres_address", "spark": "connect_address"}[server])
    address, _, token = address.partition("/;token=")
    monkeypatch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", token)
    name = fresh()
    engine.load(name, _rows(people={"postgres": 300, "spark": 100}[server], note=1))
    with Curator.create(tmp_path / "w", {"visits": (f"{address}#{name}", CARD)}, Approximate(100, "1e-3")) as curator:
        assert curator.ask(COUNT, epsilon=1).table.num_rows == 1
    _limit(tmp_path / "w", "seconds = 0.3")
    with Curator(tmp_path / "w") as curator:
        curator.price(LONG, epsilon=2)
        with pytest.raises(Refused) as slow:
            curator.ask(LONG, epsilon=2)
        assert str(slow.value) == SAID
        assert slow.value.__cause__ is None
        assert _charged(curator) == [Pure(1), Pure(2)]
    file = tmp_path / "w" / "workspace.toml"
    file.write_text(file.read_text().replace("seconds = 0.3", "seconds = 60"))
    with Curator(tmp_path / "w") as curator:
        assert curator.ask(LONG, epsilon=3).table.num_rows == 1, "nothing but the time was wrong"


def test_a_question_that_needs_too_much_memory_says_the_same(tmp_path: Path) -> None:
    _made(tmp_path / "w")
    _limit(tmp_path / "w", "memory = 64")
    texts = (
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT who, a.note || b.note AS k "
        "FROM visits AS a JOIN visits AS b USING (who))"
    )
    with Curator(tmp_path / "w") as curator:
        with pytest.raises(Refused) as large:
            curator.ask(texts, epsilon=1)
        assert str(large.value) == SAID
        assert _charged(curator) == [Pure(1)]
        assert curator.ask(COUNT, epsilon=1).table.num_rows == 1


def test_however_many_groups_there_are_only_those_that_are_shown_are_held(tmp_path: Path) -> None:
    _made(tmp_path / "w", people=20)
    with Curator(tmp_path / "w") as curator:
        question = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"
        assert curator.ask(question, epsilon=1, delta="1e-6").table.num_rows == 0, "nobody's note is anybody else's"


def test_quantiles_of_many_groups_end_with_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn in Python has no engine that stops it."""
    from discreet.engines.limits import too_long
    from discreet.verbs.ask import answer

    _made(tmp_path / "w", people=20)

    def over() -> float:
        raise too_long()

    with Curator(tmp_path / "w") as curator:
        monkeypatch.setattr(answer, "seconds_left", over)
        with pytest.raises(Refused) as many:
            curator.ask("SELECT MEDIAN(age) AS m FROM visits", epsilon=1)
        assert str(many.value) == SAID


def test_limits_are_those_of_the_workspace(tmp_path: Path) -> None:
    _made(tmp_path / "w", people=2)
    with Curator(tmp_path / "w") as curator:
        assert curator.workspace.limits == Limits(seconds=60, memory=2_000)
    _limit(tmp_path / "w", "seconds = 7\nmemory = 500")
    with Curator(tmp_path / "w") as curator:
        assert curator.workspace.limits == Limits(seconds=7, memory=500)
        curator.price(COUNT, epsilon=1)
        engine = curator.workspace.open("visits").engine
        assert engine.run("SELECT current_setting('memory_limit')") == [("476.8 MiB",)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", ["seconds = 0", 'memory = "much"', "patience = 3"])
def test_limits_that_are_none_are_not_guessed(tmp_path: Path, wrong: str) -> None:
    _made(tmp_path / "w", people=2)
    _limit(tmp_path / "w", wrong)
    with pytest.raises(Damaged, match=r"workspace\.toml"):
        Curator(tmp_path / "w")
