"""Ways of learning as people write them: ``learn tree target=income integral=20 depth=3 on age, sex``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from discreet.core.card import Card
from discreet.core.spelled import require_options, spelled
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.learn.clusters import Clusters
from discreet.verbs.learn.integral import Learn
from discreet.verbs.learn.learner import Learner
from discreet.verbs.learn.linear import LinearModel
from discreet.verbs.learn.statistics import Statistics
from discreet.verbs.learn.tree_training import DecisionTree


@dataclass(frozen=True)
class Form:
    """A way of learning: an example, and what it is made of."""

    example: str
    kind: Any


FORMS: Mapping[str, Form] = {
    "tree": Form("learn tree target=COLUMN integral=20 (depth=3 grid=10 gain=0.005)", DecisionTree),
    "linear": Form("learn linear target=COLUMN integral=20 (step=0.1)", LinearModel),
    "clusters": Form("learn clusters count=3 integral=20 (step=0.1)", Clusters),
    "statistics": Form("learn statistics of=mean integral=20 (step=0.01)", Statistics),
}
_EXAMPLE = "sample=50% tries=1000 choose=accurate test=20% epsilon=1 processes=1 on COLUMNS"
_BESIDE = ("integral", "sample", "tries", "choose", "test", "epsilon", "processes")


def parse(text: str, card: Card) -> Learn:
    """The method that ``text`` names. ``on COLUMNS``, with commas between them, says what is learnt from."""
    head, *tail = re.split(r"\s+on\s+", " ".join(text.split()), maxsplit=1)
    name, said = spelled(head.partition(" ")[2])
    form = FORMS.get(name)
    if form is None:
        listed = "\n  ".join(known.example for known in FORMS.values())
        raise BadInput(
            f"{text!r} is no way to learn{meant(name, FORMS)}.",
            hint=f"\nKnown are:\n  {listed}\neach with: {_EXAMPLE}",
        )
    if tail:
        said["columns"] = tuple(card[one.strip().strip("\"'")].name for one in tail[0].split(","))
    if "target" in said:
        said["target"] = card[str(said["target"]).strip("\"'")].name
    beside = {option: said.pop(option) for option in _BESIDE if option in said}
    if "integral" not in beside:
        raise BadInput(
            "Say how many sets of people are to give the same model: integral.", hint=f"Write: {form.example}"
        )
    require_options(f"learn {name}", form.kind, said, form.example)
    if isinstance(beside.get("sample"), str):
        beside["sample"] = tuple(spelled(f"x y={one}")[1]["y"] for one in beside["sample"].split(","))
    require_options("learn", Learn, beside | {"learner": form.kind(**said)}, form.example)
    return Learn(form.kind(**said), **beside)


def learner_of(name: str, parameters: Mapping[str, Any]) -> Learner:
    """A way of learning from what ``Learner.parameters`` gave."""
    if name not in FORMS or not set(parameters) <= {one.name for one in fields(FORMS[name].kind)}:
        raise BadInput(f"{name!r} with {', '.join(parameters)} is no way to learn.")
    made: Learner = FORMS[name].kind(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
    )
    return made
