"""Survey files: TOML, with the reason for every choice that discreet made."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from discreet.core.document import Format
from discreet.core.exact import exact
from discreet.core.text import meant
from discreet.core.toml import dump, lines_of
from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.survey.question import Question
from discreet.verbs.collect.survey.survey import Shuffler, Survey, better_share

FORMAT: Format[dict[str, Any]] = Format("survey", unmarked=True)
_SURVEY_KEYS = ("title", "about", "epsilon", "share", "people", "shuffler", "questions")
_QUESTION_KEYS = ("text", "kind", "values", "bounds", "steps", "wants", "protocol")
_HEAD = (
    "A survey for discreet: answers are randomised on the respondents' devices, and true answers never leave them.",
    "Edit it before the first person answers, not afterwards.",
)
_EPSILON = (
    "Privacy loss of each person, all questions together: every answer is at most e**epsilon times",
    "as likely to lead to a report as any other answer. 1 is common; above 5 there is little protection.",
)

EXAMPLE = (
    Question("like", "Do you like the band?", "yes/no"),
    Question("albums", "How many of its albums do you own?", "number", grid=NumberGrid(0, 10, 10)),
    Question("gender", "What is your gender?", "choice", ("female", "male", "other")),
    Question("age", "How old are you?", "number", grid=NumberGrid(10, 90, 16)),
)
"""Questions of the example survey: music, and three questions about oneself."""


def load(path: Path) -> Survey:
    """Load a survey file; errors name their line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no survey at {path}.", hint=f"Make one with: discreet collect new {path}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text.", hint="A survey must be a TOML file.") from None
    return loads(text, str(path))


def loads(text: str, name: str = "the survey") -> Survey:
    """Parse a survey from text."""
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{name} is not valid TOML: {error}.") from None
    data = FORMAT.read(data, name)
    keys: tuple[str, ...] = ()
    try:
        _require(data, "A survey", _SURVEY_KEYS, "title", "epsilon", "people", "questions")
        if not isinstance(data["questions"], Mapping) or not data["questions"]:
            raise BadInput(
                "The survey has no questions.", hint='Write each as [questions.age], text = "…", kind = "number".'
            )
        questions = []
        for asked, document in data["questions"].items():
            keys = ("questions", asked)
            questions.append(_question(asked, document))
        keys = ()
        survey = _survey(data, tuple(questions))
        survey.protocols  # noqa: B018  what cannot be asked is said here
    except BadInput as error:
        line = lines_of(text).get(keys)
        where = f"{name}, line {line} ({'.'.join(keys)})" if line else name
        raise BadInput(f"{where}: {error.message}", hint=error.hint) from None
    return survey


def dumps(survey: Survey) -> str:
    """Write a survey as TOML, with its protocols and the reason for each."""
    _, why = better_share(survey)
    comments: dict[tuple[str, ...], tuple[str, ...]] = {
        ("format",): _HEAD,
        ("epsilon",): _EPSILON,
        ("share",): _wrapped(why),
        ("people",): ("Expected number of respondents, for which protocols are chosen.",),
    }
    data = FORMAT.mark() | {"title": survey.title, "about": survey.about or None}
    data |= {"epsilon": _number(survey.epsilon), "share": survey.share, "people": survey.people}
    if survey.shuffler is not None:
        data["shuffler"] = {"who": survey.shuffler.who, "delta": _number(survey.shuffler.delta)}
    questions: dict[str, Any] = {}
    for protocol in survey.protocols:
        question = protocol.question
        document: dict[str, Any] = {"text": question.text, "kind": question.kind}
        if question.values:
            document["values"] = list(question.values)
        if question.grid is not None:
            document["bounds"] = [_number(question.grid.low), _number(question.grid.high)]
            document |= {"steps": question.grid.steps, "wants": question.wants}
        questions[question.name] = document | {"protocol": protocol.mechanism.name}
        comments[("questions", question.name, "protocol")] = _wrapped(protocol.reason)
    return dump(data | {"questions": questions}, comments)


def _survey(data: Mapping[str, Any], questions: tuple[Question, ...]) -> Survey:
    if not isinstance(data["title"], str) or not isinstance(data.get("about", ""), str):
        raise BadInput("title and about are texts.")
    if type(data["people"]) is not int:
        raise BadInput("people must be a whole number, the expected respondents.")
    if len(questions) > 1 and "share" not in data:
        raise BadInput(
            "The survey does not declare how epsilon is shared among its questions.",
            hint='Write share = "split" (a part for each) or share = "sampled" (one question each, drawn at random).',
        )
    epsilon = exact(data["epsilon"], "epsilon")
    return Survey(
        data["title"], epsilon, data.get("share", "split"), data["people"], questions,
        data.get("about", ""), _shuffler(data.get("shuffler"))
    )  # fmt: skip


def _question(name: str, document: Any) -> Question:
    if not isinstance(document, Mapping):
        raise BadInput("A question needs a text and a kind.")
    _require(document, "A question", _QUESTION_KEYS, "text", "kind")
    for key in ("text", "kind", "wants", "protocol"):
        if not isinstance(document.get(key, ""), str):
            raise BadInput(f"{key} is a text.")
    values = document.get("values", [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BadInput('values must be a list of texts, such as ["female", "male", "other"].')
    return Question(
        name,
        document["text"],
        document["kind"],
        tuple(values),
        _grid(document),
        document.get("wants", "distribution"),
        document.get("protocol"),
    )


def _grid(document: Mapping[str, Any]) -> NumberGrid | None:
    if "bounds" not in document and "steps" not in document:
        return None
    bounds = document.get("bounds")
    if not isinstance(bounds, list) or len(bounds) != 2 or not all(type(end) in (int, Decimal) for end in bounds):
        raise BadInput("bounds must be the smallest and the largest number, such as [0, 10].")
    if type(document.get("steps")) is not int:
        raise BadInput(
            "steps must be a whole number, the number of steps of the grid.", hint="For example one step per unit."
        )
    return NumberGrid(bounds[0], bounds[1], document["steps"])


def _shuffler(document: Any) -> Shuffler | None:
    if document is None:
        return None
    if not isinstance(document, Mapping) or set(document) != {"who", "delta"} or not isinstance(document["who"], str):
        raise BadInput('A shuffler is written as shuffler = { who = "The post office", delta = 1e-6 }.')
    return Shuffler(document["who"], exact(document["delta"], "delta"))


def _require(document: Mapping[str, Any], what: str, known: tuple[str, ...], *needed: str) -> None:
    for key in document:
        if key not in known:
            raise BadInput(f"{what} has no field {key!r}{meant(key, known)}.", hint=f"Choose from {', '.join(known)}.")
    for key in needed:
        if key not in document:
            raise BadInput(f"{what} needs {key}.")


def _number(value: Any) -> int | Decimal:
    whole = int(value)
    return whole if whole == value else Decimal(value.numerator) / Decimal(value.denominator)


def _wrapped(text: str) -> tuple[str, ...]:
    from textwrap import wrap

    return tuple(wrap(text, 110))
