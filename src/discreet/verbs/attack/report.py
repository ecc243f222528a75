"""Report of the attacks on a release, in words and pictures for a data steward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.core.markup import Markup, tag
from discreet.core.report import Picture, bars, grouped_bars, heading, pairs, pill, section, styled, write_page
from discreet.core.text import number
from discreet.verbs.attack.finding import Finding, Outcome, severity

_BADGES = {Outcome.BROKE: "bad", Outcome.UNSURE: "none", Outcome.NOTHING: "good", Outcome.FAILED: "none"}
UNSURE = "This is more than guessing, but there are too few people to rule out chance; it may also be worse."
"""Sentence about attacks on too few people for a conclusion."""
_WARNING = (
    "Confidential: it names rows of the original. To share a report, use report.without_victims() or --no-victims."
)
_WORDS = {
    "AUC": "probability that a member scores above a non-member",
    "FPR": "false positive rate",
    "TPR": "true positive rate",
    "agreement of true pairs": "agreement of true pairs, from equal to different",
    "alone": "found by each release separately",
    "answers": "answers received",
    "certain": "people with one candidate row",
    "column": "sensitive column",
    "columns": "columns used",
    "confidence": "confidence in the bound",
    "control": "success rate on the control group",
    "distance": "distance threshold for members",
    "epsilon at least": "ε is at least",
    "estimates": "population uniques, by estimator",
    "excludes": "values the attacker can rule out",
    "guesses": "guesses made",
    "guessing": "success rate without the release",
    "matched": "of these, in the release",
    "measured": "how it was measured",
    "metric": "distance",
    "named": "people for whom a record was named",
    "named wrongly": "of these, wrong",
    "people": "people attacked",
    "people trained on": "people in the training set",
    "questions": "questions asked",
    "records": "records in the release",
    "refused": "questions refused",
    "releases": "releases combined",
    "right": "of these, right",
    "runs": "retrainings",
    "secret": "inferred column",
    "shape": "form of the distance",
    "sure": "people the attacker is certain of",
    "targets": "target people",
    "test": "membership test",
    "tolerance": "tolerance",
    "unique": "people with unique values",
    "weights": "weights of the columns",
    "width": "tolerance",
}
"""Labels of the details whose keys are unclear; other keys are shown unchanged."""
_SHARES = frozenset(
    {
        "FPR",
        "TPR",
        "upper limit from an exact copy",
        "agreement of true pairs",
        "alone",
        "largest growth of belief",
        "certain",
        "confidence",
        "control",
        "estimates",
        "guessing",
        "highest probability of success",
        "overall frequency of the known values",
        "people trained on",
        "unique released rows that match a unique person",
        "sensitive value certain from all together",
        "sensitive value certain from the first alone",
        "tolerance",
        "ceiling without any knowledge",
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
            return f"No attack on {self.release} could run, so its risk is unknown."
        broke = counts[Outcome.BROKE]
        said = f"{number(ran, 'attack')} on {self.release}: {broke or 'none'} of them learned something."
        if counts[Outcome.UNSURE]:
            said += f" For {counts[Outcome.UNSURE]} of them there are too few people to tell."
        if counts[Outcome.FAILED]:
            said += f" {number(counts[Outcome.FAILED], 'more', 'more')} could not run."
        if self.worst is not None:
            said += f" The worst: {self.worst.attack}, {headline(self.worst)}."
        else:
            said += " This is no proof of safety: other attacks may find more."
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
                "attack": [100 * one.figure for one in ran],
                "guessing": [100 * one.baseline for one in ran],
            }
            caption = "Success rate in per cent. The further above guessing, the worse."
            found.append(
                grouped_bars("Success rate of each attack", [one.attack for one in ran], both, caption=caption)
            )
        counts = next((one.details[_DRAWN] for one in ran if _DRAWN in one.details), None)
        if isinstance(counts, Mapping):
            caption = "Number of candidate rows of a person in the release. People with one are singled out."
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
            sections.append(section("Attacks not applicable to this release", pairs(self.not_applicable)))
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
        facts.append(("victim rows", ", ".join(f"{row:,}" for row in finding.victims)))
    return section(finding.attack, lines, pairs(facts) if facts else None)


def describe_details(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Details with readable names and values; those shown as pictures are left out."""
    said = []
    for name, value in details.items():
        if name == _RISK[0]:
            figure, low, high = (share_text(details[one]) for one in _RISK)
            said.append(("risk added by the release, as a share of the maximum", f"{figure} (95 %: {low} to {high})"))
        elif name == "columns" and isinstance(value, Mapping):
            said.append(("revealed, by column", _text(value, share=True)))
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
