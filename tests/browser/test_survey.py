"""The survey in a real Chromium: the randomiser keeps to its law, and an answer leaves the page by its report alone."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect
from scipy.stats import chi2
from tests.called import called
from tools.browser import DESKTOP, PHONE

from discreet.verbs.collect import report_distribution
from discreet.verbs.collect.frequency.randomized_response import GRR, Coins
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mechanisms import Duchi, Piecewise
from discreet.verbs.collect.survey.question import browser_parameters
from discreet.verbs.collect.survey.web import FILES, source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

TIMES = 20_000
RARE = 1e-6
SURVEY = """
title = "Music & <more>"
epsilon = 4
share = "split"
people = 100

[questions.like]
text = "Do you like the band?"
kind = "yes/no"
protocol = "grr"

[questions.albums]
text = "How many of its albums do you own?"
kind = "number"
bounds = [0, 10]
steps = 10
protocol = "oue"

[questions.gender]
text = "What is your gender?"
kind = "choice"
values = ["female", "male", "other"]
protocol = "grr"

[questions.age]
text = "How old are you?"
kind = "number"
bounds = [10, 90]
steps = 16
wants = "mean"
protocol = "duchi"
"""


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[str]:
    """``discreet collect serve`` on a free port; the address that it tells."""
    command = [Path(sys.executable).with_name("discreet"), "collect", "serve", "music.toml", "--port", "0", *words]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            result = re.search(r"http://\S+", line)
            assert result, line
            yield result[0]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The lecture's four questions, served; its address and its folder."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "music.toml").write_text(SURVEY)
    (folder / "codes.txt").write_text("one\ntwo\nthree\n")
    with serving(folder, "--codes", "codes.txt") as address:
        yield address, folder


@pytest.fixture
def page(chrome: Browser, survey: tuple[str, Path]) -> Iterator[Page]:
    """A page that may not stumble; that a report was refused is the browser's own remark."""
    stumbled: list[str] = []

    def heard(line: ConsoleMessage) -> None:
        if line.type == "error" and "status of 403" not in line.text:
            stumbled.append(line.text)

    with chrome.new_context(base_url=survey[0], viewport=DESKTOP) as context:
        context.on("console", heard)
        context.on("weberror", lambda error: stumbled.append(str(error.error)))
        yield context.new_page()
    assert stumbled == []


def drawn(page: Page, how_: dict[str, Any], answer: int) -> dict[str, int]:
    """How often the page's own randomiser reports what of an answer."""
    script = """async ([how, answer, times]) => {
        const { randomise } = await import("/randomise.js");
        const found = {};
        for (let i = 0; i < times; i++) { const told = randomise(how, answer); found[told] = (found[told] ?? 0) + 1; }
        return found;
    }"""
    counts: dict[str, int] = page.evaluate(script, [how_, answer, TIMES])
    return counts


def probabilities(mechanism: Any, answer: int) -> dict[str, float]:
    """How likely every report is, as the page writes it."""
    whole = mechanism.report_distribution
    if isinstance(whole, report_distribution.SymmetricAnswers):
        whole = whole.whole
    if isinstance(whole, report_distribution.Matrix):
        return {str(index): float(probability) for index, probability in enumerate(whole.rows[answer])}
    heads = whole.ones[answer]
    result = {}
    for bits in itertools.product((0, 1), repeat=len(heads)):
        probability = float(np.prod([float(p if bit else 1 - p) for bit, p in zip(bits, heads, strict=True)]))
        result[f"{sum(bit << index for index, bit in enumerate(bits)):02x}"] = probability
    return result


def surprise(counts: dict[str, int], expected: dict[str, float]) -> float:
    """The chance of counts as far from what is expected as these, by chi-square; 0 for what cannot be."""
    if set(counts) - {report for report, probability in expected.items() if probability > 0}:
        return 0.0
    whole = sum((counts.get(r, 0) - TIMES * p) ** 2 / (TIMES * p) for r, p in expected.items() if p > 0)
    return float(chi2.sf(whole, len(expected) - 1))


