"""One day at the clinic, from the first sign-in to a file in somebody's hands."""

import zipfile
from fractions import Fraction

from playwright.sync_api import expect
from tests.browser.steps import budget, choose, sign_in, sign_out, write
from tools.browser import PASSWORD

from discreet.core.release import Release

WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
MINE = "a horse by the staple"


def test_an_analyst_asks_until_nothing_is_left_and_a_steward_helps_and_publishes(browse, console, tmp_path):
    ann, steward = browse(), browse()

    sign_in(ann, "ann", console.clinic.passwords["ann"])
    choose_password(ann)
    ann.get_by_test_id("nav-ask").click()
    see_price(ann)
    ask(ann)
    ask_again(ann)
    exhaust(ann)

    sign_in(steward, "steward", PASSWORD)
    raise_budget(steward)
    ann.reload()
    write(ann, "SELECT COUNT(*) AS n FROM visits", "0.5")
    ann.get_by_test_id("ask-run").filter(has_text="costs ε 0.5").click()
    expect(ann.get_by_test_id("answer-grid")).to_contain_text("±")

    release = publish(steward, tmp_path)
    assert "name" not in release.payload.column_names
    assert release.statement.models
    for page in (ann, steward):
        leave(page)


def choose_password(page):
    """One that is too short is not sent, and stays in the form; the one-time password is not asked for again."""
    expect(page).to_have_title("Choose a password · discreet")
    expect(page.get_by_test_id("password-old")).to_have_count(0)
    page.get_by_test_id("password-new").fill(MINE[:5])
    page.get_by_test_id("password-again").fill(MINE[:5])
    page.get_by_test_id("password-go").click()
    expect(page.get_by_test_id("password-new")).to_have_value(MINE[:5])
    page.get_by_test_id("password-new").fill(MINE)
    page.get_by_test_id("password-again").fill(MINE)
    page.get_by_test_id("password-go").click()
    expect(page.get_by_test_id("whoami")).to_contain_text("ann")


def see_price(page):
    """A dry run: the price and the error are there before anything is spent."""
    write(page, WARDS, "0.4")
    expect(page.get_by_test_id("ask-run")).to_have_text("Ask (costs ε 0.4)")
    expect(page.get_by_test_id("ask-price")).to_contain_text("± ")
    assert budget(page, "visits/ann") == {"spent": 0, "left": 1}


def ask(page):
    """The answer has error bars, and exactly its price is gone."""
    page.get_by_test_id("ask-run").click()
    expect(page.get_by_test_id("answer-grid").locator("tbody tr")).to_have_count(13)
    expect(page.get_by_test_id("answer-grid").locator(".dc-whisker")).to_have_count(13)
    expect(page.get_by_test_id("answer-chart").locator("svg")).to_be_visible()
    expect(page.get_by_test_id("ask-price")).to_contain_text("ε 0.6 of 1 left")
    assert budget(page, "visits/ann") == {"spent": Fraction("0.4"), "left": Fraction("0.6")}


def ask_again(page):
    """The same again is free."""
    shown = page.get_by_test_id("answer-grid").inner_text()
    page.get_by_test_id("ask-run").filter(has_text="free").click()
    expect(page.get_by_test_id("ask-cost")).to_contain_text("free")
    assert page.get_by_test_id("answer-grid").inner_text() == shown
    assert budget(page, "visits/ann")["left"] == Fraction("0.6")


def exhaust(page):
    """What is left does not cover the next question: the button is off, and a sentence says what can be done."""
    write(page, "SELECT AVG(length_of_stay) AS nights FROM visits", "0.7")
    run, beyond = page.get_by_test_id("ask-run"), page.get_by_test_id("price-beyond").first
    expect(run).to_have_text("Ask (costs ε 0.7)")
    expect(run).to_be_disabled()
    expect(beyond).to_contain_text("It takes ε 0.7, and ε 0.6 is left")
    expect(beyond).to_contain_text("steward")
    write(page, "SELECT AVG(length_of_stay) AS nights FROM visits", "0.6")
    run.filter(has_text="costs ε 0.6").click()
    expect(page.get_by_test_id("ask-result")).to_contain_text("nights")
    assert budget(page, "visits/ann") == {"spent": 1, "left": 0}
    write(page, "SELECT COUNT(*) AS n FROM visits", "0.1")
    expect(run).to_have_text("Ask (costs ε 0.1)")
    expect(run).to_be_disabled()
    expect(beyond).to_contain_text("Nothing is left to spend")
    assert budget(page, "visits/ann")["spent"] == 1


def raise_budget(page):
    """With a reason, which is in the ledger from then on."""
    page.get_by_test_id("nav-budget").click()
    choose(page, "limit-account", "ann on visits")
    expect(page.get_by_test_id("limit-epsilon")).to_have_value("1")  # what the account has, before it is changed
    page.get_by_test_id("limit-epsilon").fill("2")
    page.get_by_test_id("limit-why").fill("the yearly report")
    page.get_by_test_id("limit-set").click()
    newest = page.get_by_test_id("ledger").locator("tbody tr").first
    expect(newest).to_contain_text("visits/ann")
    expect(newest).to_contain_text("the yearly report")
    expect(page.get_by_test_id("budget-visits/ann")).to_contain_text("ε 1 of 2 left")


def publish(page, folder):
    """Down to the file that somebody else will hold, which loads, and so is whole. Clicking twice makes one release."""
    page.get_by_test_id("nav-publish").click()
    releases, known = listed(page, "releases?kind=published"), {job["id"] for job in listed(page, "jobs")}
    page.get_by_test_id("publish-start").dblclick()
    expect(page.get_by_test_id("publish-download")).to_be_visible(timeout=120_000)
    page.get_by_test_id("publish-start").click()  # as the second click of a double click does on a very slow machine
    expect(page.get_by_text("This job is done already")).to_be_visible()
    expect(page.get_by_test_id("job-publish")).to_have_attribute("data-state", "done")
    assert len(listed(page, "releases?kind=published")) == len(releases) + 1
    assert [job["state"] for job in listed(page, "jobs") if job["id"] not in known] == ["done"]
    with page.expect_download() as download:
        page.get_by_test_id("publish-download").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(folder)
    (found,) = folder.glob("**/manifest.json")
    return Release.load(found.parent)


def listed(page, what):
    """What the API lists, to whoever looks at the page."""
    return page.request.get(f"/v1/{what}").json()


def leave(page):
    """Whoever comes after them sees nothing by going back."""
    sign_out(page)
    page.go_back()
    expect(page.get_by_test_id("signin-name")).to_be_visible()
    expect(page.get_by_test_id("whoami")).to_have_count(0)
