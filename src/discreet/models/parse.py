"""Models as people write them on a command line: ``k=5``, ``l=3 on disease``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core.card import Card, Role
from discreet.core.exact import exact
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.address import parse_address
from discreet.errors import BadInput
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.estimators import ESTIMATORS
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import Model
from discreet.models.presence import DeltaPresence
from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk, ProsecutorRisk
from discreet.models.uniqueness import LARGEST, PopulationUniqueness


@dataclass(frozen=True)
class Form:
    """One way of writing a model: an example, and what it is made of."""

    example: str
    pattern: str
    make: Callable[..., Model]


_NUMBER = r"[^\s=]+"
_ON = r"(?: on (?P<on>.+))?"
_IN = r" in (?P<population>.+)"

FORMS: tuple[Form, ...] = (
    Form("k=5", rf"k=(?P<k>{_NUMBER})", KAnonymity),
    Form("k-map=5 in population.csv", rf"k-?map=(?P<k>{_NUMBER}){_IN}", KMap),
    Form("alpha=0.5 k=5 on COLUMN", rf"alpha=(?P<alpha>{_NUMBER}) k=(?P<k>{_NUMBER}){_ON}", AlphaK),
    Form("p=2 k=5 on COLUMN", rf"p=(?P<p>{_NUMBER}) k=(?P<k>{_NUMBER}){_ON}", PSensitivity),
    Form("l=3 on COLUMN", rf"(?:distinct )?l=(?P<l>{_NUMBER}){_ON}", LDiversity),
    Form("entropy l=3 on COLUMN", rf"entropy l=(?P<l>{_NUMBER}){_ON}", EntropyLDiversity),
    Form(
        "recursive c=2 l=3 on COLUMN",
        rf"recursive c=(?P<c>{_NUMBER}) l=(?P<l>{_NUMBER}){_ON}",
        RecursiveLDiversity,
    ),
    Form(
        "t=0.2 on COLUMN (equal, ordered or hierarchical t=0.2)",
        rf"(?:(?P<distance>equal|ordered|hierarchical) )?t=(?P<t>{_NUMBER}){_ON}",
        TCloseness,
    ),
    Form("beta=1 on COLUMN", rf"(?:basic )?beta=(?P<beta>{_NUMBER}){_ON}", BetaLikeness),
    Form(
        "enhanced beta=1 on COLUMN",
        rf"(?P<enhanced>enhanced) beta=(?P<beta>{_NUMBER}){_ON}",
        BetaLikeness,
    ),
    Form("delta=1 on COLUMN", rf"delta=(?P<delta>{_NUMBER}){_ON}", DeltaDisclosure),
    Form(
        "presence=0.1..0.7 in population.csv",
        rf"presence=(?P<low>[^\s=]+?)\.\.(?P<high>{_NUMBER}){_IN}",
        DeltaPresence,
    ),
    Form("risk=0.2", rf"(?:prosecutor )?risk=(?P<threshold>{_NUMBER})", ProsecutorRisk),
    Form("risk=0.2 in population.csv", rf"(?:journalist )?risk=(?P<threshold>{_NUMBER}){_IN}", JournalistRisk),
    Form("average risk=0.05 (in population.csv)", rf"average risk=(?P<threshold>{_NUMBER})(?:{_IN})?", AverageRisk),
    Form("marketer risk=0.05 (in population.csv)", rf"marketer risk=(?P<threshold>{_NUMBER})(?:{_IN})?", MarketerRisk),
    Form(
        f"unique=0.01 of 1000000 (by {', '.join((LARGEST, *ESTIMATORS))})",
        rf"unique=(?P<threshold>{_NUMBER}) of (?P<people>{_NUMBER})(?: by (?P<estimator>\w+))?",
        PopulationUniqueness,
    ),
)
_WHOLE = {"k", "p", "people"}
_TEXT = {"on", "distance", "estimator"}


def parse(text: str, card: Card) -> Model:
    """The model that ``text`` names, on the columns of ``card``.

    ``on COLUMN`` may be left out where the card declares a single sensitive column. ``in FILE`` opens a population: a
    table with the card's quasi-identifiers and, if it has that column, the card's unit.
    """
    return parse_all([text], card)[0]


def parse_all(texts: Iterable[str], card: Card) -> list[Model]:
    """The models that ``texts`` name. A population that several of them name is opened once, so that it is the same."""
    populations: dict[str, Table] = {}
    return [_model(text, card, populations) for text in texts]


def _model(text: str, card: Card, populations: dict[str, Table]) -> Model:
    written = re.sub(r"\s*=\s*", "=", " ".join(text.split()))
    for form in FORMS:
        found = re.fullmatch(form.pattern, written, re.IGNORECASE)
        if found:
            return form.make(**_parameters(found.groupdict(), form, card, populations))
    raise BadInput(
        f"{text!r} is no privacy model{_meant(written)}.",
        hint="\nKnown are:\n  " + "\n  ".join(form.example for form in FORMS),
    )


def _meant(written: str) -> str:
    """The form whose words before the first figure are closest."""
    return meant(written.partition("=")[0].lower(), [form.example.partition("=")[0] for form in FORMS])


def _parameters(said: dict[str, str | None], form: Form, card: Card, populations: dict[str, Table]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in said.items():
        if name == "on":
            found[name] = _column(value, form, card)
        elif value is None:
            continue
        elif name == "population":
            place = value if parse_address(value) else str(Path(value).resolve())
            if place not in populations:
                populations[place] = _population(value, card)
            found[name] = populations[place]
        elif name == "enhanced":
            found[name] = True
        elif name in _TEXT:
            found[name] = value.lower()
        elif name in _WHOLE or (name == "l" and form.make is not EntropyLDiversity):
            found[name] = _whole(value, name)
        else:
            found[name] = _number(value, name)
    return found


def _column(named: str | None, form: Form, card: Card) -> str:
    if named is not None:
        return card[named.strip("\"'")].name
    sensitive = [column.name for column in card.having(Role.SENSITIVE)]
    if len(sensitive) == 1:
        return sensitive[0]
    which = f"declares {', '.join(sensitive)}" if sensitive else "declares no sensitive column"
    raise BadInput(f"On which column? The card of {card.name} {which}.", hint=f"Write: {form.example}")


def _population(place: str, card: Card) -> Table:
    from discreet.engines.read import read

    name = re.split(r"[/\\#]", place)[-1].partition(".")[0] or "population"
    columns = card.having(Role.QUASI)
    found = read(place, replace(card.without_unit(columns), name=name))
    if card.unit is None or card.unit not in found.unseen:
        return found
    return read(place, replace(found.card, columns=(card[card.unit], *columns), unit=card.unit))


def _whole(value: str, name: str) -> int:
    try:
        return int(value.replace(",", ""))
    except ValueError:
        raise BadInput(f"{name} must be a whole number, got {value!r}.") from None


def _number(value: str, name: str) -> Fraction:
    return exact(value[:-1], name) / 100 if value.endswith("%") else exact(value, name)
