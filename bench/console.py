"""How long people wait for the console: for the Ask page, and for an answer once they asked.

In wall time, since waiting is what is measured, so on a machine that does nothing else. A page can be used when it is
drawn, connected, shows the price of the question on it, and takes input. An answer is painted in the frame after it was
drawn; its time is compared with what the API takes for a question of the same kind, asked by the same browser.

The weight of a page is what a browser that was never here loads until then, packed as it is sent to other computers;
that of an answer is what its chart adds. The processor's time is that of the browser's main thread for one visit. All
pages of a steward are weighed at first load; the heaviest one counts.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.browser import DESKTOP, chromium, clinic, launched, seated, serving

from bench.harness import RESULT, options, report, result

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

PAGE_GOAL, PAINT_GOAL, WEIGHT_GOAL = 2.0, 0.3, 1.5
PRICED = """() => document.querySelector('.cm-content') && !document.querySelector('.dc-ask[inert]')
  && document.querySelector('[data-testid=ask-run]')?.textContent.includes('costs') && performance.now()"""
CLICKED = """async (name) => {
  const began = performance.now();
  document.querySelector('[data-testid=ask-run]').click();
  const frame = () => new Promise(requestAnimationFrame);
  while (!document.querySelector('[data-testid=answer-grid]')?.textContent.includes(name)) await frame();
  await frame();
  return performance.now() - began;
}"""
CALLED = """async ([question, csrf]) => {
  const began = performance.now();
  const headers = {'Content-Type': 'application/json', 'X-CSRF-Token': csrf};
  const body = JSON.stringify({questions: [question], epsilon: '0.001'});
  const reply = await fetch('/v1/ask', {method: 'POST', headers, body});
  if (!reply.ok) throw new Error(`the API answered ${reply.status}`);
  await reply.json();
  return performance.now() - began;
}"""


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if not chromium():
        print("Chromium is not installed.")
        print(RESULT + json.dumps({"ask_page_seconds": {"value": None, "goal": PAGE_GOAL, "met": None}}))
        return
    from playwright.sync_api import sync_playwright

    times = 5 if chosen.quick else 20
    with tempfile.TemporaryDirectory() as name:
        made = clinic(Path(name), 20_000, ["ann"])
        with (
            serving(made.folder, Path(name) / "log") as address,
            sync_playwright() as playwright,
            launched(playwright) as browser,
        ):
            first, later = opened(browser, address, made.sessions["ann"], times)
            painted, replied = asked(browser, address, made.sessions["ann"], times)
            page_weight, chart_weight, busy = weighed(browser, address, made.sessions["ann"])
            weights = all_weighed(browser, address, made.sessions["steward"])
    report(
        [
            ["a browser that was never here", f"{first:.2f}"],
            ["one that was", f"{later:.2f}"],
        ],
        ["until Ask can be used", "seconds"],
    )
    print()
    report(
        [[f"{painted * 1000:.0f}", f"{replied * 1000:.0f}", f"{(painted - replied) * 1000:.0f}"]],
        ["click to painted answer, ms", "the API's reply, ms", "between, ms"],
    )
    print()
    report(
        [[f"{page_weight:.2f}", f"{chart_weight:.2f}", f"{busy:.2f}"]],
        ["weight of Ask, packed, MB", "a chart adds, MB", "main thread, seconds"],
    )
    print()
    report(
        [[path, f"{packed:.2f}", f"{plain:.2f}"] for path, (packed, plain) in weights.items()],
        ["page of a steward", "packed, MB", "unpacked, MB"],
    )
    result(
        heaviest_page_megabytes=(max(packed for packed, _ in weights.values()), WEIGHT_GOAL, True),
        ask_page_seconds=(first, PAGE_GOAL, True),
        painted_after_reply=(painted - replied, PAINT_GOAL, True),
        ask_page_megabytes=(page_weight, WEIGHT_GOAL, True),
        ask_page_and_chart_megabytes=(page_weight + chart_weight, WEIGHT_GOAL, True),
    )


def opened(browser: Browser, address: str, token: str, times: int) -> tuple[float, float]:
    """Seconds from navigation until the page can be used: in the middle, of new browsers and of those that return."""
    first, later = [], []
    for _ in range(times):
        with browser.new_context(base_url=address, viewport=DESKTOP) as context:
            seated(context, address, token)
            page = context.new_page()
            for found in (first, later):
                page.goto("/ask", wait_until="commit")
                found.append(page.wait_for_function(PRICED).json_value() / 1000)
    return statistics.median(first), statistics.median(later)


def asked(browser: Browser, address: str, token: str, times: int) -> tuple[float, float]:
    """Seconds from a click until the answer is painted, and from a request until the API's reply; in the middle."""
    with browser.new_context(base_url=address, viewport=DESKTOP) as context:
        seated(context, address, token)
        page = context.new_page()
        page.goto("/ask")
        csrf = page.request.get("/v1/session").json()["csrf"]
        painted, replied = [], []
        for number in range(times):
            question = "SELECT ward, COUNT(*) AS {0} FROM visits WHERE '{0}' <> '' GROUP BY ward"
            painted.append(clicked(page, question.format(f"seen{number}"), f"seen{number}"))
            replied.append(page.evaluate(CALLED, [question.format(f"told{number}"), csrf]) / 1000)
    return statistics.median(painted), statistics.median(replied)


