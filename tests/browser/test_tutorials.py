"""The tutorials of steward, analyst, privacy engineer and survey, as far as the console can do them.

Those of statistician, lecturer and several hospitals are walked by ``test_roles``. Axe looks at the results, in the
light and in the dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browser.steps import (
    ILL,
    JOB,
    TUTORIALS,
    add_table,
    budget,
    choose,
    looked_in_both,
    shown_in,
    sign_in,
    tick,
    violations,
    write,
)
from tools.browser import PHONE

import discreet as dc
from discreet.samples import messy

if TYPE_CHECKING:
    from playwright.sync_api import Page


def published(page: Page, table: str) -> None:
    """Publish with what is chosen, and open the release."""
    page.get_by_test_id("publish-start").click()
    page.get_by_test_id("publish-open").click(timeout=JOB)
    expect(page.get_by_test_id("release-statement")).to_be_visible()


def attacked(page: Page) -> None:
    """Attack the release that is open by two attacks."""
    page.get_by_test_id("release-attack").click()
    page.get_by_test_id("attack-options").get_by_role("button").first.click()
    tick(page, "attack-only", "matching by quasi-identifiers", "uniqueness")
    page.get_by_test_id("attack-start").click()
    expect(page.get_by_test_id("attack-summary")).to_contain_text("2 attacks", timeout=JOB)


def test_a_steward_describes_a_file_publishes_attacks_and_opens_it_for_questions(browse, steward, tmp_path):
    steward.goto("/data")
    steward.locator("input[type=file]").set_input_files(messy(400, seed=6).write(tmp_path))
    steward.get_by_test_id("card-rows-per-unit").fill("12")
    choose(steward, "role-ward", "Other: neither identifies nor harms")
    for column in ("born", "cost"):
        steward.get_by_test_id(f"more-{column}").get_by_role("button").first.click()
        choose(steward, f"misfit-{column}", "Count as missing")
    steward.get_by_test_id("data-name").fill("tutorial")
    steward.get_by_test_id("data-add").click()
    expect(steward.get_by_test_id("data-done")).to_contain_text("tutorial is added")

    steward.goto("/publish?table=tutorial")
    expect(steward.get_by_test_id("people-text")).to_have_value("one-row")
    published(steward, "tutorial")
    expect(steward.get_by_test_id("release-statement")).to_contain_text("5-anonymous, checked")
    looked_in_both(steward)
    attacked(steward)
    steward.goto("/exposure")
    expect(steward.get_by_role("heading", name="Releases about tutorial")).to_be_visible()

    steward.goto("/people")
    steward.get_by_test_id("add-name").fill("eve")
    steward.get_by_test_id("add-tables").click()
    for table in steward.get_by_role("option").all_inner_texts():
        if table != "tutorial":
            steward.get_by_role("option", name=table, exact=True).click()
    steward.keyboard.press("Escape")
    steward.get_by_test_id("add-go").click()
    password = steward.get_by_test_id("once-text").inner_text()
    steward.get_by_test_id("once-close").click()

    eve = browse()
    sign_in(eve, "eve", password)
    eve.get_by_test_id("password-new").fill("a lighthouse in fog")
    eve.get_by_test_id("password-again").fill("a lighthouse in fog")
    eve.get_by_test_id("password-go").click()
    eve.get_by_test_id("nav-ask").click()
    write(eve, "SELECT COUNT(*) AS stays FROM tutorial WHERE smoker", "0.5")
    (error,) = re.findall(r"stays: ±(\d+)", (TUTORIALS / "steward.md").read_text(encoding="utf-8"))
    expect(eve.get_by_test_id("ask-price")).to_contain_text(f"± {error}")
    eve.get_by_test_id("ask-run").filter(has_text="costs ε 0.5").click()
    expect(eve.get_by_test_id("ask-result")).to_contain_text("±")
    assert budget(eve, "tutorial/eve") == {"spent": Fraction("0.5"), "left": Fraction("0.5")}
    write(eve, "SELECT AVG(cost) AS cost FROM tutorial", "0.2")
    expect(eve.get_by_test_id("ask-problem")).to_contain_text("bounds")

    steward.goto("/data?table=tutorial")
    steward.wait_for_function("() => window.did_handshake")  # what is typed before that does not reach the service
    steward.get_by_test_id("data-revise").click()
    expect(steward.get_by_test_id("data-changes")).to_contain_text("The card is unchanged")
    steward.get_by_test_id("more-cost").get_by_role("button").first.click()
    steward.get_by_test_id("low-cost").fill("0")
    steward.get_by_test_id("high-cost").fill("20000")
    steward.get_by_test_id("data-revise").click()
    expect(steward.get_by_role("dialog")).to_contain_text("cost")
    assert violations(steward) == []
    steward.get_by_test_id("sure-go").click()
    expect(steward.get_by_test_id("data-tables")).to_contain_text("version 2")
    eve.reload()
    write(eve, "SELECT AVG(cost) AS cost FROM tutorial", "0.2")
    expect(eve.get_by_test_id("ask-run")).to_have_text("Ask (costs ε 0.2)")

    steward.goto("/people")
    steward.get_by_test_id("disable-eve").click()
    steward.get_by_test_id("sure-go").click()
    expect(steward.get_by_test_id("enable-eve")).to_be_visible()
    eve.reload()
    expect(eve.get_by_test_id("signin-name")).to_be_visible()


def test_an_analyst_asks_by_price_and_by_error_and_sees_what_is_refused(browse):
    page = browse("cara", reduced_motion="reduce")
    page.goto("/ask?table=patients")
    run, price = page.get_by_test_id("ask-run"), page.get_by_test_id("ask-price")
    write(page, "SELECT COUNT(*) AS women FROM patients WHERE sex = 'F'", "0.1")
    page.get_by_test_id("ask-mode").get_by_role("button", name="By error").click()
    page.get_by_test_id("ask-error").fill("400")
    expect(price).to_contain_text("± 400")
    expect(run).to_contain_text("costs ε 0.00")
    page.get_by_test_id("ask-mode").get_by_role("button", name="By price").click()

    write(page, "SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip ORDER BY n DESC LIMIT 3", "0.02")
    expect(page.get_by_test_id("ask-delta")).to_be_visible()
    run.filter(has_text="costs ε 0.02").click()
    expect(page.get_by_test_id("ask-cost")).to_contain_text("δ")
    looked_in_both(page)

    write(page, "SELECT name FROM patients", "0.02")
    expect(page.get_by_test_id("ask-problem")).to_contain_text("A question must ask for aggregates, not rows")
    expect(run).to_be_disabled()
    looked_in_both(page)
    page.get_by_test_id("nav-budget").click()
    expect(page.get_by_test_id("budget-patients/cara")).to_contain_text("left")


def test_an_engineer_publishes_attacks_asks_from_a_program_and_proves_a_mechanism(browse, console, steward, patients):
    add_table(steward, patients, "engine", ill=ILL)
    steward.goto("/publish?table=engine")
    steward.get_by_test_id("model-add").click()
    steward.get_by_test_id("model-l-1").fill("2")
    published(steward, "engine")
    expect(steward.get_by_test_id("release-statement")).to_contain_text("5-anonymous")
    expect(steward.get_by_test_id("release-statement")).to_contain_text("2-diverse on ill")
    attacked(steward)
    expect(steward.locator("[data-testid^=finding-]", has_text="uniqueness")).to_contain_text("found nothing")

    ben = browse("ben", reduced_motion="reduce")
    ben.goto("/tokens")
    ben.wait_for_function("() => window.did_handshake")  # what is typed before that does not reach the service
    ben.get_by_test_id("token-label").fill("a pipeline")
    ben.get_by_test_id("token-make").click()
    token = ben.get_by_test_id("once-text").inner_text()
    with dc.connect(console.address, token=token) as curator:
        answer = curator.ask("SELECT sex, COUNT(*) AS engine FROM patients GROUP BY sex", epsilon="0.01")
    assert set(answer.table.column_names) >= {"sex", "engine", "engine_error"}

    steward.goto("/prove")
    choose(steward, "prove-language", "Python")
    steward.get_by_label("Program", exact=True).click()
    steward.keyboard.press("Control+A")
    steward.keyboard.insert_text(shown_in("engineer.md", "mechanisms.py"))
    steward.keyboard.press("Control+Enter")
    proved = "noisy_max is (eps)-differentially private"
    expect(steward.get_by_test_id("prove-verdict")).to_contain_text(proved, timeout=JOB)
    looked_in_both(steward)
    with steward.expect_download() as download:
        steward.get_by_test_id("prove-proof").click()
    assert "noisy_max" in download.value.path().read_text()


def test_a_survey_about_drugs_and_days_is_planned_answered_and_estimated(browse, steward):
    steward.goto("/collect")
    steward.get_by_test_id("collect-title").fill("Health at work")
    steward.get_by_test_id("collect-people").fill("5000")
    steward.get_by_test_id("question-text-0").fill("Have you used a drug without a prescription this year?")
    steward.get_by_test_id("question-add").click()
    steward.get_by_test_id("question-text-1").fill("On how many days were you ill this year?")
    choose(steward, "question-kind-1", "Number")
    steward.get_by_test_id("question-high-1").fill("30")
    steward.get_by_test_id("question-steps-1").fill("30")
    choose(steward, "question-wants-1", "Mean alone")
    steward.get_by_test_id("collect-preview").click()
    expect(steward.get_by_test_id("collect-protocols")).to_contain_text("5,000 people")
    looked_in_both(steward)
    steward.get_by_test_id("collect-make").click()
    steward.get_by_test_id("collect-toggle").click()
    expect(steward.get_by_test_id("collect-state")).to_have_text("open")
    link = str(steward.get_by_test_id("collect-link").get_attribute("href"))
    for asked in ("drug", "drug", "days", "days"):
        answered(browse, link, asked)
    expect(steward.get_by_test_id("collect-reports")).to_have_text("4 reports")
    steward.get_by_test_id("collect-estimate").click()
    expect(steward.get_by_test_id("collect-figures").first).to_contain_text("yes")
    looked_in_both(steward)


def answered(browse: Callable[..., Page], link: str, asked: str) -> None:
    """Answer the question with a word in it on a phone, which draws one of the questions; the report is shown first."""
    page = browse(viewport=PHONE, has_touch=True)
    page.goto(link)
    question = page.locator("fieldset")
    expect(question).to_have_count(1)
    while asked not in question.inner_text():
        page.reload()
        expect(question).to_have_count(1)
    if asked == "drug":
        page.get_by_label("yes").check()
    else:
        page.get_by_role("textbox").fill("6")
    page.get_by_role("button", name="Flip the coins").click()
    page.get_by_role("button", name="Send it").click()
    expect(page.locator("#said")).to_contain_text("Thank you")
    assert Axe().run(page).response["violations"] == []
