"""Each page of a verb, walked once in a real browser; axe looks at every state of it."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browser.steps import choose, looked
from tools.browser import PHONE


def test_a_program_is_refuted_and_another_proved(browse):
    page = browse("steward")
    page.goto("/prove")
    expect(page.get_by_label("Program", exact=True)).to_be_visible()
    looked(page)
    page.get_by_label("Program", exact=True).click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("adjacent one\nprivate")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("prove-problem")).to_contain_text("Line 2, column 1")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content:focus")).to_have_count(0)
    looked(page)
    choose(page, "prove-example", "Sparse vector without query noise (not private)")
    expect(page.locator(".cm-content")).to_contain_text("sparse_vector")
    page.get_by_label("Program", exact=True).press("Control+Enter")
    expect(page.get_by_test_id("prove-verdict")).to_contain_text("not private for any eps")
    expect(page.frame_locator("iframe").locator("body")).to_contain_text("given the first input")
    looked(page)
    choose(page, "prove-example", "Python: sum with Laplace noise")
    page.get_by_test_id("prove-start").click()
    expect(page.get_by_test_id("prove-verdict")).to_contain_text("noisy_sum is (eps)-differentially private")
    expect(page.frame_locator("iframe").locator("body")).to_contain_text("second run")
    with page.expect_download() as download:
        page.get_by_test_id("prove-proof").click()
    assert "noisy_sum" in download.value.path().read_text()


def test_rows_are_synthesized_within_the_budget_and_without_a_guarantee(browse):
    page = browse("steward")
    page.goto("/synthesize?table=visits")
    page.get_by_test_id("synthesis-epsilon").fill("90")
    expect(page.get_by_test_id("synthesize-start")).to_be_disabled()
    expect(page.get_by_test_id("synthesize-why-not")).to_contain_text("left")
    looked(page)
    page.get_by_role("button", name="No guarantee").click()
    page.get_by_test_id("synthesizer-on").fill("outcome")
    page.get_by_test_id("synthesize-start").click()
    expect(page.get_by_test_id("synthesize-result")).to_contain_text("makes no privacy promise")
    looked(page)
    page.get_by_test_id("synthesize-open").click()
    expect(page.get_by_test_id("release-rows")).to_contain_text("outcome")


def test_a_model_is_learnt_within_the_budget_and_another_with_integral_privacy(browse):
    page = browse("steward")
    page.goto("/learn?table=visits")
    page.get_by_test_id("learner-epsilon").fill("90")
    expect(page.get_by_test_id("learn-start")).to_be_disabled()
    expect(page.get_by_test_id("learn-why-not")).to_contain_text("left")
    looked(page)
    choose(page, "learner-method", "learn naive-bayes")
    choose(page, "learner-target", "outcome")
    page.get_by_test_id("learner-epsilon").fill("0.1")
    page.get_by_test_id("learn-start").click()
    expect(page.get_by_test_id("learn-model")).to_contain_text("outcome")
    expect(page.frame_locator("iframe").locator("body")).to_contain_text("ε = 0.1")
    looked(page)
    with page.expect_download() as download:
        page.get_by_test_id("learn-download").click()
    assert download.value.path().stat().st_size > 1000
    page.get_by_role("button", name="Integrally private").click()
    choose(page, "learn-method", "learn statistics")
    page.get_by_test_id("learn-text").fill("learn statistics step=0.1 integral=5 tries=30 on cost")
    page.get_by_test_id("learn-start").click()
    expect(page.get_by_test_id("learn-model")).to_contain_text("mean of cost")
    looked(page)
    page.get_by_test_id("learn-open").click()
    expect(page.get_by_test_id("release-statement")).to_contain_text("integrally private with k = 5")


def test_a_survey_is_made_answered_on_a_phone_and_released(browse):
    page = browse("steward")
    page.goto("/collect")
    page.get_by_test_id("collect-make").click()
    expect(page.get_by_text("Question 1 is empty.")).to_be_visible()
    looked(page)
    page.get_by_test_id("collect-title").fill("Lunch")
    page.get_by_test_id("question-text-0").fill("Did you eat in the canteen?")
    page.get_by_test_id("collect-preview").click()
    expect(page.get_by_test_id("collect-protocols")).to_contain_text("Did you eat in the canteen?")
    looked(page)
    page.get_by_test_id("collect-make").click()
    expect(page.get_by_test_id("collect-state")).to_have_text("closed")
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    looked(page)
    page.get_by_test_id("collect-toggle").click()
    expect(page.get_by_test_id("collect-state")).to_have_text("open")
    for _ in range(2):
        respondent = browse(viewport=PHONE, has_touch=True)
        respondent.goto(page.get_by_test_id("collect-link").get_attribute("href"))
        respondent.get_by_label("yes").check()
        respondent.get_by_role("button", name="Flip the coins").click()
        respondent.get_by_role("button", name="Send it").click()
        expect(respondent.locator("#said")).to_contain_text("Thank you")
        assert Axe().run(respondent).response["violations"] == []
    expect(page.get_by_test_id("collect-reports")).to_have_text("2 reports")
    page.get_by_test_id("collect-estimate").click()
    expect(page.get_by_test_id("collect-figures")).to_contain_text("yes")
    looked(page)
    page.get_by_test_id("collect-release").click()
    page.get_by_test_id("collect-open").click()
    expect(page.get_by_test_id("release-statement")).to_contain_text("For each respondent")
    looked(page)
