"""What came of attacking a release, for a steward who has to decide about it and is no statistician."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.core.markup import Markup, tag
from discreet.core.report import Picture, bars, beside, heading, pairs, pill, section, styled, write_page
from discreet.core.text import number
from discreet.verbs.attack.finding import Finding, Outcome, rank
from discreet.verbs.attack.wording import in_words, share_text

_BADGES = {Outcome.BROKE: "bad", Outcome.UNSURE: "none", Outcome.NOTHING: "good", Outcome.FAILED: "none"}
UNSURE = "This is more than guessing gives, but of so few that chance may explain it; or it may be worse."
"""What is said of attacks on too few people to tell."""
_WARNING = (
    "For the data steward only: it names rows of the original. Pass on report.without_victims() instead, or the "
    "report made with --no-victims."
)


@dataclass(frozen=True, repr=False)
class Report:
    """Findings, the worst first, and the attacks that do not apply, with the reason."""

    release: str
    """The title of what was attacked."""
    known: str
    """The name of the table that the attackers have."""
    findings: tuple[Finding, ...]
    not_applicable: tuple[tuple[str, str], ...] = ()
    """Name and reason."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(sorted(self.findings, key=_order)))

    @property
    def worst(self) -> Finding | None:
        """The finding that tells most beyond guessing; ``None`` if no attack learned anything."""
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
        """The same report, fit to be passed on."""
        return replace(self, findings=tuple(one.without_victims() for one in self.findings))

    def to_dict(self, *, victims: bool = False) -> dict[str, Any]:
        """This as plain data, for JSON; the victims only if they are asked for."""
        return {
            "release": self.release,
            "known": self.known,
            "summary": self.summary,
            "findings": [one.to_dict(victims=victims) for one in self.findings],
            "not_applicable": [{"attack": name, "why": why} for name, why in self.not_applicable],
        }

    def pictures(self) -> tuple[Picture, ...]:
        """What attackers get beside what guessing gives, and in how large a crowd people are."""
        ran = [one for one in self.findings if one.outcome is not Outcome.FAILED]
        found = []
        if ran:
            both = {
                "what the attack gets": [100 * one.figure for one in ran],
                "what guessing gives": [100 * one.baseline for one in ran],
            }
            caption = "Per cent. The further an attack is above guessing, the worse."
            found.append(beside("What each attack gets", [one.attack for one in ran], both, caption=caption))
        crowds = next((one.details["crowds"] for one in ran if "crowds" in one.details), None)
        if isinstance(crowds, Mapping):
            caption = "How many released rows may be a person's. Whoever has only one stands alone."
            found.append(
                bars("People by the size of their crowd", list(crowds), list(crowds.values()), caption=caption)
            )
        return tuple(found)

    def html(self, path: str | Path) -> Path:
        """Write the report as one page that opens offline, for its owner alone."""
        return write_page(path, f"Attacks on {self.release}", self._repr_html_())

    def __str__(self) -> str:
        lines = [self.summary]
        for one in self.findings:
            lines += ["", f"{one.attack}: {one.outcome.value}", *(f"  {line}" for line in _told(one))]
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
        sections += [_told_in_html(one) for one in self.findings]
        if self.not_applicable:
            sections.append(section("Attacks that are not for such a release", pairs(self.not_applicable)))
        return styled(sections)


def headline(finding: Finding) -> str:
    """The figure as people read it."""
    return f"{share_text(finding.figure)} where guessing gives {share_text(finding.baseline)}"


def _order(finding: Finding) -> tuple[int, float]:
    """What was learned first, by how much of what guessing leaves open; what could not run last."""
    place = rank(finding.outcome)
    if finding.outcome is Outcome.FAILED:
        return place, 0.0
    return place, (finding.baseline - finding.figure) / max(1 - finding.baseline, 1e-12)


def _told(finding: Finding) -> list[str]:
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


def _told_in_html(finding: Finding) -> Markup:
    told = (tag("p", line) for line in (pill(finding.outcome.value, _BADGES[finding.outcome]), *_told(finding)))
    facts = in_words(finding.details)
    if finding.victims:
        facts.append(("rows of victims", ", ".join(f"{row:,}" for row in finding.victims)))
    return section(finding.attack, told, pairs(facts) if facts else None)
