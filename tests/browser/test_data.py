"""A steward's own messy file, from the upload to a table, an invited analyst and a first release, in one visit."""

from playwright.sync_api import expect
from tests.browser.steps import choose, looked_in_both, violations

from discreet.samples import messy


def test_a_messy_file_becomes_a_table_an_analyst_is_invited_and_rows_are_published(browse, tmp_path):
    page = browse("steward")
    page.goto("/data")
    with page.expect_file_chooser():
        page.get_by_role("button", name="Choose a file or drop it here").press("Enter")
    page.locator("input[type=file]").set_input_files(messy(400, seed=5).write(tmp_path))
    expect(page.get_by_test_id("role-diagnosis")).to_contain_text("Sensitive")
    expect(page.get_by_test_id("card-unit")).to_contain_text("patient_no")
    page.get_by_test_id("card-rows-per-unit").fill("12")
    choose(page, "role-ward", "Other: neither identifies nor harms")
    page.get_by_test_id("data-fit").click()
    expect(page.get_by_test_id("data-fits")).to_contain_text("born")
    looked_in_both(page)
    for column in ("born", "cost"):
        page.get_by_test_id(f"more-{column}").get_by_role("button").first.click()
        choose(page, f"misfit-{column}", "Count as missing")
    page.get_by_test_id("data-fit").click()
    expect(page.get_by_test_id("data-fits")).to_contain_text("All rows fit the card")
    page.get_by_test_id("hierarchy-born").click()
    expect(page.get_by_role("dialog", name="Hierarchy of born")).to_be_visible()
    page.get_by_test_id("hierarchy-show").click()
    expect(page.get_by_test_id("hierarchy-levels").locator("tbody tr")).to_have_count(6)
    assert violations(page) == []
    page.get_by_test_id("hierarchy-close").click()
    page.get_by_test_id("data-name").fill("stays")
    page.get_by_test_id("data-add").click()
    expect(page.get_by_test_id("data-done")).to_contain_text("stays is added")

    page.get_by_role("button", name="Add an analyst").click()
    page.get_by_test_id("add-name").fill("dora")
    page.get_by_test_id("add-go").click()
    expect(page.get_by_test_id("once-text")).not_to_be_empty()
    page.get_by_test_id("once-close").click()

    page.goto("/publish?table=stays")
    expect(page.get_by_test_id("people-text")).to_have_value("one-row")
    page.get_by_test_id("publish-start").click()
    expect(page.get_by_test_id("publish-open")).to_be_visible(timeout=180_000)
