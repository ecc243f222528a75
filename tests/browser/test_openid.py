"""Sign-in by a provider in a real browser: it is another site, whose way back carries no strict cookie."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import expect
from tests.browser.conftest import PATIENCE
from tests.browser.steps import violations
from tests.service.provider import CLIENT, SECRET, providing
from tools.browser import serving


def test_somebody_signs_in_by_the_provider_and_out_again(chrome, console, tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    with providing() as provider:
        provider.person = {"sub": "7", "preferred_username": "petra", "groups": ["audit"]}
        for name, value in (
            ("ISSUER", provider.issuer),
            ("CLIENT", CLIENT),
            ("SECRET", str(secret)),
            ("AUDITORS", "audit"),
        ):
            monkeypatch.setenv(f"DISCREET_SERVE_OIDC_{name}", value)
        with serving(console.clinic.folder, tmp_path / "log") as address:
            here = f"http://localhost:{urlsplit(address).port}"
            with chrome.new_context(base_url=here) as context:
                context.set_default_timeout(PATIENCE)
                page = context.new_page()
                page.goto("/budget")
                expect(page.get_by_test_id("signin-provider")).to_be_visible()
                assert violations_in_both(page) == []
                page.get_by_test_id("signin-provider").click()
                page.wait_for_url(f"{here}/budget")
                expect(page.get_by_role("heading", level=1)).to_contain_text("udget")
                assert [one["sameSite"] for one in context.cookies(here) if "session" in one["name"]] == ["Strict"]
                page.get_by_role("button", name="Sign out").click()
                expect(page.get_by_test_id("signout-provider")).to_have_attribute(
                    "href",
                    f"{provider.issuer}/end?client_id={CLIENT}&post_logout_redirect_uri="
                    + f"{here}/signin".replace(":", "%3A").replace("/", "%2F"),
                )
                assert violations_in_both(page) == []
                page.goto("/budget")
                expect(page.get_by_test_id("signin-provider")).to_be_visible()


def violations_in_both(page):
    """What axe finds on a page without scripts, which is drawn at once, in the light and in the dark."""
    found = []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        found += [f"{scheme}: {one}" for one in violations(page)]
    return found
