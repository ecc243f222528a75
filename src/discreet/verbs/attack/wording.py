"""What a finding is made of, in words for a steward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_WORDS = {
    "AUC": "chance that a member looks more like one than somebody else",
    "FPR": "others who were taken for members",
    "TPR": "members who were taken for members",
    "agreement of true pairs": "how far true pairs agree, from equal to unlike",
    "alone": "found by each release alone",
    "answers": "answers that were given",
    "certain": "people of whom only one row can be theirs",
    "column": "sensitive column",
    "columns": "columns that were used",
    "confidence": "confidence in the bound",
    "control": "right about people who are not in the data",
    "distance": "closer than this is taken for a member",
    "epsilon at least": "ε is at least",
    "estimates": "alone in the population, by estimator",
    "excludes": "values that the attacker can rule out",
    "guesses": "guesses made",
    "guessing": "right without the release",
    "matched": "of these in the release",
    "measured": "how it was measured",
    "metric": "distance",
    "named": "people for whom a record was named",
    "named wrongly": "of these wrongly",
    "people": "people attacked",
    "people learnt from": "people the attacker learnt from",
    "questions": "questions asked",
    "records": "records in the release",
    "refused": "questions refused",
    "releases": "releases laid side by side",
    "right": "of these rightly",
    "runs": "times it was made again",
    "secret": "what is inferred",
    "shape": "what is learnt",
    "sure": "people of whom the attacker is sure",
    "targets": "people in question",
    "test": "members are told by",
    "tolerance": "counts as right within",
    "unique": "people with values that nobody else has",
    "weights": "weights of the columns",
    "width": "how near counts",
}
"""For keys that are no words by themselves; all others are said as they are."""
_SHARES = frozenset(
    {
        "FPR",
        "TPR",
        "a copy would give",
        "agreement of true pairs",
        "alone",
        "belief that grew most",
        "certain",
        "confidence",
        "control",
        "estimates",
        "guessing",
        "highest chance to be right",
        "how frequent what is known is among all",
        "people learnt from",
        "rows alone in the release that are somebody unique",
        "sensitive value sure by all together",
        "sensitive value sure by the first alone",
        "tolerance",
        "without knowing anybody, at most",
    }
)
_RISK = ("risk", "risk from", "risk to")
_DRAWN = "crowds"


def in_words(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each detail by a name and with a value that can be read; what is drawn is left out."""
    said = []
    for name, value in details.items():
        if name == _RISK[0]:
            figure, low, high = (share_text(details[one]) for one in _RISK)
            said.append(("added by the release, of what it could add", f"{figure} (95 %: {low} to {high})"))
        elif name == "columns" and isinstance(value, Mapping):
            said.append(("given away, by column", _text(value, share=True)))
        elif name not in (*_RISK, _DRAWN):
            said.append((_WORDS.get(name, name), _text(value, share=name in _SHARES)))
    return said


def share_text(value: float) -> str:
    """A share in per cent, small ones not rounded away."""
    if math.isnan(value):
        return "unknown"
    return f"{100 * value:.3g} %" if 0 < value < 0.01 else f"{100 * value:.1f} %"


def _text(value: object, *, share: bool) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_text(one, share=share)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(one, share=share) for one in value)
    if isinstance(value, float):
        return share_text(value) if share else f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)
