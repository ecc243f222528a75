"""What somebody does before the console, step by step."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page
JOB = 300_000
"""Milliseconds: how long a busy machine may take for a job, which runs in a process of its own."""
TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
LEFT_OUT = {
    "region": "the skip link stands before all landmarks, where keyboards look for it first",
}
"""Rules of axe that are left out, with their reasons."""


ROWS = [
    {
        "id": f"p{n}",
        "town": ["Ayr", "Bath", "Cork", "Dover"][n % 4],
        "age": 79 if n == 17 else 18 + n % 60,
        "ill": ["flu", "cancer", "none"][n % 3],
    }
    for n in range(400)
]
"""The lecturer's four hundred patients, of whom one is older than all others."""
ILL = ("Sensitive: what no one should learn", "flu; cancer; none")
"""The role of their illnesses, and all that there are."""


def shown_in(page: str, title: str) -> str:
    """A file that a tutorial shows."""
    text = (TUTORIALS / page).read_text(encoding="utf-8")
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def sign_in(page: Page, name: str, password: str) -> None:
    """From any page to the sign-in form, and through it."""
    page.goto("/")
    page.get_by_test_id("signin-name").fill(name)
    page.get_by_test_id("signin-password").fill(password)
    page.get_by_test_id("signin-go").click()


def sign_out(page: Page) -> None:
    """By the button."""
    page.get_by_test_id("sign-out").click()
    expect(page.get_by_test_id("signin-name")).to_be_visible()


def write(page: Page, sql: str, epsilon: str) -> None:
    """Put a question into the editor, and say what to spend on it."""
    page.get_by_test_id("ask-sql").locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(sql)
    page.get_by_test_id("ask-epsilon").fill(epsilon)


def choose(page: Page, testid: str, option: str) -> None:
    """Pick one from a list that drops down."""
    page.get_by_test_id(testid).click()
    offered = page.get_by_role("option", name=option, exact=True)
    offered.click()
    expect(offered).to_have_count(0)  # a list that is closing has options, too


def tick(page: Page, testid: str, *options: str) -> None:
    """Pick some from a list that drops down and takes several."""
    page.get_by_test_id(testid).click()
    for option in options:
        page.get_by_role("option", name=option, exact=True).click()
    page.keyboard.press("Escape")


def reach(page: Page, selector: str, most: int = 30) -> None:
    """Press Tab until there."""
    for _ in range(most):
        if page.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def press_until(page: Page, testid: str) -> None:
    """Press Tab until the control has the focus; after the last one it goes on from the first."""
    inside = (
        f'() => !!document.activeElement.closest(\'[data-testid="{testid}"], label:has([data-testid="{testid}"])\')'
    )
    for _ in range(120):
        if page.evaluate(inside):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {testid}")


def press(page: Page, testid: str) -> None:
    """Press a button, by keyboard alone."""
    press_until(page, testid)
    page.keyboard.press("Enter")


def pick(page: Page, option: str, *others: str, several: bool = False) -> None:
    """Open the list that has the focus, and go down to an option; a list of ``several`` stays open, and has chips."""
    page.keyboard.press("Enter")
    for one in (option, *others):
        expect(page.get_by_role("option", name=one, exact=True)).to_be_visible()
        for _ in range(60):
            if page.locator(".q-item.q-manual-focusable--focused").all_inner_texts() == [one]:
                break
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        if several:
            expect(page.locator(".q-chip").get_by_text(one, exact=True)).to_be_visible()
    if several:
        page.keyboard.press("Escape")
    expect(page.get_by_role("option", name=option, exact=True)).to_have_count(0)


def budget(page: Page, account: str) -> dict[str, Fraction]:
    """What the API says of an account, to whoever looks at the page: what was spent, and what is left."""
    found: list[dict[str, Any]] = page.request.get("/v1/budgets").json()
    (one,) = [view for view in found if view["account"] == account]
    return {name: Fraction(one[name]["epsilon"]) for name in ("spent", "left")}


def add_table(page: Page, file: Path, name: str, **decided: tuple[str, str]) -> None:
    """Upload a file on the page Data, and make a table of it, with the role and values of columns that are decided."""
    page.goto("/data")
    page.locator("input[type=file]").set_input_files(file)
    for column, (role, values) in decided.items():
        choose(page, f"role-{column}", role)
        page.get_by_test_id(f"more-{column}").get_by_role("button").first.click()
        page.get_by_test_id(f"categories-{column}").fill(values)
    page.get_by_test_id("data-name").fill(name)
    page.get_by_test_id("data-add").click()
    expect(page.get_by_test_id("data-done")).to_contain_text(f"{name} is added")


def violations(page: Page) -> list[str]:
    """What axe finds on a page as it is now: the rule, and the first element that breaks it.

    Of a page behind a dialog nothing can be reached, so that only the dialog is looked at.
    """
    rules = {rule: {"enabled": False} for rule in LEFT_OUT}
    context = ".q-dialog" if page.get_by_role("dialog").count() else None
    found = Axe().run(page, context=context, options={"rules": rules}).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0].get('failureSummary', '')}" for one in found
    ]


def looked(page: Page) -> None:
    """What axe finds on a page as it is now: nothing, once the bar on top that tells of loading is gone."""
    expect(page.locator("#q-loading-bar > div")).to_have_css("opacity", "0")
    found = Axe().run(page).response["violations"]
    wrong = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]
    assert wrong == [], wrong


def looked_in_both(page: Page) -> None:
    """The same in the light and in the dark."""
    looked(page)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    looked(page)
    page.emulate_media(color_scheme="light")
    expect(page.locator("body")).not_to_have_class(re.compile("body--dark"))
