"""Report of the attacks on a release, in words and pictures for a data steward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.core.markup import Markup, tag
from discreet.core.report import Picture, bars, beside, heading, pairs, pill, section, styled, write_page
from discreet.core.text import number
from discreet.verbs.attack.finding import Finding, Outcome, severity

_BADGES = {Outcome.BROKE: "bad", Outcome.UNSURE: "none", Outcome.NOTHING: "good", Outcome.FAILED: "none"}
UNSURE = "This is more than guessing gives, but of so few that chance may explain it; or it may be worse."
"""Sentence about attacks on too few people for a conclusion."""
_WARNING = (
    "For the data steward only: it names rows of the original. Pass on report.without_victims() instead, or the "
    "report made with --no-victims."
)
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
"""Labels of the details whose keys are unclear; other keys are shown unchanged."""
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
_DRAWN = "candidate rows"


@dataclass(frozen=True, repr=False)
class Report:
    """Findings, the worst first, and the attacks that do not apply, with the reasons."""

    release: str
    """Title of the release that was attacked."""
    known: str
    """Name of the table that the attackers have."""
    findings: tuple[Finding, ...]
    not_applicable: tuple[tuple[str, str], ...] = ()
    """Name and reason."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=_order)))

    @property
    def worst(self) -> Finding | None:
        """The finding with the largest gain over guessing; ``None`` if no attack learned anything."""
        first = self.findings[0] if self.findings else None
        return first if first is not None and first.outcome is Outcome.BROKE else None

    @property
    def summary(self) -> str:
        """The report in two sentences."""
        counts = {outcome: sum(one.outcome is outcome for one in self.findings) for outcome in Outcome}
        ran = len(self.findings) - counts[Outcome.FAILED]
        if not ran:
            return f"No attack on {self.release} could run, which says nothing about how safe it is."
        broke = counts[Outcome.BROKE]
        said = f"{number(ran, 'attack')} on {self.release}: {broke or 'none'} of them learned something."
        if counts[Outcome.UNSURE]:
            said += f" For {counts[Outcome.UNSURE]} of them there are too few people to tell."
        if counts[Outcome.FAILED]:
            said += f" {number(counts[Outcome.FAILED], 'more', 'more')} could not run."
        if self.worst is not None:
            said += f" The worst: {self.worst.attack}, {headline(self.worst)}."
        else:
            said += " Attacks that find nothing prove nothing: others may find more."
        return said

    def without_victims(self) -> Report:
        """The report without row numbers, safe to pass on."""
        return replace(self, findings=tuple(one.without_victims() for one in self.findings))

    def to_dict(self, *, victims: bool = False) -> dict[str, Any]:
        """The report as plain data for JSON, with victims on request."""
        return {
            "release": self.release,
            "known": self.known,
            "summary": self.summary,
            "findings": [one.to_dict(victims=victims) for one in self.findings],
            "not_applicable": [{"attack": name, "why": why} for name, why in self.not_applicable],
        }

    def pictures(self) -> tuple[Picture, ...]:
        """Success of each attack beside guessing, and the number of candidate rows of each person."""
        ran = [one for one in self.findings if one.outcome is not Outcome.FAILED]
        found = []
        if ran:
            both = {
                "what the attack gets": [100 * one.figure for one in ran],
                "what guessing gives": [100 * one.baseline for one in ran],
            }
            caption = "Per cent. The further an attack is above guessing, the worse."
            found.append(beside("What each attack gets", [one.attack for one in ran], both, caption=caption))
        counts = next((one.details[_DRAWN] for one in ran if _DRAWN in one.details), None)
        if isinstance(counts, Mapping):
            caption = "Number of released rows that may be a person's. Whoever has only one is singled out."
            title = "People by number of candidate rows"
            found.append(bars(title, list(counts), list(counts.values()), caption=caption))
        return tuple(found)

    def html(self, path: str | Path) -> Path:
        """Write the report as one self-contained page, for its owner alone."""
        return write_page(path, f"Attacks on {self.release}", self._repr_html_())

    def __str__(self) -> str:
        lines = [self.summary]
        for one in self.findings:
            lines += ["", f"{one.attack}: {one.outcome.value}", *(f"  {line}" for line in _sentences(one))]
        if self.not_applicable:
            lines += ["", "not applicable:", *(f"  {name}: {why}" for name, why in self.not_applicable)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sections = [heading(f"Attacks on {self.release}")]
        if any(one.victims for one in self.findings):
            sections.append(tag("p", pill("Confidential"), " ", _WARNING))
        sections.append(section("In short", tag("p", self.summary)))
        sections += [section(picture.title, picture.figure) for picture in self.pictures()]
        sections += [_finding_section(one) for one in self.findings]
        if self.not_applicable:
            sections.append(section("Attacks that are not for such a release", pairs(self.not_applicable)))
        return styled(sections)


def headline(finding: Finding) -> str:
    """Figure of a finding and its baseline, in words."""
    return f"{share_text(finding.figure)} where guessing gives {share_text(finding.baseline)}"


def _order(finding: Finding) -> tuple[int, float]:
    """Sort key: the worst outcome first, then the largest gain over guessing; attacks that could not run last."""
    place = severity(finding.outcome)
    if finding.outcome is Outcome.FAILED:
        return place, 0.0
    return place, (finding.baseline - finding.figure) / max(1 - finding.baseline, 1e-12)


def _sentences(finding: Finding) -> list[str]:
    """A finding in sentences."""
    if finding.outcome is Outcome.FAILED:
        return [*([finding.knows] if finding.knows else []), f"Why it could not run: {finding.meaning}"]
    low, high, figure, guessing = map(share_text, (*finding.interval, finding.figure, finding.baseline))
    return [
        finding.knows,
        f"{figure} ({finding.interval_is}: {low} to {high}); guessing gives {guessing}.",
        finding.meaning,
        *([UNSURE] if finding.outcome is Outcome.UNSURE else []),
    ]


def _finding_section(finding: Finding) -> Markup:
    lines = (tag("p", line) for line in (pill(finding.outcome.value, _BADGES[finding.outcome]), *_sentences(finding)))
    facts = describe_details(finding.details)
    if finding.victims:
        facts.append(("rows of victims", ", ".join(f"{row:,}" for row in finding.victims)))
    return section(finding.attack, lines, pairs(facts) if facts else None)


def describe_details(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Details with readable names and values; those shown as pictures are left out."""
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
    """A share in per cent; small ones are not rounded to 0."""
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
