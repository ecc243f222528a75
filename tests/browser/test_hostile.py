"""Texts that would be programs if a page took them for HTML, a template or SQL; and what a browser keeps of someone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.steps import sign_in, write
from tools.browser import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Page

HTML = """"><img src=x onerror="window.struck=1"><b>"""
CLOSED = "</textarea></script><script>window.struck=1</script>"
TEMPLATE = "{{constructor.constructor('window.struck=1')()}} ${window.struck=1} `"
PROPS = """" :onmouseover="window.struck=1" onfocus='window.struck=1' """


def unharmed(page: Page, *texts: str) -> None:
    """Texts are on the page as they were written, and none of them was run."""
    for text in texts:
        expect(page.get_by_text(text.strip()).first).to_be_visible()
    assert page.evaluate("window.struck") is None
    assert page.locator("img[src=x]").count() == 0


def test_a_survey_shows_its_texts_and_runs_none(browse):
    page = browse("steward")
    page.goto("/collect")
    page.get_by_test_id("collect-title").fill(HTML)
    page.get_by_test_id("collect-about").fill(TEMPLATE)
    page.get_by_test_id("question-text-0").fill(CLOSED)
    page.get_by_test_id("question-kind-0").click()
    page.get_by_role("option", name="Choice").click()
    page.get_by_test_id("question-values-0").fill(f"{HTML} | {TEMPLATE} | {PROPS}")
    page.get_by_test_id("collect-preview").click()
    expect(page.get_by_test_id("collect-protocols")).to_be_visible()
    unharmed(page, CLOSED)
    page.get_by_test_id("collect-make").click()
    expect(page.get_by_test_id("collect-state")).to_have_text("closed")
    unharmed(page, HTML, CLOSED)
    page.get_by_test_id("collect-toggle").click()
    expect(page.get_by_test_id("collect-state")).to_have_text("open")
    for _ in range(2):
        respondent = browse()
        respondent.goto(page.get_by_test_id("collect-link").get_attribute("href"))
        expect(respondent.get_by_role("heading", level=1)).to_have_text(HTML)
        respondent.get_by_label(PROPS.strip()).check()
        respondent.get_by_role("button", name="Flip the coins").click()
        respondent.get_by_role("button", name="Send it").click()
        expect(respondent.locator("#said")).to_contain_text("Thank you")
        unharmed(respondent, CLOSED, TEMPLATE)
    expect(page.get_by_test_id("collect-reports")).to_have_text("2 reports")
    page.get_by_test_id("collect-estimate").click()
    expect(page.get_by_test_id("collect-figures")).to_be_visible()
    unharmed(page, HTML, TEMPLATE, PROPS)
    page.get_by_test_id("collect-release").click()
    page.get_by_test_id("collect-open").click()
    expect(page.get_by_test_id("release-statement")).to_be_visible()
    unharmed(page)
    for place in ("/releases", "/", "/collect", "/audit"):
        page.goto(place)
        expect(page.get_by_test_id("whoami")).to_be_visible()
        expect(page.locator("h1")).to_be_visible()
        unharmed(page)


def test_saved_questions_and_answers_show_their_texts_and_run_none(browse):
    page = browse("cara")
    page.goto("/ask?table=visits")
    question = f"""SELECT ward, COUNT(*) AS "{HTML.replace('"', '""')}" FROM visits GROUP BY ward"""
    write(page, question, "0.01")
    page.get_by_test_id("ask-save").click()
    page.get_by_test_id("save-name").fill(TEMPLATE + HTML)
    page.get_by_test_id("save-go").click()
    unharmed(page.get_by_test_id("saved").page, TEMPLATE + HTML)
    page.get_by_test_id("ask-run").filter(has_text="costs ε 0.01").click()
    expect(page.get_by_test_id("answer-grid")).to_contain_text(HTML)
    chart = page.get_by_test_id("answer-chart")
    expect(chart.locator("svg")).to_be_visible()
    chart.hover()
    unharmed(page, HTML)
    page.get_by_test_id("ask-pin").click()
    expect(page.get_by_test_id("pin-0")).to_contain_text(HTML)
    unharmed(page)
    page.get_by_test_id("saved-delete-0").click()
    unharmed(page, f"Delete “{(TEMPLATE + HTML).strip()}”?")
    page.get_by_test_id("sure-go").click()
    expect(page.get_by_test_id("saved").get_by_text(HTML)).to_have_count(0)  # others may have saved some


def test_signing_out_leaves_no_draft_to_whoever_comes_next(browse):
    page = browse()
    sign_in(page, "cara", PASSWORD)
    page.get_by_test_id("nav-ask").click()
    write(page, "SELECT COUNT(*) AS mine FROM visits", "0.01")
    expect(page.get_by_test_id("ask-run")).to_contain_text("costs ε 0.01")
    kept = "JSON.stringify(sessionStorage)"
    page.wait_for_function(f"{kept}.includes('AS mine')")
    page.get_by_test_id("sign-out").click()
    expect(page.get_by_test_id("signin-name")).to_be_visible()
    assert "AS mine" not in page.evaluate(kept)


def test_a_draft_that_names_the_answer_of_another_pins_nothing(browse):
    ben = browse("ben")
    ben.goto("/ask?table=visits")
    write(ben, "SELECT COUNT(*) AS of_ben FROM visits", "0.01")
    ben.get_by_test_id("ask-run").filter(has_text="costs ε 0.01").click()
    link = ben.get_by_test_id("ask-result").get_by_role("link", name="Open its page").get_attribute("href")
    page = browse("cara")
    page.goto("/ask?table=visits")
    write(page, "SELECT COUNT(*) AS of_cara FROM visits", "0.02")
    expect(page.get_by_test_id("ask-run")).to_contain_text("costs ε 0.02")
    page.wait_for_function("(sessionStorage.getItem('discreet-ask cara') || '').includes('of_cara')")
    page.goto("/glossary")  # the Ask page would write its own draft over a changed one
    page.evaluate(
        """(release) => {
          const key = 'discreet-ask cara', kept = JSON.parse(sessionStorage.getItem(key));
          sessionStorage.setItem(key, JSON.stringify({...kept, pinned: [release]}));
        }""",
        link.removeprefix("/release/"),
    )
    page.goto("/ask")
    expect(page.get_by_test_id("told")).to_contain_text("There is no such release, or it is not visible to you.")
    expect(page.get_by_test_id("pin-0")).to_have_count(0)
    expect(page.get_by_text("of_ben")).to_have_count(0)
