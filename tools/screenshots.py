"""Pictures of every page of the console, for the docs: ``make screenshots``.

A made-up hospital is filled with what people would do there in a morning; then a real browser goes from page to page,
at the size of a desk and of a phone. Pictures are reduced to 256 colours, so that the repository stays small.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.browser import DESKTOP, PHONE, Clinic, clinic, launched, seated, serving

from discreet.curator.people.person import Person
from discreet.service.jobs.specs import Attack, Combine, Compare, Hide, Learn, Prove, Publish, Spec, Tabulate
from discreet.service.operations.operations import Operations
from discreet.service.views import Spend
from discreet.verbs.collect.survey.file import loads
from discreet.verbs.prove.examples import EXAMPLES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

FOLDER = Path(__file__).parent.parent / "docs" / "images"
ROWS = 5_000
LARGEST = 150_000
PATIENCE = 300_000
"""Milliseconds: how long a busy machine may take for a step before this gives up."""
QUESTIONS = (
    ("SELECT AVG(length_of_stay) AS nights FROM visits", "0.05"),
    ("SELECT insurance, COUNT(*) AS patients FROM patients GROUP BY insurance", "0.1"),
    ("SELECT outcome, COUNT(*) AS visits FROM visits GROUP BY outcome", "0.2"),
    ("SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward", "0.2"),
    ("SELECT MEDIAN(cost) AS cost FROM visits", "0.15"),
)
SECRETS = ("sex=F, insurance=private",)
ITEMS = ("sex", "ethnicity", "insurance")
BELOW_THE_FRAME = """here => {
  const card = here.closest('.dc-card') ?? here;
  card.style.scrollMarginTop = '20px';
  card.scrollIntoView();
}"""
"""Scrolls the card of an element to the top, below the bar that stays there."""
SURVEY = """
title = "Canteen"
epsilon = 4
share = "split"
people = 300
[questions.ate]
text = "Did you eat in the canteen this week?"
kind = "yes/no"
protocol = "grr"
[questions.dish]
text = "What did you eat last?"
kind = "choice"
values = ["soup", "salad", "pasta"]
protocol = "grr"
"""


def main() -> None:
    """Make them all, or those whose names are given."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="discreet-") as name:
        made = clinic(Path(name), ROWS, ["ann", "ben"])
        found = filled(made)
        with (
            serving(made.folder, Path(name) / "log") as address,
            sync_playwright() as playwright,
            launched(playwright) as browser,
        ):
            for shot in shots(found):
                if not sys.argv[1:] or shot.name in sys.argv[1:]:
                    taken(browser, address, made, shot)


@dataclass(frozen=True)
class Made:
    """What lies in the workspace: the ids of a release of rows, of a table, and of a survey."""

    published: str
    tabulated: str
    survey: str


def filled(made: Clinic) -> Made:
    """Let people do what they would do in a morning."""
    with Operations(made.folder) as desk:
        desk.start()
        steward, ann, ben = (desk.people.find(name) for name in ("steward", "ann", "ben"))
        for number, (question, epsilon) in enumerate(QUESTIONS):
            desk.ask(ben if number == 1 else ann, [question], Spend(epsilon=epsilon))
        rows = done(desk, steward, Publish("patients", ("k=5",), suppress="5%", title="Patients, for teaching"))
        desk.share(steward, rows, True)
        rules = ("p=10", "min=3")
        printed = done(desk, steward, Tabulate("visits", ("ward × outcome",), "cost", rules, title="Cost of visits"))
        done(desk, steward, Attack(rows))
        done(
            desk,
            steward,
            Hide("patients", "5%", "40%", itemsets=SECRETS, columns=ITEMS, despite="approved by the board"),
        )
        done(desk, steward, Compare("patients", "il1"))
        together(made.folder, lambda: done(desk, steward, Combine("stays", "visits")))
        done(desk, steward, Learn("patients", "additive target=insurance epsilon=0.5 on sex, ethnicity, birth_date"))
        done(desk, steward, Prove(EXAMPLES[0].text))
        survey = answered(desk, steward)
    return Made(rows, printed, survey)


