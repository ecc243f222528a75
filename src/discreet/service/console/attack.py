"""/attack: simulated attacks on a release, and their findings.

data-testid: attack-release, attack-options, attack-only, attack-population, attack-start, attack-why-not; job-attack,
job-open-<id>; attack-summary, attack-pass-on, attack-whole, finding-<number>.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from discreet.core.markup import markup, tag
from discreet.curator.people.person import Role
from discreet.curator.release_index import LEARNT, Shelved
from discreet.service.console import explain, theme
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, recent, requested_job
from discreet.service.console.releases import about
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import Attack
from discreet.service.operations.surveys import COLLECTED
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.report import UNSURE, describe_details, share_text

_TERMS = ("Record linkage", "Re-identification", "Quasi-identifier")
_TONES = {Outcome.BROKE: "bad", Outcome.UNSURE: "warn", Outcome.NOTHING: "good", Outcome.FAILED: "plain"}
_ABOUT = "Simulate an intruder who holds a release: how many people can be re-identified, and what can be inferred?"


async def _build(seat: Seat) -> None:
    releases = {one.id: one for one in await seat.call(seat.desk.releases, most=500)}
    before = await recent(seat, Attack.kind)
    with theme.page("Attack", _ABOUT, _TERMS):
        if not releases:
            theme.empty("Nothing has been released yet.", "ios_share", ("Publish a table", "/publish"))
            return
        attacking = _Attacking(seat, releases)
        attacking.draw(before)
        wanted = requested_job(seat, before)
        if wanted is not None:
            await attacking.follow(wanted)


PAGE = Page("/attack", "Attack", "gavel", (Role.STEWARD,), 50, _build)


class _Attacking:
    """The choice of a release, and the report of the attacks on it."""

    def __init__(self, seat: Seat, releases: Mapping[str, Shelved]) -> None:
        self._seat, self._releases = seat, releases

    def draw(self, before: Sequence[Job]) -> None:
        published = [one for one in self._releases.values() if one.kind == "published"]
        asked = self._seat.given.get("release", "")
        first = asked if asked in self._releases else next((one.id for one in published), next(iter(self._releases)))
        with theme.card("Release to attack"):
            theme.promise(explain.ATTACK, "What do attacks measure?")
            labels = {one.id: f"{one.title} ({about(one)})" for one in (*published, *self._releases.values())}
            width = "dc-full dc-wrapped"
            self._release = theme.select(
                labels, "Release", "attack-release", width=width, value=first, with_input=True, on_change=self._show
            )
            self._release.props(remove="hide-selected fill-input")  # these have one line, and names are long
            self._why_not = ui.element("div").props("data-testid=attack-why-not")
            with ui.expansion("Options").classes("dc-more") as self._more, theme.row():
                self._only = theme.select([], "Only these attacks", "attack-only", multiple=True, with_input=True)
                self._population = theme.figure("Population size (optional)", "attack-population", min=0, step=1000)
            self._more.props("data-testid=attack-options").on_value_change(self._name_attacks)
            self._start = ui.button("Attack", icon="gavel", on_click=lambda: self._box.start(self._spec))
            self._start.props("unelevated data-testid=attack-start").classes("dc-own")
        self._box: JobBox = JobBox(self._seat, "Attacking", draw=lambda found, job: report(found, job.id))
        self._box.earlier("Earlier attacks", before, self._title)
        self._show()

    async def follow(self, job: Job) -> None:
        """Show what became of a job."""
        await self._box.follow(job)

    def _title(self, job: Job) -> str:
        one = self._releases.get(str(job.spec["release"]))
        return "a deleted release" if one is None else one.title

    def _show(self) -> None:
        why = why_not(self._releases[self._release.value])
        self._why_not.clear()
        with self._why_not:
            if why:
                theme.prose(why)
        self._start.set_visibility(not why)
        self._more.set_visibility(not why)

    async def _name_attacks(self) -> None:
        if not self._only.options:
            self._only.set_options(await asyncio.to_thread(_names))

    def _spec(self) -> Attack:
        return Attack(self._release.value, tuple(self._only.value or ()), int(self._population.value or 0))


def why_not(one: Shelved) -> str:
    """Why a release needs no attack; empty if it can be attacked."""
    if one.kind == "published":
        return ""
    if one.kind == "hidden":
        return (
            "Its secret itemsets and rules are hidden, which was checked by mining. It protects no one's privacy: "
            "treat it as the original rows."
        )
    if one.kind == LEARNT and one.loss is None:
        return (
            "This is a model, and attacks are run on rows. That many different sets of people give it was checked "
            "before it left; the Learn page shows how it compares with other models."
        )
    if one.kind == COLLECTED:
        return (
            "These figures were estimated from answers that were randomised in the respondents' browsers. Local "
            "differential privacy holds whatever an intruder knows or does, so there is nothing to measure."
        )
    if one.loss is not None:
        return (
            f"It is differentially private ({theme.amount(one.loss)}). That holds whatever an intruder knows or does, "
            "so there is nothing to measure; the budget bounds what all answers tell together."
        )
    return (
        "The suppression audit of this table ran before it was released. The Tabulate page shows what an intruder can "
        "compute of each cell."
    )


def report(found: Mapping[str, Any], job: str) -> None:
    """What came of attacks, from plain data: in short, as bars, and one by one."""
    with theme.card("Summary", note=found["release"]):
        theme.holder_only("This names rows of the original. Pass on only the report without row numbers.")
        theme.prose(found["summary"]).props("data-testid=attack-summary")
        bars([one for one in found["findings"] if one["figure"] is not None])
        with theme.row():
            safe = ui.button("Report without row numbers", icon="download")
            safe.props("outline data-testid=attack-pass-on")
            safe.on_click(lambda: ui.download.from_url(f"/v1/jobs/{job}/papers/to-pass-on.html", "attacks.html"))
            whole = ui.button("Full report (holder only)", icon="lock").props("flat data-testid=attack-whole")
            whole.on_click(lambda: ui.download.from_url(f"/v1/jobs/{job}/papers/report.html", "attacks-for-you.html"))
    with theme.card("Findings", note="worst first"):
        for number, one in enumerate(found["findings"]):
            _finding(number, one)
        if found["not_applicable"]:
            with ui.expansion("Attacks that do not apply").classes("dc-more"):
                theme.facts([(one["attack"], one["why"]) for one in found["not_applicable"]])


def _finding(number: int, one: Mapping[str, Any]) -> None:
    outcome = Outcome(one["outcome"])
    with ui.element("div").classes("dc-rule").props(f"data-testid=finding-{number}"):
        with theme.row():
            ui.label(one["attack"]).classes("dc-strong")
            theme.badge(outcome.value, _TONES[outcome])
        if one["knows"]:
            theme.prose(one["knows"], soft=True)
        if outcome is Outcome.FAILED:
            theme.prose(f"Could not run: {one['meaning']}")
            return
        theme.prose(f"{figure(one)} {one['meaning']}")
        if outcome is Outcome.UNSURE:
            theme.prose(UNSURE)
        facts = describe_details(one["details"])
        if one.get("victims"):
            facts.append(("rows re-identified", ", ".join(f"{row:,}" for row in one["victims"])))
        if facts:
            with ui.expansion("Details").classes("dc-more"):
                theme.facts(facts)


def figure(one: Mapping[str, Any]) -> str:
    """Success rate of an attack with its interval, and that of guessing."""
    low, high, got, guessing = map(share_text, (*one["interval"], one["figure"], one["baseline"]))
    return f"{got} ({one['interval_is']}: {low} to {high}); guessing gives {guessing}."


def bars(findings: Sequence[Mapping[str, Any]]) -> None:
    """Each attack as a bar: how far it gets, its interval as a line, and what guessing gives as a mark."""
    if not findings:
        return
    rows = []
    for one in findings:
        low, high, got, guessing = (
            100 * min(max(share, 0.0), 1.0) for share in (*one["interval"], one["figure"], one["baseline"])
        )
        tone = _TONES[Outcome(one["outcome"])]
        bar = tag("i", class_=f"dc-{tone}", style=f"width:{got:.2f}%")
        line = tag("b", style=f"left:{low:.2f}%;width:{high - low:.2f}%")
        mark = tag("u", style=f"left:{guessing:.2f}%")
        said = figure(one)
        hit = tag("div", bar, line, mark, class_="dc-hit", role="img", aria_label=said, title=said)
        rows += [tag("span", one["attack"]), hit, tag("span", share_text(one["figure"]))]
    key = (
        "Bar: success of the attack. Thin line: its interval. Mark: success of guessing without the release. The "
        "further a bar reaches beyond its mark, the worse."
    )
    drawn = markup(tag("div", rows, class_="dc-hits"), tag("p", key, class_="dc-soft dc-small"))
    ui.html(drawn, sanitize=False).classes("dc-full")


def _names() -> list[str]:
    from discreet.verbs.attack.attack import every_attack

    return [one.name for one in every_attack()]