def weighed(browser: Browser, address: str, token: str) -> tuple[float, float, float]:
    """Megabytes that the page loads, packed, and those that a chart adds; seconds of the browser's main thread."""
    with browser.new_context(base_url=address, viewport=DESKTOP) as context:
        seated(context, address, token)
        page = context.new_page()
        loaded: dict[str, int] = {}
        page.on("requestfinished", lambda request: loaded.update({request.url: packed(request)}))
        metrics = context.new_cdp_session(page)
        metrics.send("Performance.enable")
        page.goto("/ask", wait_until="networkidle")
        page.wait_for_function(PRICED)
        found = {one["name"]: one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]}
        whole = sum(loaded.values())
        clicked(page, "SELECT ward, COUNT(*) AS weighed FROM visits GROUP BY ward", "weighed")
        page.get_by_test_id("answer-chart").locator("svg").wait_for()
        page.wait_for_load_state("networkidle")
    return whole / 1e6, (sum(loaded.values()) - whole) / 1e6, found["TaskDuration"]


def all_weighed(browser: Browser, address: str, token: str) -> dict[str, tuple[float, float]]:
    """Megabytes of each page of the menu in a browser that was never here, packed and unpacked."""
    with browser.new_context(base_url=address, viewport=DESKTOP) as context:
        seated(context, address, token)
        page = context.new_page()
        page.goto("/")
        paths = [str(link.get_attribute("href")) for link in page.locator("a.dc-nav").all()]
    weights = {}
    for path in paths:
        with browser.new_context(base_url=address, viewport=DESKTOP) as context:
            seated(context, address, token)
            page = context.new_page()
            loaded: dict[str, Request] = {}
            page.on("requestfinished", lambda request, to=loaded: to.update({request.url: request}))
            page.goto(path, wait_until="networkidle")
            page.locator("h1").wait_for()
            page.evaluate("() => document.fonts.ready.then(() => true)")
            weighed = [sizes(request) for request in list(loaded.values())]
            packed_, plain = (sum(one) / 1e6 for one in zip(*weighed, strict=True))
            weights[path] = packed_, plain
    return weights


def packed(request: Request) -> int:
    """Bytes of what came, as they are sent to other computers."""
    return sizes(request)[0]


def sizes(request: Request) -> tuple[int, int]:
    """Bytes of what came, packed and unpacked: texts are packed on their way, fonts and pictures are so already."""
    response = request.response()
    if response is None or response.status != 200:
        return 0, 0
    body, kind = response.body(), response.headers.get("content-type", "")
    is_text = re.search("text|javascript|json|svg", kind)
    return len(gzip.compress(body, 5)) if is_text else len(body), len(body)


def clicked(page: Page, question: str, name: str) -> float:
    """Write a question, wait for its price, and click."""
    page.get_by_test_id("ask-sql").locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(question)
    page.get_by_test_id("ask-epsilon").fill("0.001")
    page.get_by_test_id("ask-price").filter(has_text=name).wait_for()
    page.get_by_test_id("ask-run").filter(has_text="costs ε 0.001").wait_for()
    return float(page.evaluate(CLICKED, name)) / 1000


if __name__ == "__main__":
    main()
