"""The tutorials of statistician, lecturer and several hospitals, through the console; others are in ``test_tutorials``.

Axe looks at every result on the way, in the light and in the dark. Each walk has a table of its own, so that nothing
that others released stands in its way.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.browser.steps import (
    ILL,
    JOB,
    add_table,
    choose,
    looked_in_both,
    pick,
    press,
    press_until,
    reach,
    shown_in,
    tick,
)
from tests.combine.parties import prepared, together

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.conftest import Console


def test_a_statistician_protects_a_magnitude_table_reads_its_audit_and_rounds_counts(steward, tmp_path):
    file = tmp_path / "returns.csv"
    file.write_text(shown_in("statistician.md", file.name))
    add_table(steward, file, "returns")

    steward.goto("/tabulate?table=returns")
    tick(steward, "tabulate-down", "region")
    choose(steward, "tabulate-across", "sector")
    choose(steward, "tabulate-value", "sum of turnover")
    steward.get_by_test_id("rule-minimum-frequency").click()  # the p% rule alone
    steward.get_by_test_id("rule-p").click()
    steward.get_by_test_id("tabulate-start").click()
    table = steward.get_by_test_id("crosstable")
    expect(table.locator("td.dc-sensitive")).to_have_count(1, timeout=JOB)
    expect(table.locator("td.dc-hidden")).to_have_count(3)
    reach(steward, "td.dc-sensitive", most=120)
    expect(table.locator("td.dc-sensitive .dc-tip")).to_be_visible()
    expect(table.locator("td.dc-sensitive .dc-tip")).to_contain_text("An intruder")
    looked_in_both(steward)
    with steward.expect_download() as download:
        steward.get_by_test_id("tabulate-xlsx").click()
    assert download.value.path().read_bytes()[:2] == b"PK"
    steward.get_by_test_id("tabulate-open").click()
    expect(steward.get_by_test_id("release-statement")).to_contain_text("suppression")

    steward.goto("/tabulate?table=returns")  # from here on by keyboard alone
    press_until(steward, "tabulate-down")
    pick(steward, "region", several=True)
    press_until(steward, "tabulate-method")
    pick(steward, "round")
    press(steward, "tabulate-start")
    expect(steward.get_by_test_id("crosstable").locator("td.dc-total").first).to_contain_text("20", timeout=JOB)
    looked_in_both(steward)

    steward.goto("/exposure")
    choose(steward, "whatif-table", "returns")
    steward.get_by_test_id("whatif-by").fill("sector")
    steward.get_by_test_id("whatif-run").click()
    expect(steward.get_by_test_id("whatif-verdict")).to_contain_text("would", timeout=JOB)
    looked_in_both(steward)


def test_a_lecturer_shows_differencing_and_a_mechanism_that_is_not_private(steward, patients):
    add_table(steward, patients, "lecture", ill=ILL)
    steward.goto("/tabulate?table=lecture")
    tick(steward, "tabulate-down", "town")
    choose(steward, "tabulate-across", "ill")
    steward.get_by_test_id("tabulate-start").click()
    expect(steward.get_by_test_id("crosstable")).to_contain_text("Dover", timeout=JOB)

    steward.goto("/exposure")
    choose(steward, "whatif-table", "lecture")
    steward.get_by_test_id("whatif-by").fill("town × ill")
    for condition, verdict in (("age < 79", "would be refused"), ("age < 60", "would pass")):
        steward.get_by_test_id("whatif-where").fill(condition)
        steward.get_by_test_id("whatif-run").click()
        expect(steward.get_by_test_id("whatif-verdict")).to_contain_text(verdict, timeout=JOB)
    looked_in_both(steward)

    steward.goto("/prove")
    steward.get_by_label("Program", exact=True).click()
    steward.keyboard.press("Control+A")
    steward.keyboard.insert_text(shown_in("lecturer.md", "bad_svt.dp"))
    steward.keyboard.press("Control+Enter")
    refuted = "bad_svt is not (eps)-differentially private"
    expect(steward.get_by_test_id("prove-verdict")).to_contain_text(refuted, timeout=JOB)
    looked_in_both(steward)


def test_three_hospitals_compute_a_mean_and_one_sees_what_came_of_it(steward, console, tmp_path):
    file = seated_as_north(console, tmp_path)
    steward.goto("/combine")
    expect(steward.get_by_test_id("combine-parties")).to_contain_text("north (you)")
    expect(steward.get_by_test_id("combine-learnt")).to_contain_text("can compute south's figures")
    looked_in_both(steward)
    choose(steward, "combine-brings", "north.txt")
    others = {"east": tmp_path / "east.txt", "south": tmp_path / "south.txt"}
    with ThreadPoolExecutor(1) as threads:
        answers = threads.submit(together, file, others)
        steward.get_by_test_id("combine-start").click()
        expect(steward.get_by_test_id("combine-result")).to_contain_text("mean: 5.33333", timeout=JOB)
        assert all(release.payload for release in answers.result().values())
    expect(steward.get_by_test_id("combine-result")).to_contain_text("north, east, south")
    looked_in_both(steward)


def seated_as_north(console: Console, folder: Path) -> Path:
    """The tutorial's session: the clinic is north, and the other two are in a folder of their own."""
    file = prepared(folder, ("north", "east", "south"), function="mean", bounds="0:60", start_within=JOB // 1000)
    here = console.clinic.folder / "combine"
    here.mkdir()
    for name in ("north", "east", "south"):
        place = here if name == "north" else folder
        (place / f"{name}.txt").write_text(shown_in("hospitals.md", f"{name}.txt"))
    (here / file.name).write_text(file.read_text())
    (folder / "north.key").rename(here / "north.key")
    return file


def test_rows_are_attacked_masked_by_the_map_and_their_secrets_hidden(steward, patients):
    add_table(steward, patients, "attacked", ill=ILL)
    steward.goto("/publish?table=attacked")
    steward.get_by_test_id("publish-start").click()
    steward.get_by_test_id("publish-attack").click(timeout=JOB)
    expect(steward.get_by_role("heading", name="Attack", exact=True)).to_be_visible()
    press(steward, "attack-options")  # by keyboard alone
    press_until(steward, "attack-only")
    pick(steward, "matching by quasi-identifiers", "uniqueness", several=True)
    press(steward, "attack-start")
    expect(steward.get_by_test_id("attack-summary")).to_contain_text("2 attacks", timeout=JOB)
    looked_in_both(steward)

    steward.goto("/publish?table=attacked")
    steward.get_by_text("Methods to compare").click()
    steward.get_by_test_id("map-methods").fill("rank-swap p=10\nmicroaggregate k=5")
    steward.get_by_test_id("map-start").click()
    expect(steward.get_by_test_id("map-recommend")).to_be_visible(timeout=JOB)
    looked_in_both(steward)
    steward.get_by_test_id("map-use-1").click()
    expect(steward.get_by_test_id("publish-mask")).not_to_have_value("")

    steward.goto("/hide?table=attacked")
    tick(steward, "hide-columns", "town")  # beside those with declared values, which are chosen already
    steward.get_by_test_id("hide-itemsets").fill("town=Ayr, ill=cancer")
    steward.get_by_test_id("hide-despite").fill("A walk through the pages.")
    steward.get_by_test_id("hide-start").click()
    expect(steward.get_by_test_id("hide-result")).to_contain_text("town=Ayr", timeout=JOB)
    looked_in_both(steward)
