"""The Publish page: rules and methods chosen in words, the job they make, and the map."""

import pytest
from tests.service.console.conftest import messages, press, seen, text, until

from discreet.core.card import Card, Column
from discreet.core.families import HIDING, MASKING, MODELS, SYNTHESIZERS, TABLE_METHODS
from discreet.models.model import parse
from discreet.service.console.forms import MODEL_VALUES, example_values, without_file
from discreet.service.console.publish import MASK
from discreet.service.console.riskmap import advice, options, placed
from discreet.service.jobs.specs import Publish
from discreet.verbs.publish.riskmap import Point, RiskMap

CARD = Card("people", (Column("zip", "text", "quasi"), Column("illness", "text", "sensitive")))


@pytest.mark.parametrize("name", without_file(MODELS))
def test_every_model_of_the_form_is_a_model_as_it_stands(name):
    entry = MODELS.entry(name)
    assert parse(entry.spell(example_values(entry)), CARD) == parse(entry.example, CARD)
    if any(one.column for one in entry.parameters):
        assert parse(entry.spell(example_values(entry) | {"on": "illness"}), CARD).on == "illness"


def test_a_model_begins_with_its_stricter_variant(console):
    written = []

    async def act(user):
        await user.open("/publish?table=patients")
        with user:
            seen(user, "model-kind-0")[0].set_value("β-likeness")
            seen(user, "publish-title")[0].set_value("Likeness")
        await until(lambda: bool(seen(user, "model-enhanced-0")))
        assert seen(user, "model-enhanced-0")[0].value is True
        press(user, "publish-start")
        await until(lambda: bool(seen(user, "job-publish")))
        press(user, "job-cancel")
        await until(lambda: seen(user, "job-publish")[0].props["data-state"] == "cancelled")
        written.extend(job.spec for job in console.clinic.desk.jobs(console.clinic.steward))

    console.visit("steward", act)
    [[model]] = [spec["models"] for spec in written if spec.get("title") == "Likeness"]
    assert parse(model, console.clinic.desk.workspace.card("patients")).enhanced
    assert set(MODEL_VALUES) <= set(without_file(MODELS))


def test_a_model_without_its_number_says_so(console):
    async def act(user):
        await user.open("/publish?table=patients")
        with user:
            seen(user, "model-k-0")[0].set_value("")
        press(user, "publish-start")
        await until(lambda: any("k-anonymity: k is missing" in said for said in messages(user)))
        press(user, "model-remove-0")
        await until(lambda: not seen(user, "model-k-0"))
        press(user, "publish-start")
        await until(lambda: any("add models" in said for said in messages(user)))
        assert not seen(user, "job-publish")

    console.visit("steward", act)


@pytest.mark.parametrize("family", [MASKING, SYNTHESIZERS, TABLE_METHODS, HIDING], ids=lambda family: family.name)
def test_a_form_writes_what_it_was_filled_with(family):
    for entry in family.entries():
        assert family.parse(entry.spell(example_values(entry))) == family.parse(entry.example)


def test_clicking_twice_starts_one_job(console):
    desk = console.clinic.desk

    def clicks():
        return sum(line.action == "ask for publish" for line in desk.access.audit(console.clinic.auditor))

    before = clicks()

    async def act(user):
        await user.open("/publish?table=patients")
        with user:
            seen(user, "publish-title")[0].set_value("Twice")
        press(user, "publish-start")
        press(user, "publish-start")
        await until(lambda: bool(seen(user, "job-publish")) and clicks() >= before + 1)
        press(user, "job-cancel")
        await until(lambda: seen(user, "job-publish")[0].props["data-state"] == "cancelled")

    console.visit("steward", act)
    jobs = desk.jobs(console.clinic.steward)
    assert [job.state for job in jobs if job.spec.get("title") == "Twice"] == ["cancelled"]


def test_a_form_submits_again_once_it_is_changed_or_its_job_came_to_nothing(console):
    desk, steward = console.clinic.desk, console.clinic.steward

    def submitted():
        return [job for job in desk.jobs(steward) if job.spec.get("title", "").startswith("Once")][::-1]

    async def act(user):
        async def click():
            before = len(desk.access.audit(steward))
            press(user, "publish-start")
            await until(lambda: len(desk.access.audit(steward)) > before)
            await until(lambda: bool(seen(user, "job-publish")))

        await user.open("/publish?table=patients")
        with user:
            seen(user, "publish-title")[0].set_value("Once")
        await click()
        [job] = submitted()
        assert desk._jobs._queue.done(claimed(desk, job), "made", None)
        await click()
        await until(lambda: any("done already" in said for said in messages(user)))
        assert [one.state for one in submitted()] == ["done"]
        with user:
            seen(user, "publish-title")[0].set_value("Once more")
        await click()
        assert [one.state for one in submitted()] == ["done", "waiting"]
        desk.cancel(steward, submitted()[1].id)
        await click()
        assert [one.state for one in submitted()] == ["done", "cancelled", "waiting"]
        desk.cancel(steward, submitted()[2].id)

    console.visit("steward", act)


