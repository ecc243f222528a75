"""Ordinary analytic questions are answered; what is refused comes with a question that works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.ask.ordinary_questions import CARDS, NATION_ROWS, QUESTIONS, SMARTNOISE, Ordinary, shop

import discreet as dc
from discreet.curator.curator import Curator
from discreet.errors import BadInput, Refused

_LEAST = Fraction(56, 60)
"""Share of the questions that is to be answered."""
_INSTEAD = re.compile(r"Ask instead: ((?:SELECT|WITH)\b.*)\Z", re.DOTALL)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    """A workspace with all the tables, and budget for all questions."""
    hospital = dc.samples.hospital(rows=300, seed=1)
    rows = shop()
    tables = {
        name: (pa.Table.from_batches(hospital.batches(name)), hospital.cards[name]) for name in ("patients", "visits")
    }
    tables |= {name: (rows[name], card) for name, card in CARDS.items()}
    folder = tmp_path_factory.mktemp("ordinary") / "workspace"
    made = Curator.create(folder, tables, dc.Approximate(1000, "1e-3"), public={"nations": NATION_ROWS})
    yield made
    made.close()


def outcome(curator: Curator, text: str) -> str:
    """``answered``, ``instead`` (refused with a question that works), or what was said."""
    try:
        answer = curator.ask(text, epsilon=1, delta="1e-6", instead=False)
    except (BadInput, Refused) as refusal:
        found = _INSTEAD.search(str(refusal))
        if found is None:
            return str(refusal)
        curator.price(found[1], epsilon=1, delta="1e-6")
        return "instead"
    assert answer.table.num_columns > 0
    return "answered"


@pytest.fixture(scope="module")
def outcomes(curator: Curator) -> dict[str, str]:
    """What became of each question."""
    return {one.text: outcome(curator, one.text) for one in QUESTIONS}


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda one: f"{one.kind}: {one.text[:60]}")
def test_it_is_answered_or_refused_with_a_question_that_works(outcomes: dict[str, str], asked: Ordinary) -> None:
    assert outcomes[asked.text] in ("answered", "instead")


def test_nearly_all_are_answered(outcomes: dict[str, str]) -> None:
    assert len(outcomes) == len(QUESTIONS) >= 62
    refused = [text for text, what in outcomes.items() if what != "answered"]
    assert len(refused) <= (1 - _LEAST) * len(QUESTIONS), refused


@pytest.mark.parametrize("text", SMARTNOISE)
def test_what_smartnoise_takes_for_valid_is_answered(curator: Curator, text: str) -> None:
    assert outcome(curator, text) == "answered"