GRID = NumberGrid(0, 6, 6)
WAYS = {
    "two fair coins": (Coins(), Coins(truth="0.55")),
    "two coins": (Coins(truth="1/3", heads="1/4"), Coins(truth="1/3", heads="0.29")),
    "grr": (GRR(5, 1), GRR(5, "1.2")),
    "sue": (SUE(3, 1), SUE(3, "1.2")),
    "oue": (OUE(3, 1), OUE(3, "1.2")),
    "duchi": (Duchi(GRID, 1), Duchi(GRID, "1.2")),
    "piecewise": (Piecewise(GRID, 1), Piecewise(GRID, "1.2")),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_page_randomises_by_the_law_of_the_protocol(page, way):
    """False alarms: one in a million a comparison. A law that is a little off would be noticed."""
    mechanism, other = WAYS[way]
    page.goto("/")
    for answer in (0, mechanism.report_distribution.answers - 1):
        counts = drawn(page, browser_parameters(mechanism), answer)
        assert surprise(counts, probabilities(mechanism, answer)) > RARE
        assert surprise(counts, probabilities(other, answer)) < RARE


ROUNDED = (
    ("0", "10", 10, "2.3", 3, "3/10"),
    ("-1.5", "1.5", 6, "-0.75", 2, "1/2"),
    ("10", "90", 16, "47", 8, "2/5"),
    ("0", "1", 3, "0.1", 1, "3/10"),
)


def test_numbers_are_rounded_at_random_and_exactly(page):
    page.goto("/")
    for low, high, steps, written, upper, chance in ROUNDED:
        require_rounded(page, low, high, steps, written, upper, chance)


def require_rounded(page, low, high, steps, written, upper, chance):
    """A number between two steps goes up as often as it lies beyond the lower; those beyond the ends go there."""
    script = """async ([grid, written, times, upper]) => {
        const { step } = await import("/randomise.js");
        let found = 0;
        for (let i = 0; i < times; i++) {
            const at = step(grid, written);
            if (at !== upper && at !== upper - 1) throw at;
            found += at === upper;
        }
        return [found, step(grid, "-999"), step(grid, "999"), step(grid, grid.low), step(grid, grid.high)];
    }"""
    result, *ends = page.evaluate(script, [{"low": low, "high": high, "steps": steps}, written, TIMES, upper])
    p = float(Fraction(chance))
    assert surprise({"1": result, "0": TIMES - result}, {"1": p, "0": 1 - p}) > RARE
    assert ends == [0, steps, 0, steps]


ONE = {"like": "yes", "albums": "3", "gender": "female", "age": "10"}
OTHER = {"like": "no", "albums": "7", "gender": "male", "age": "90"}
HEADS, TAILS = 0x00, 0xFF
ALL_TAILS = [TAILS] * 11
ONE_BITS = [HEADS, *ALL_TAILS, HEADS, TAILS]  # yes, and female: told truly
OTHER_BITS = [TAILS, *ALL_TAILS, TAILS, TAILS, TAILS]  # no: turned over; male: moved on by two


def answer(page: Page, answers: dict[str, str]) -> None:
    """Fill the page in, as somebody does."""
    for name, value in answers.items():
        box = page.locator(f'[data-question="{name}"]')
        if value[0].isdigit():
            box.locator("input").fill(value)
        else:
            box.get_by_label(value, exact=True).check()


def sent(chrome: Browser, address: str, answers: dict[str, str], bits: Sequence[int], script: str) -> list[Any]:
    """Everything that a browser asks for or sends while somebody answers, given its random bytes and its page.js."""
    seen: list[Any] = []
    fixed = f"""const bits = {json.dumps(list(bits))};
        crypto.getRandomValues = (array) => array.fill(bits.length ? bits.shift() : 0);"""
    with chrome.new_context(base_url=address, viewport=DESKTOP) as context:
        page = context.new_page()
        page.add_init_script(fixed)
        page.route("**/page.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
        page.route("**/reports*", lambda route: route.fulfill(json={"message": "Received."}))
        context.on("request", lambda one: seen.append(one))  # noqa: PLW0108  a method of a list has no room for its mark
        page.goto("/")
        answer(page, answers)
        page.get_by_label("Your one-time code").fill("one")
        page.get_by_role("button", name="Flip the coins").click()
        page.get_by_role("button", name="Send it").click()
        expect(page.get_by_text("Thank you")).to_be_visible()
        result = [[one.method, one.url, sorted(one.all_headers().items()), one.post_data] for one in seen]
    return sorted(result, key=str)


def test_an_answer_leaves_the_page_by_its_report_alone(chrome, survey):
    """Other answers with other coins, and the same reports: then every byte that leaves is the same."""
    one, other = (
        sent(chrome, survey[0], answers, bits, source("page.js"))
        for answers, bits in ((ONE, ONE_BITS), (OTHER, OTHER_BITS))
    )
    assert one == other
    [[method, url, _, body]] = [request for request in one if request[0] != "GET"]
    assert (method, url) == ("POST", f"{survey[0]}/reports")
    assert json.loads(body)["reports"] == {"like": 1, "albums": "0000", "gender": 0, "age": 0}
    assert {request[1] for request in one} == {f"{survey[0]}/{name}" for name in ("", "reports", *FILES)}


LEAKS = {
    "in an address": ("flipped = {", 'fetch("page.css?" + places.join("-")); flipped = {'),
    "in a cookie": ("flipped = {", 'document.cookie = "a=" + places.join("-"); flipped = {'),
    "in the id": ("const id = Array", "const id = places.join('').padStart(32, '0') || Array"),
    "beside the report": ("id, reports }", "id, reports, places }"),
    "by whether it asks": ("flipped = {", 'if (places[0]) fetch("page.css"); flipped = {'),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_page_that_tells_an_answer_would_be_caught(chrome, survey, leak):
    script = source("page.js").replace(*LEAKS[leak])
    assert script != source("page.js")
    one, other = (
        sent(chrome, survey[0], answers, bits, script) for answers, bits in ((ONE, ONE_BITS), (OTHER, OTHER_BITS))
    )
    assert one != other


def test_people_answer_once_each_and_their_reports_can_be_estimated(page, survey):
    _, folder = survey
    file = folder / "music.reports.jsonl"
    before = max(len(file.read_text().splitlines()) - 1, 0) if file.exists() else 0
    page.set_viewport_size(PHONE)
    for code, document in (
        ("one", "Thank you"),
        ("two", "Thank you"),
        ("one", "has been used"),
        ("four", "not on the list"),
    ):
        page.goto("/")
        expect(page.get_by_role("heading", name="Music & <more>")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.get_by_role("button", name="Flip the coins").click()
        expect(page.get_by_role("status")).to_contain_text("Please answer: Do you like the band?")
        answer(page, ONE)
        page.get_by_label("Your one-time code").fill(code)
        page.get_by_role("button", name="Flip the coins").click()
        assert set(json.loads(page.locator("#report").text_content() or "")["reports"]) == set(ONE)
        with page.expect_response("**/reports") as answered:
            page.get_by_role("button", name="Send it").click()
        expect(page.get_by_role("status")).to_contain_text(document)
        assert answered.value.status == (200 if document == "Thank you" else 403)
    assert source("randomise.js") == page.locator("details pre").text_content()
    assert len(file.read_text().splitlines()) == before + 3
    assert "one" not in file.read_text()
    result = called(["collect", "estimate", "music.toml", "--json"], folder)
    assert json.loads(result.stdout)["people"] == before + 2
    assert "Each person has one code." in json.loads(result.stdout)["statement"]["assumes"]


def test_a_code_that_was_mistyped_flips_no_coin_again(page):
    """Whoever sees both requests sees one report: a second would lose as much again."""
    page.goto("/")
    answer(page, OTHER)
    sent = []
    for code, document in (("thre", "not on the list"), ("three", "Thank you")):
        page.get_by_label("Your one-time code").fill(code)
        if not sent:
            page.get_by_role("button", name="Flip the coins").click()
        assert json.loads(page.locator("#report").text_content() or "")["code"] == code
        with page.expect_request("**/reports") as asked:
            page.get_by_role("button", name="Send it").click()
        expect(page.get_by_role("status")).to_contain_text(document)
        sent.append(json.loads(asked.value.post_data or ""))
    assert [one.pop("code") for one in sent] == ["thre", "three"]
    assert sent[0] == sent[1]
    expect(page.get_by_label("Your one-time code")).to_be_disabled()


def test_a_page_that_draws_a_question_asks_that_one_alone(chrome, tmp_path):
    (tmp_path / "music.toml").write_text(SURVEY.replace('"split"', '"sampled"'))
    seen = set()
    with serving(tmp_path) as address, chrome.new_context(base_url=address) as context:
        page = context.new_page()
        for byte in (0x00, 0x40, 0x80, 0xC0):
            page.add_init_script(f"crypto.getRandomValues = (array) => array.fill({byte})")
            page.goto("/")
            [name] = page.locator("fieldset").evaluate_all("all => all.map((one) => one.dataset.question)")
            seen.add(name)
            answer(page, {name: ONE[name]})
            page.get_by_role("button", name="Flip the coins").click()
            page.get_by_role("button", name="Send it").click()
            expect(page.get_by_role("status")).to_contain_text("Thank you")
    assert seen == set(ONE)


def test_nothing_from_elsewhere_and_nothing_written_into_the_page_can_run(page):
    answered = page.request.get("/")
    policy = answered.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
