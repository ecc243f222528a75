"""The Hide page: how items are written, and secrets before and after."""

from tests.service.console.conftest import messages, press, seen, text, until

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.service.console.hide import items, usual


def test_how_items_are_written(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert {"ward", "outcome"} <= set(usual(card)) and not {"patient_id", "visit_id"} & set(usual(card))
    assert items(card, ["ward", "outcome"]).startswith("All rows of one patient_id are a transaction.")
    assert "ward=" in items(card, ["ward", "outcome"]) and "ward=" not in items(card, ["ward"])
    rows = Card("loans", (Column("town", Kind.TEXT), Column("paid", Kind.BOOLEAN)))
    assert items(rows, ["town", "paid"]) == "Each row is a transaction. Its items are written: town=…, paid"
    assert items(rows, []) == "Each row is a transaction."


def test_a_steward_hides_an_itemset_and_sees_what_it_cost(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/hide?table=patients")
        assert "protects no one" in text(user)
        with user:
            seen(user, "hide-columns")[0].set_value([])
        press(user, "hide-start")
        await until(lambda: any("No item columns" in said for said in messages(user)))
        with user:
            seen(user, "hide-columns")[0].set_value(["sex", "insurance"])
        press(user, "hide-start")
        await until(lambda: any("No secret given" in said for said in messages(user)))
        with user:
            seen(user, "hide-itemsets")[0].set_value("\nsex=F, insurance=private\n")
            seen(user, "hide-method")[0].set_value("bba")
        press(user, "hide-start")
        await until(lambda: bool(seen(user, "job-hide")))
        await until(lambda: desk.jobs(steward)[0].over)  # it is made in a process of its own, which has to start
        assert desk.jobs(steward)[0].error == ""
        await until(lambda: bool(seen(user, "hide-result")))
        assert "misses cost" in text(user) and "Hidden below" in text(user)

    console.visit("steward", act)
    (one,) = desk.releases(steward, kind="hidden")
    assert one.tables == ("patients",) and not one.shared
    assert [out.kind for out in desk.published(steward, "patients")] == ["hidden"]

    async def read(user):
        csv = (await user.http_client.get(f"/v1/releases/{one.id}/rows.csv")).text
        assert csv.startswith('"items"\n') and "insurance=" in csv
        page = await user.http_client.get(f"/v1/jobs/{one.id}/papers/holder.html")
        assert "Confidential" in page.text

    console.visit("steward", read)
    job = desk.job(console.clinic.auditor, one.id)
    assert "insurance=private" not in str(job) and job.spec["method"] == "bba"
