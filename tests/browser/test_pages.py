"""Every page on a phone, in the dark, and by keyboard alone."""

import pytest
from playwright.sync_api import expect
from tests.browser.steps import reach, sign_in, write
from tools.browser import PASSWORD, PHONE

FITS = "() => document.documentElement.scrollWidth === document.documentElement.clientWidth"
GROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
DARK = f"() => Math.max(...{GROUND}) < 60"
LIGHT = f"() => Math.min(...{GROUND}) > 200"


def menu(page):
    """The pages that somebody is offered."""
    page.goto("/")
    expect(page.get_by_test_id("whoami")).to_be_visible()
    return [link.get_attribute("href") for link in page.locator("a.dc-nav").all()]


@pytest.mark.parametrize("who", ["ben", "steward", "auditor"])
def test_no_page_is_wider_than_a_phone(browse, who):
    page = browse(who, viewport=PHONE, has_touch=True)
    places = menu(page)
    assert {"/", "/releases", "/budget"} <= set(places)
    for place in places:
        page.goto(place)
        expect(page.locator("h1")).to_be_visible()
        page.wait_for_load_state("networkidle")
        page.wait_for_function(FITS)


def test_an_answer_and_its_release_fit_on_a_phone(browse):
    page = browse("ben", viewport=PHONE, has_touch=True)
    page.goto("/ask")
    write(page, "SELECT sex, COUNT(*) AS people_who_were_here FROM patients GROUP BY sex", "0.011")
    page.get_by_test_id("ask-run").filter(has_text="0.011").click()
    expect(page.get_by_test_id("answer-grid")).to_contain_text("±")
    page.wait_for_function(FITS)
    page.get_by_role("link", name="Open its page").click()
    expect(page.get_by_test_id("release-statement")).to_be_visible()
    expect(page.frame_locator("iframe").locator("body")).to_contain_text("people_who_were_here")
    page.wait_for_function(FITS)


def test_it_is_dark_where_the_system_is_and_the_switch_is_remembered(browse):
    page = browse("ben", color_scheme="dark")
    for place in ("/signin", "/", "/ask"):
        page.goto(place)
        page.wait_for_function(DARK)
    page.get_by_test_id("look").click()
    page.wait_for_function(LIGHT)
    page.reload()
    expect(page.get_by_test_id("whoami")).to_be_visible()
    page.wait_for_function(LIGHT)


def test_the_keyboard_is_enough_to_sign_in_and_ask(browse):
    page = browse()
    page.goto("/ask")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("ben")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("ask-run")).to_contain_text("costs")
    expect(page.get_by_label("Your question, in SQL")).to_be_visible()  # then the editor knows its keys
    reach(page, ".cm-content")
    page.keyboard.press("Control+A")
    page.keyboard.type("SELECT COUNT(*) AS keys FROM patients")
    expect(page.get_by_test_id("ask-price")).to_contain_text("keys")
    expect(page.get_by_test_id("ask-run")).to_contain_text("costs")
    expect(page.get_by_test_id("ask-run")).to_be_enabled()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("answer-grid")).to_contain_text("keys")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content:focus")).to_have_count(0)


def test_a_page_left_open_does_nothing_after_signing_out_elsewhere(browse):
    page = browse()
    sign_in(page, "ben", PASSWORD)
    page.goto("/ask")
    expect(page.get_by_test_id("ask-run")).to_contain_text("costs")
    other = page.context.new_page()
    other.goto("/")
    other.get_by_test_id("sign-out").click()
    expect(other.get_by_test_id("signin-name")).to_be_visible()
    page.get_by_test_id("ask-run").click()
    expect(page.get_by_test_id("signin-name")).to_be_visible()
