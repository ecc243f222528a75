"""What somebody does before the console, step by step."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


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
    page.get_by_role("option", name=option, exact=True).click()


def reach(page: Page, selector: str, most: int = 30) -> None:
    """Press Tab until there."""
    for _ in range(most):
        if page.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def budget(page: Page, account: str) -> dict[str, Fraction]:
    """What the API says of an account, to whoever looks at the page: what was spent, and what is left."""
    found: list[dict[str, Any]] = page.request.get("/v1/budgets").json()
    (one,) = [view for view in found if view["account"] == account]
    return {name: Fraction(one[name]["epsilon"]) for name in ("spent", "left")}
