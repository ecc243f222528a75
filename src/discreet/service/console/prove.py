"""/prove: write a mechanism, and have its privacy claim proved or refuted.

data-testid: prove-example, prove-language, prove-program, prove-seconds, prove-start, prove-problem; job-prove,
job-open-<id>; prove-verdict, prove-reasons, prove-page, prove-proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nicegui import ui

from discreet.curator.people.person import Person, Role
from discreet.errors import DiscreetError
from discreet.service.console import explain, theme
from discreet.service.console.frame import Page, Seat
from discreet.service.console.jobs import JobBox, list_jobs, recent, requested_job
from discreet.service.jobs.checks import program_of
from discreet.service.jobs.queue import Job
from discreet.service.jobs.specs import MOST_SECONDS, Prove
from discreet.verbs.prove.examples import EXAMPLES

_TERMS = ("Differential privacy", "Neighbouring inputs", "Counterexample", "Certificate")
_ABOUT = "Write a mechanism and its privacy claim. The claim is proved, or refuted by two neighbouring inputs."
_LANGUAGES = {"dp": "discreet's language", "python": "Python"}
_TONES = {"PROVED": "good", "REFUTED": "bad", "UNKNOWN": "warn"}
_LANGUAGE = Path(__file__).with_name("prove.js")


async def _build(seat: Seat) -> None:
    before = await recent(seat, Prove.kind)
    with theme.page("Prove", _ABOUT, _TERMS):
        form = _Form(seat, before)
    wanted = requested_job(seat, before)
    if wanted is not None:
        await form.open(wanted)


PAGE = Page("/prove", "Prove", "verified", (Role.STEWARD,), 52, _build)


class _Form:
    """The program, and the verdict on it."""

    def __init__(self, seat: Seat, before: list[Job]) -> None:
        self._seat = seat
        with theme.card("Program", note="It is parsed, and never run."):
            with theme.row():
                titles = {number: one.title for number, one in enumerate(EXAMPLES)}
                self._example = theme.select(titles, "Example", "prove-example", on_change=self._take_example)
                self._language = theme.select(_LANGUAGES, "Language", "prove-language", width="dc-short")
                self._seconds = theme.figure(
                    "Time limit, seconds", "prove-seconds", width="dc-short", value=20, min=1, max=MOST_SECONDS, step=1
                )
            self._program = ui.codemirror(EXAMPLES[0].text, indent="  ", line_wrapping=True)
            self._program.props("data-testid=prove-program").classes("dc-program")
            self._problem = ui.element("div").props("data-testid=prove-problem aria-live=polite").classes("dc-stack")
            with theme.row():
                start = theme.button("Prove", "prove-start", self._start, icon="verified", look="unelevated")
                theme.prose("Ctrl+Enter starts. Tab leaves the editor.", soft=True).classes("dc-small")
            theme.promise(explain.PROVE, "What does a claim say, and how is it written?")
        self._box: JobBox = JobBox(seat, "Proving", draw=_verdict)
        if before:
            with theme.card("Earlier proofs"):
                list_jobs(before, self.open, lambda job: job.table)
        ui.run_javascript(theme.editor_setup(self._program, "Program", start, _LANGUAGE.read_text(encoding="utf-8")))

    async def open(self, job: Job) -> None:
        """Show an earlier job, with its program in the editor."""
        self._language.set_value(job.spec["language"])
        self._program.set_value(job.spec["program"])
        await self._box.follow(job)

    def _take_example(self) -> None:
        example = EXAMPLES[self._example.value]
        self._language.set_value("python" if example.python else "dp")
        self._program.set_value(example.text)
        self._problem.clear()

    async def _start(self) -> None:
        """Parse the program first, so that a mistake is shown below the editor, and not after a wait."""
        self._problem.clear()
        try:
            spec = Prove(self._program.value, self._language.value, int(self._seconds.value or 0))
            await self._seat.call(_require_program, spec)
        except DiscreetError as error:
            with self._problem:
                theme.refusal(error).classes("dc-code")
            return
        await self._box.start(lambda: spec)


def _require_program(_: Person, spec: Prove) -> None:
    program_of(spec)


def _verdict(found: Mapping[str, Any], job: Job) -> None:
    """The verdict, its reasons, and the page with both runs side by side."""
    paper = f"/v1/jobs/{job.id}/papers"
    drawn = "The proof" if "proof" in found else "The counterexample" if "counterexample" in found else "The program"
    with theme.card(drawn, testid="prove-verdict"):
        with theme.row():
            theme.badge(found["verdict"].lower(), _TONES[found["verdict"]])
            theme.prose(found["summary"])
        theme.promise(explain.VERDICTS[found["verdict"]], "What does this verdict mean?")
        frame = ui.element("iframe").classes("dc-frame").props('sandbox="" loading=lazy data-testid=prove-page')
        frame.props["title"] = drawn
        frame.props["src"] = f"{paper}/proof.html"
        with ui.expansion("As text").classes("dc-more").props("data-testid=prove-reasons"):
            ui.label("\n".join(found["reasons"])).classes("dc-code dc-asked")
        if "proof" in found:

            def download() -> None:
                ui.download.from_url(f"{paper}/proof.json", "proof.json")

            with theme.row():
                theme.button("Proof as a file", "prove-proof", download, icon="download", look="outline")
                theme.prose("“discreet prove FILE --check proof.json” checks it again.", soft=True).classes("dc-small")