def test_a_steward_starts_a_job_and_stops_it(console):
    async def act(user):
        await user.open("/publish?table=patients")
        assert "birth_date" in text(user)
        press(user, "model-add")
        await until(lambda: bool(seen(user, "model-on-1")))
        with user:
            seen(user, "model-l-1")[0].set_value(2)
            seen(user, "publish-suppress")[0].set_value(10)
            seen(user, "publish-title")[0].set_value("For research")
        press(user, "publish-start")
        await until(lambda: bool(seen(user, "job-publish")))
        assert "waiting" in text(user)
        press(user, "job-cancel")
        await until(lambda: seen(user, "job-publish")[0].props["data-state"] == "cancelled")

    console.visit("steward", act)
    jobs = console.clinic.desk.jobs(console.clinic.steward)
    (job,) = (one for one in jobs if one.spec.get("title") == "For research")
    assert (job.state, job.table) == ("cancelled", "patients")
    wanted = {"models": ["k=5", "l=2 on insurance"], "method": "generalize", "suppress": "10%", "title": "For research"}
    assert wanted.items() <= dict(job.spec).items()


def claimed(desk, job):
    """A job in the hands of a test, whatever others left waiting before it."""
    while (claim := desk._jobs._queue.claim("a test")).job.id != job.id:
        pass
    return claim


def test_a_job_that_failed_is_found_again_with_its_reason(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    job = desk.submit(steward, Publish("patients", ("k=2",), title="Too much"))
    claim = claimed(desk, job)
    assert (claim.job.id, desk._jobs._queue.failed(claim, "Nothing would be left.")) == (job.id, True)

    async def act(user):
        await user.open("/")
        assert "Nothing would be left." in text(user)
        (link,) = seen(user, f"job-link-{job.id}")
        await user.open(link.props["href"])
        assert seen(user, "job-error")
        assert seen(user, f"job-open-{job.id}")

    console.visit("steward", act)


def test_what_is_wrong_with_a_method_is_told_before_a_job_begins(console):
    async def act(user):
        await user.open("/publish?table=patients")
        with user:
            seen(user, "publish-method")[0].set_value(MASK)
            seen(user, "publish-mask")[0].set_value("nois alpha=0.1")
        press(user, "publish-start")
        await until(lambda: any("nois" in said for said in messages(user)))
        assert not seen(user, "job-publish")

    console.visit("steward", act)


@pytest.mark.parametrize("name", ["ann", "auditor"])
def test_nobody_else_publishes(console, name):
    async def act(user):
        for page in ("/publish", "/tabulate", "/attack"):
            await user.open(page)
            assert "may not open this page" in text(user)

    console.visit(name, act)


POINTS = (Point("original", 1.0, 0.0), Point("a", 0.2, 0.3), Point("b", 0.5, 0.5), Point("c", why="no numbers"))
MAP = RiskMap("people", "pil", "means", POINTS, 10, 1).to_dict()


def test_the_map_has_all_that_was_measured_and_its_best_on_a_line():
    made = options(MAP)
    line, best, others, original = made["series"]
    assert line["data"] == [[0.2, 0.3], [1.0, 0.0]]
    assert [[one["method"] for one in dots["data"]] for dots in (best, others, original)] == [
        ["a"],
        ["b"],
        ["original"],
    ]
    assert [one["method"] for one in placed(MAP)] == ["original", "b", "a"]


def test_advice_is_in_sentences_and_not_in_options_of_a_command():
    blind = RiskMap("people", "pil", "means", (*POINTS, Point("d", 0.1, 0.0)), 10, 1).to_dict()
    said = advice(blind)
    assert len(said) > 3
    assert "--loss" not in " ".join(said)


def test_the_form_asks_what_leaves_of_people_with_several_rows(console):
    written = []

    async def act(user):
        await user.open("/publish?table=visits")
        assert seen(user, "people-text")[0].value == "one-row"
        with user:
            seen(user, "people-method")[0].set_value("linked")
        await until(lambda: bool(seen(user, "people-most")))
        with user:
            seen(user, "people-most")[0].set_value("2")
            seen(user, "publish-title")[0].set_value("Linked")
        await until(lambda: seen(user, "people-text")[0].value == "linked most=2")
        press(user, "publish-start")
        await until(lambda: bool(seen(user, "job-publish")))
        press(user, "job-cancel")
        await until(lambda: seen(user, "job-publish")[0].props["data-state"] == "cancelled")
        written.extend(job.spec for job in console.clinic.desk.jobs(console.clinic.steward))
        await user.open("/publish?table=patients")
        assert not seen(user, "people-text")

    console.visit("steward", act)
    assert [spec["people"] for spec in written if spec.get("title") == "Linked"] == ["linked most=2"]
