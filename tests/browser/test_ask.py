"""The Ask page in a browser: built without SQL, priced, answered, drawn, downloaded, saved, left and come back to."""

import csv
import re
from fractions import Fraction

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browser.steps import budget, choose, pick, press, press_until, tick, write
from tools.browser import PHONE

from discreet.service.console.draft import MOST_PINNED

BUILT = (
    "SELECT DATE_TRUNC('month', admitted) AS admitted_month, COUNT(*) AS n "
    "FROM visits WHERE ward = 'Surgery' GROUP BY DATE_TRUNC('month', admitted)"
)


AT_REST = """() => document.getAnimations().every(
  (one) => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"""
POSITION = """(position) => document.querySelectorAll('body, .q-dialog__inner, .q-dialog__backdrop').forEach(
  (one) => one.style.setProperty('position', position, 'important'))"""
"""What Quasar fixes while a dialog is open: axe does not see the background of what is fixed."""


def is_priced(page, epsilon):
    """Wait until the button says this price, and can be pressed."""
    expect(page.get_by_test_id("ask-run")).to_have_text(f"Ask (costs ε {epsilon})")
    expect(page.get_by_test_id("ask-run")).to_be_enabled()


def question(page):
    """The SQL on the page, in one line."""
    lines = page.get_by_test_id("ask-sql").locator(".cm-line").all_inner_texts()
    return " ".join(" ".join(lines).split())


def download(page, kind):
    """The file that a button of the answer saves."""
    with page.expect_download() as found:
        page.get_by_test_id("ask-result").get_by_test_id(f"answer-{kind}").click()
    assert found.value.suggested_filename == f"answer.{kind}"
    return found.value.path()


def is_accessible(page):
    """axe finds nothing to fix, once the page is at rest."""
    page.wait_for_load_state("networkidle")
    expect(page.locator(".q-loading-bar")).to_have_css("opacity", "0")
    page.wait_for_function(AT_REST)
    page.evaluate(POSITION, "absolute")
    found = Axe().run(page).response["violations"]
    page.evaluate(POSITION, "")
    assert [(one["id"], [(node["html"], node["failureSummary"]) for node in one["nodes"]]) for one in found] == []


