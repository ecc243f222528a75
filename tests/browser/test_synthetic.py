"""A steward has a table's synthetic stand-in made, and an analyst whose budget is gone is answered by it, visibly."""

from playwright.sync_api import expect
from tests.browser.steps import budget, choose, write

SEXES = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"


def test_after_the_budget_is_gone_every_figure_of_the_stand_in_is_marked(browse):
    steward, ben = browse("steward"), browse("ben")
    steward.goto("/synthesize?table=patients")
    choose(steward, "synthesis-by", "mst")
    steward.get_by_test_id("synthesis-epsilon").fill("0.5")
    steward.get_by_test_id("synthesize-start").click()
    expect(steward.get_by_test_id("job-synthesize")).to_have_attribute("data-state", "done", timeout=120_000)
    expect(steward.get_by_test_id("synthesize-result")).to_contain_text("ε = 0.5")

    before = budget(ben, "patients/ben")
    ben.goto("/ask?table=patients")
    write(ben, SEXES, "90")
    button = ben.get_by_test_id("ask-run")
    expect(button).to_have_text("Ask the synthetic stand-in (free)")
    expect(ben.get_by_test_id("price-synthetic")).to_contain_text("never existed")
    button.click()
    expect(ben.get_by_test_id("answer-synthetic")).to_contain_text("SYNTHETIC")
    grid = ben.get_by_test_id("answer-grid")
    figures = grid.locator("tbody td.dc-number")
    expect(figures.first).to_be_visible()
    expect(grid.locator(".dc-badge", has_text="synthetic")).to_have_count(figures.count())
    expect(grid).to_contain_text("±")
    expect(ben.get_by_test_id("ask-cost")).to_contain_text("free")
    expect(ben.get_by_test_id("ask-history")).to_contain_text("synthetic")
    assert budget(ben, "patients/ben") == before
