"""axe on every page of every role, light and dark, and in the states that people meet: dialogs, errors, results.

Rules are those of axe's default set, but for those in ``LEFT_OUT`` of the steps.
"""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.steps import JOB, looked_in_both, reach, violations


def settled(page):
    """Wait until a page is drawn and nothing moves any more."""
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => document.getAnimations().every(one => one.playState !== 'running')")


@pytest.mark.parametrize("who", ["ben", "steward", "auditor"])
def test_every_page_passes_axe(browse, who):
    page = browse(who, color_scheme="light", reduced_motion="reduce")
    page.goto("/")
    expect(page.get_by_test_id("whoami")).to_be_visible()
    wrong = []
    for place in [link.get_attribute("href") for link in page.locator("a.dc-nav").all()]:
        page.emulate_media(color_scheme="light")
        page.goto(place)
        settled(page)
        wrong += [f"{place}, light: {one}" for one in violations(page)]
        page.emulate_media(color_scheme="dark")
        expect(page.locator("body")).to_have_class(re.compile("body--dark"))
        wrong += [f"{place}, dark: {one}" for one in violations(page)]
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_way_in_passes_axe(chrome, console, scheme):
    with chrome.new_context(base_url=console.address, color_scheme=scheme) as context:
        page = context.new_page()
        page.goto("/signin")
        page.get_by_test_id("signin-name").fill("nobody")
        page.get_by_test_id("signin-password").fill("wrong")
        page.get_by_test_id("signin-go").click()
        expect(page.get_by_test_id("told")).to_be_visible()
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dialogs_and_errors_pass_axe(browse, scheme):
    """The tour, an error in a form and in a dialog, a question before something is done, and a secret."""
    page = browse("steward", color_scheme=scheme, reduced_motion="reduce")
    wrong = []

    def look(state):
        settled(page)
        wrong.extend(f"{state}: {one}" for one in violations(page))

    page.goto("/")
    page.get_by_test_id("tour-start").click()
    expect(page.get_by_test_id("tour")).to_be_visible()
    look("tour")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("tour-back")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("tour")).to_have_count(0)
    page.reload()
    expect(page.get_by_test_id("tour-again")).to_be_visible()  # it is remembered

    page.goto("/people")
    page.get_by_test_id("add-name").fill("Not A Name")
    page.get_by_test_id("add-go").click()
    expect(page.get_by_test_id("told")).to_be_visible()
    look("an error on the page")
    page.get_by_test_id("budget-ben").click()
    page.get_by_test_id("budget-epsilon").fill("")
    page.get_by_test_id("budget-go").click()
    expect(page.get_by_role("dialog").get_by_test_id("told")).to_be_visible()
    look("an error in a dialog")
    page.keyboard.press("Escape")
    page.get_by_test_id("disable-ben").click()
    expect(page.get_by_test_id("sure-no")).to_be_focused()
    look("a question")
    page.get_by_test_id("sure-no").click()

    page.goto("/tokens")
    page.wait_for_function("() => window.did_handshake")  # what is typed before that does not reach the service
    page.get_by_test_id("token-label").fill(f"a notebook, {scheme}")
    page.get_by_test_id("token-make").click()
    expect(page.get_by_test_id("once-text")).to_be_visible()
    look("a secret")
    page.get_by_test_id("once-close").click()
    assert wrong == []


def test_the_keyboard_is_enough_to_publish_and_what_comes_passes_axe(browse):
    page = browse("steward", reduced_motion="reduce")
    page.goto("/publish?table=patients")
    settled(page)
    reach(page, "[data-testid=publish-start]", most=60)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("publish-open")).to_be_visible(timeout=120_000)
    assert violations(page) == []
    reach(page, "[data-testid=publish-open]", most=60)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("release-statement")).to_contain_text("5-anonymous, checked")
    settled(page)
    assert violations(page) == []


def test_a_job_that_fails_and_the_verdict_on_the_ledger_pass_axe(browse):
    page = browse("steward", reduced_motion="reduce")
    page.goto("/publish?table=patients")
    page.wait_for_function("() => window.did_handshake")  # what is typed before that does not reach the service
    page.get_by_test_id("model-k-0").fill("1001")
    page.get_by_test_id("publish-start").click()
    expect(page.get_by_test_id("job-error")).to_be_visible(timeout=JOB)
    looked_in_both(page)
    for place, prefix in (("/budget", ""), ("/audit", "audit-")):
        page.goto(place)
        page.get_by_test_id(f"{prefix}verify").click()
        expect(page.get_by_test_id(f"{prefix}verdict")).to_contain_text("valid")
        looked_in_both(page)