def answered(desk: Operations, who: Person) -> str:
    """A survey that people answered, by its id; their reports are made up."""
    view = desk.surveys.set_open(who, desk.surveys.make(who, loads(SURVEY)).id, open=True)
    _, inbox = desk.surveys.collecting(view.id)
    for number in range(240):
        reports = {"ate": int(number % 5 < 3), "dish": min(number % 7 // 2, 2)}
        sent = {"survey": view.survey.fingerprint, "id": f"{number:032x}", "code": None, "reports": reports}
        inbox.receive(sent)
    return view.id


def together(workspace: Path, run_job: Callable[[], object]) -> None:
    """Let the clinic, which is north, and two other holders compute how long people stay."""
    from discreet.verbs.combine.net.keys import Identity
    from discreet.verbs.combine.net.manifest import dump, new_manifest
    from discreet.verbs.combine.participation import take_part
    from discreet.verbs.combine.session import agree_terms

    others = {"south": [2, 9, 4, 3], "east": [1, 6]}
    for folder, names in ((workspace / "combine", ["north"]), (workspace.parent / "others", [*others])):
        folder.mkdir()
        for name in names:
            Identity.new(name).save(folder)
    terms = agree_terms("north,south,east", "masks", "mean of=length_of_stay:0:400")
    (workspace / "combine" / "north.pub").rename(folder / "north.pub")
    manifest = dump(new_manifest("stays", terms, folder))
    for place in (workspace / "combine", folder):
        (place / "stays.toml").write_text(manifest)
    with ThreadPoolExecutor(len(others)) as threads:
        for name, nights in others.items():
            threads.submit(take_part, folder / "stays.toml", {"length_of_stay": nights}, name=name)
        run_job()


def done(desk: Operations, who: Person, spec: Spec) -> str:
    """What came of a job, once it is over."""
    job = desk.submit(who, spec)
    while not job.over:
        time.sleep(0.2)
        job = desk.job(who, job.id)
    assert job.state == "done", f"{job.kind}: {job.error}"
    return job.result or job.id


@dataclass(frozen=True)
class Shot:
    """A page as somebody sees it, after they did something there."""

    name: str
    path: str
    who: str | None
    prepare: Callable[[Page], None] = lambda page: None
    dark: bool = False
    height: int = DESKTOP["height"]
    """How much of the page is shown at a desk."""


def shots(found: Made) -> Sequence[Shot]:
    """All of them."""
    return (
        Shot("signin", "/signin", None),
        Shot("home", "/", "ann", seen_before, dark=True),
        Shot("next", "/", "steward", seen_before, height=1000),
        Shot("tour", "/", "ann", toured),
        Shot("data", "/data?table=patients", "steward", from_the_top, height=1900),
        Shot("ask", "/ask", "ann", asked, dark=True, height=1900),
        Shot("refused", "/ask", "ann", refused, height=1060),
        Shot("releases", "/releases", "steward"),
        Shot("release", f"/release/{found.published}", "steward", height=1000),
        Shot("budget", "/budget", "steward", followed, dark=True, height=1000),
        Shot("publish", "/publish", "steward", height=1300),
        Shot("map", "/publish", "steward", opened("map-chart", within="Earlier maps"), dark=True, height=900),
        Shot("synthesize", "/synthesize?table=patients", "steward", height=1220),
        Shot("tabulate", "/tabulate?table=visits", "steward", height=1300),
        Shot("table", "/tabulate?table=visits", "steward", told, dark=True, height=900),
        Shot("learn", "/learn?table=patients", "steward", opened("learn-result"), height=1000),
        Shot("hide", "/hide?table=patients", "steward", opened("hide-result"), height=1000),
        Shot("collect", f"/collect?survey={found.survey}", "steward", estimated, dark=True, height=1300),
        Shot("attack", "/attack", "steward", opened("attack-summary"), height=1000),
        Shot("prove", "/prove", "steward", proved, dark=True, height=1350),
        Shot("combine", "/combine", "steward", opened("combine-result"), height=1000),
        Shot("exposure", "/exposure", "steward", tried, dark=True, height=1400),
        Shot("people", "/people", "steward", height=1000),
        Shot("tokens", "/tokens", "ann"),
        Shot("audit", "/audit", "auditor"),
        Shot("glossary", "/glossary", "ann"),
    )


def looks(shot: Shot) -> Mapping[str, tuple[ViewportSize, Literal["light", "dark"]]]:
    """The files that are made of it: at each size, light, and dark where that is wanted."""
    desk: ViewportSize = {**DESKTOP, "height": shot.height}
    found = {f"{shot.name}.png": (desk, "light"), f"{shot.name}-phone.png": (PHONE, "light")}
    return found | ({f"{shot.name}-dark.png": (desk, "dark")} if shot.dark else {})


def taken(browser: Browser, address: str, made: Clinic, shot: Shot) -> None:
    """Open a page at each look, and take its picture."""
    for name, (size, scheme) in looks(shot).items():
        with browser.new_context(base_url=address, viewport=size, color_scheme=scheme) as context:
            context.set_default_timeout(PATIENCE)
            if shot.who is not None:
                seated(context, address, made.sessions[shot.who])
            page = context.new_page()
            page.goto(shot.path)
            page.wait_for_load_state("networkidle")
            shot.prepare(page)
            page.mouse.move(0, 0)
            page.wait_for_timeout(500)  # until nothing moves any more
            save(page.screenshot(animations="disabled"), FOLDER / name)


def save(picture: bytes, path: Path) -> None:
    """In few colours, which is all that such pages have."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    assert size < LARGEST, f"{path.name} has {size:,} bytes"
    print(f"{path.name}  {size / 1000:.0f} kB")


def seen_before(page: Page) -> None:
    """Decline the tour, as somebody did who has been here before."""
    page.get_by_test_id("tour-dismiss").click()
    page.get_by_test_id("tour-offer").wait_for(state="hidden")


def from_the_top(page: Page) -> None:
    """Show the beginning of a page that goes to what its address names."""
    page.get_by_test_id("data-revise").wait_for()
    page.evaluate("scrollTo(0, 0)")


def toured(page: Page) -> None:
    """Take the tour, as far as its second step."""
    page.get_by_test_id("tour-start").click()
    page.get_by_test_id("tour-next").click()
    page.get_by_test_id("tour-back").wait_for()


def asked(page: Page) -> None:
    """Build the question how many patients were born in each year, and ask it; the second time it is free."""
    page.get_by_role("button", name="patients by year", exact=True).click()
    page.get_by_test_id("ask-sql").filter(has_text="birth_date_year").wait_for()
    page.get_by_test_id("ask-run").filter(has_text=re.compile("costs|free")).click()
    page.get_by_test_id("answer-chart").wait_for()
    page.evaluate("innerWidth > 600 && scrollTo(0, 0)")  # all of it is in the picture, but on a phone


def refused(page: Page) -> None:
    """Ask for more than is left."""
    written(page, "SELECT ward, AVG(cost) AS cost\nFROM visits\nGROUP BY ward", "0.9")
    beyond = page.get_by_test_id("price-beyond").first
    beyond.wait_for()
    beyond.scroll_into_view_if_needed()


def written(page: Page, sql: str, epsilon: str) -> None:
    """Put a question into the editor, and say what to spend on it."""
    page.get_by_test_id("ask-sql").locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(sql)
    page.get_by_test_id("ask-epsilon").fill(epsilon)
    page.wait_for_timeout(500)  # completions come late
    page.get_by_test_id("ask-sql").locator(".cm-content").press("Escape")


def followed(page: Page) -> None:
    """Look at the table that was asked most."""
    page.get_by_test_id("burn-down").get_by_text("visits").click()


def tried(page: Page) -> None:
    """Check a draft of everybody but those who were left out of an earlier release."""
    page.get_by_test_id("whatif-by").fill("sex × insurance")
    page.get_by_test_id("whatif-run").click()
    page.get_by_test_id("whatif-verdict").get_by_text("would").wait_for()


def estimated(page: Page) -> None:
    """Have the figures of a survey estimated."""
    page.get_by_test_id("collect-estimate").click()
    page.get_by_test_id("collect-figures").first.wait_for()


def proved(page: Page) -> None:
    """Open a proof, below the program."""
    opened("prove-page")(page)
    page.frame_locator("iframe").locator("table").first.wait_for()
    page.evaluate("innerWidth > 600 && scrollTo(0, 0)")  # all of it is in the picture, but on a phone


def told(page: Page) -> None:
    """Open a table, and have it said what an intruder can tell of a hidden cell."""
    opened("crosstable")(page)
    page.get_by_test_id("crosstable").locator("td.dc-hidden").first.focus()


def opened(testid: str, *, within: str = "") -> Callable[[Page], None]:
    """Open what came of an earlier job, which may be listed in a box that has to be opened first, and go there."""

    def go(page: Page) -> None:
        if within:
            page.get_by_text(within).click()
        listing = page.locator(".q-expansion-item", has_text=within) if within else page
        listing.locator("[data-testid^=job-open-]").first.click()
        page.get_by_test_id(testid).first.wait_for()
        page.get_by_test_id(testid).first.evaluate(BELOW_THE_FRAME)

    return go


if __name__ == "__main__":
    main()
