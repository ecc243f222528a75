"""The lecture's survey, and made-up people who answer it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import exact
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.survey.file import EXAMPLE
from discreet.verbs.collect.survey.question import Question
from discreet.verbs.collect.survey.survey import Survey

INCOME = Question("income", "What do you earn?", "number", grid=NumberGrid(0, 5000, 20), wants="mean")


def survey(*questions: Question, share: Any = "split", epsilon: Any = 4, people: int = 1000, **options: Any) -> Survey:
    """A survey of these questions, or of the lecture's."""
    return Survey("Music", exact(epsilon, "epsilon"), share, people, questions or EXAMPLE, **options)


def answers(people: int, seed: int = 1) -> pa.RecordBatch:
    """What people would answer, were they asked plainly."""
    drawn = np.random.default_rng(seed)
    columns = {
        "like": pa.array(np.where(drawn.random(people) < 0.7, "yes", "no")),
        "albums": pa.array(drawn.binomial(10, 0.3, people)),
        "gender": pa.array(drawn.choice(["female", "male", "other"], people, p=[0.5, 0.45, 0.05])),
        "age": pa.array(np.clip(drawn.normal(40, 15, people), 10, 90)),
        "income": pa.array(drawn.uniform(0, 5000, people)),
    }
    return pa.RecordBatch.from_pydict(columns)