def test_a_question_is_built_answered_drawn_downloaded_saved_and_still_there(browse):
    page = browse("cara")
    page.goto("/ask?table=visits")
    is_priced(page, "0.1")
    is_accessible(page)
    choose(page, "build-figure-0", "Number of rows")
    page.get_by_test_id("build-add-group").click()
    choose(page, "build-group-0", "admitted")
    page.get_by_test_id("build-add-filter").click()
    choose(page, "build-filter-0", "ward")
    expect(page.get_by_test_id("ask-problem")).to_contain_text("The filter on ward has no value.")
    expect(page.get_by_test_id("ask-run")).to_be_disabled()
    is_accessible(page)
    tick(page, "build-value-0", "Surgery")
    page.get_by_test_id("ask-epsilon").fill("0.02")
    is_priced(page, "0.02")
    assert question(page) == BUILT
    expect(page.get_by_test_id("ask-price")).to_contain_text("± ")

    page.get_by_test_id("ask-run").click()
    chart = page.get_by_test_id("ask-result").get_by_test_id("answer-chart")
    expect(chart).to_have_attribute("data-kind", "line")
    expect(chart.locator("svg path").first).to_be_attached()
    expect(page.get_by_test_id("ask-run")).to_have_text("Show it again (free)")
    is_accessible(page)

    picture = download(page, "svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg ")
    assert "var(--" not in picture
    assert "n by admitted_month, with 95 % error band" in picture
    assert download(page, "png").read_bytes().startswith(b"\x89PNG")
    with download(page, "csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert set(rows[0]) == {"admitted_month", "n", "n_error"}

    page.get_by_test_id("ask-save").click()
    expect(page.get_by_test_id("save-name")).to_have_value("Number of visits by admitted (month) where ward is Surgery")
    is_accessible(page)
    page.get_by_test_id("save-name").fill("Surgery by month")
    page.get_by_test_id("save-go").click()
    expect(page.get_by_test_id("saved-open-0")).to_contain_text("Surgery by month")

    page.get_by_test_id("ask-pin").click()
    expect(page.get_by_test_id("pin-0")).to_contain_text("Surgery")
    page.get_by_test_id("nav-releases").click()
    expect(page).to_have_title("Releases · discreet")
    page.go_back()
    expect(page.get_by_test_id("ask-run")).to_have_text("Show it again (free)")
    assert question(page) == BUILT
    expect(page.get_by_test_id("ask-epsilon")).to_have_value("0.02")
    expect(page.get_by_test_id("build-value-0")).to_be_visible()
    expect(page.get_by_test_id("pin-0").get_by_test_id("answer-chart")).to_have_attribute("data-kind", "line")
    is_accessible(page)
    page.get_by_test_id("unpin-0").click()
    expect(page.get_by_test_id("pins")).to_be_hidden()

    page.get_by_test_id("ask-example-0").click()
    expect(page.get_by_test_id("build-filter-0")).to_have_count(0)
    page.get_by_test_id("saved-open-0").click()
    expect(page.get_by_test_id("ask-run")).to_have_text("Show it again (free)")
    assert question(page) == BUILT
    page.get_by_test_id("saved-delete-0").click()
    is_accessible(page)
    page.get_by_test_id("sure-go").click()
    expect(page.get_by_test_id("saved-open-0")).to_have_count(0)


def test_sql_written_by_hand_is_kept_beside_what_is_built_and_the_choice_is_remembered(browse):
    page = browse("cara")
    page.goto("/ask?table=patients")
    is_priced(page, "0.1")
    built = question(page)
    write(page, "SELECT sex, COUNT(*) AS hand FROM patients GROUP BY sex", "0.1")
    expect(page.get_by_test_id("ask-edited")).to_contain_text("the choices in Build are unchanged")
    expect(page.get_by_test_id("build-table")).to_be_hidden()
    view = page.get_by_test_id("ask-view")
    view.get_by_role("button", name="Build").click()
    expect(page.get_by_test_id("build-table")).to_be_visible()
    assert question(page) == built
    view.get_by_role("button", name="SQL").click()
    expect(page.get_by_test_id("ask-price")).to_contain_text("hand")
    page.reload()
    expect(page.get_by_test_id("ask-price")).to_contain_text("hand")
    page.evaluate("sessionStorage.clear()")
    page.goto("/ask?table=visits")
    expect(page.get_by_test_id("ask-edited")).to_contain_text("Written by hand")


CHARTS = [
    ("SELECT sex, insurance, COUNT(*) AS n FROM patients GROUP BY sex, insurance", "heat map"),
    ("SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex", "bars"),
    (
        "SELECT WIDTH_BUCKET(length_of_stay, 0, 60, 6) AS b, COUNT(*) AS n FROM visits "
        "GROUP BY WIDTH_BUCKET(length_of_stay, 0, 60, 6)",
        "distribution",
    ),
]


@pytest.mark.parametrize("look", [{}, {"viewport": PHONE, "color_scheme": "dark", "has_touch": True}])
def test_every_chart_is_drawn_with_its_errors(browse, look):
    page = browse("cara", **look)
    page.goto("/ask")
    for sql, kind in CHARTS:
        write(page, sql, "0.01")
        page.get_by_test_id("ask-run").filter(has_text=re.compile("costs ε 0.01|free")).click()
        chart = page.get_by_test_id("ask-result").get_by_test_id("answer-chart")
        expect(chart).to_have_attribute("data-kind", kind)
        expect(chart.locator("svg path").first).to_be_attached()
    is_accessible(page)
    write(page, CHARTS[0][0], "0.01")
    page.get_by_test_id("ask-run").filter(has_text="free").click()
    expect(page.get_by_test_id("answer-note").first).to_contain_text("Error of each figure, 95 times in 100: ±")
    is_accessible(page)


def test_a_refusal_and_a_full_board_are_accessible(browse):
    page = browse("cara")
    page.goto("/ask?table=patients")
    for place in range(MOST_PINNED + 1):
        write(page, f"SELECT COUNT(*) AS n{place} FROM patients WHERE zip > '{place}'", "0.01")
        page.get_by_test_id("ask-price").filter(has_text=f"n{place}").wait_for()
        page.get_by_test_id("ask-run").filter(has_text="costs ε 0.01").click()
        expect(page.get_by_test_id("ask-result").get_by_test_id("answer-one")).to_contain_text(f"n{place}")
        page.get_by_test_id("ask-pin").click()
    expect(page.get_by_test_id("told")).to_contain_text(f"{MOST_PINNED} answers are pinned.")
    expect(page.locator("[data-testid^=pin-]")).to_have_count(MOST_PINNED)
    is_accessible(page)

    write(page, "SELECT COUNT(*) AS late FROM patients", "0.5")
    is_priced(page, "0.5")
    csrf = page.request.get("/v1/session").json()["csrf"]
    epsilon = str(float(budget(page, "patients/cara")["left"] - Fraction(2, 5)))
    spent = {"questions": ["SELECT COUNT(*) AS meanwhile FROM patients WHERE sex = 'F'"], "epsilon": epsilon}
    assert page.request.post("/v1/ask", data=spent, headers={"X-CSRF-Token": csrf}).ok
    page.get_by_test_id("ask-run").click()
    expect(page.get_by_test_id("ask-refused")).to_contain_text("charged")
    is_accessible(page)
    page.reload()
    expect(page.get_by_test_id("price-beyond").first).to_contain_text("It takes ε 0.5")
    expect(page.get_by_test_id("ask-run")).to_be_disabled()
    is_accessible(page)


def test_a_question_is_built_and_asked_by_keyboard_alone(browse):
    page = browse("cara")
    page.goto("/ask?table=visits")
    is_priced(page, "0.1")
    press_until(page, "build-figure-0")
    pick(page, "Average of")
    press(page, "build-add-group")
    expect(page.get_by_test_id("build-group-0")).to_be_visible()
    press_until(page, "build-group-0")
    pick(page, "outcome")
    press_until(page, "ask-epsilon")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.015")
    is_priced(page, "0.015")
    assert (
        question(page) == "SELECT outcome, AVG(length_of_stay) AS average_length_of_stay FROM visits GROUP BY outcome"
    )
    press(page, "ask-run")
    expect(page.get_by_test_id("ask-result").get_by_test_id("answer-chart")).to_have_attribute("data-kind", "bars")
    press(page, "ask-save")
    expect(page.get_by_test_id("save-name")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("saved-open-0")).to_contain_text("By keyboard")
