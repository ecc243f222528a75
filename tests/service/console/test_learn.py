"""The Learn page: targets that a learner can tell, and a job with the model and its comparison."""

import pytest
from tests.service.console.conftest import messages, press, seen, text, until

from discreet.core.families import LEARNERS, PRIVATE_LEARNERS
from discreet.core.loss import Pure
from discreet.errors import NotAllowed
from discreet.service.console.learn import learnable, private_targets, targets
from discreet.service.jobs.checks import learning_of
from discreet.service.jobs.specs import Learn


def test_a_learner_is_offered_the_columns_that_it_can_tell(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert {"ward", "outcome"} <= set(targets(card, LEARNERS.entry("tree")))
    assert not {"diagnosis", "cost", "visit_id"} & set(targets(card, LEARNERS.entry("tree"))), "85 diagnoses are many"
    assert "cost" in targets(card, LEARNERS.entry("linear")) and "ward" not in targets(card, LEARNERS.entry("linear"))


def test_a_private_learner_is_offered_what_the_card_declares(clinic):
    card = clinic.desk.table(clinic.steward, "visits").card
    additive, ridge, k_means = (PRIVATE_LEARNERS.entry(name) for name in ("additive", "ridge", "k-means"))
    assert private_targets(card, additive) == ["ward", "outcome"]
    assert private_targets(card, ridge) == ["length_of_stay", "cost"]
    assert learnable(card, additive) == ["diagnosis", "ward", "length_of_stay", "cost", "outcome"]
    assert learnable(card, k_means) == ["length_of_stay", "cost"]


def test_a_private_model_is_priced_learnt_and_shown(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/learn?table=visits")
        (start,), (written,) = seen(user, "learn-start"), seen(user, "learner-text")
        columns = "on diagnosis, length_of_stay, cost, outcome"
        assert written.value == f"learn additive epsilon=1 delta=1e-9 target=ward {columns}"
        with user:
            seen(user, "learner-target")[0].set_value("outcome")
        await until(lambda: seen(user, "learner-on")[0].value == ["diagnosis", "length_of_stay", "cost", "ward"])
        with user:
            seen(user, "learner-epsilon")[0].set_value("90")
        await until(lambda: not start.enabled)
        assert "The table has ε 3" in seen(user, "learn-why-not")[0].text
        with user:
            written.set_value("learn statistics integral=5 on cost")
        await until(lambda: start.enabled)
        press(user, "learn-start")
        await until(lambda: any("is not differentially private" in said for said in messages(user)))
        with user:
            seen(user, "learner-method")[0].set_value("learn naive-bayes")
            seen(user, "learner-target")[0].set_value("outcome")
            seen(user, "learner-epsilon")[0].set_value("0.5")
            seen(user, "learner-on")[0].set_value(["ward"])
            seen(user, "learn-title")[0].set_value("Outcomes")
        assert written.value == "learn naive-bayes epsilon=0.5 target=outcome on ward"
        await until(lambda: start.enabled)
        press(user, "learn-start")
        await until(lambda: bool(seen(user, "learn-result")))
        assert "outcome" in seen(user, "learn-model")[0].text
        assert "charged: ε = 0.5" in text(user) and "For each patient_id" in text(user)
        assert "ε 2.5 of 3 left" in text(user)
        assert seen(user, "learn-report")[0].props["src"].endswith("/report")

    console.visit("steward", act)
    (one,) = desk.releases(steward, kind="learnt")
    assert (one.title, one.tables, one.shared, one.private) == ("Outcomes", ("visits",), False, True)
    assert one.loss == Pure("0.5")


def test_nobody_takes_all_processors(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert learning_of(Learn("visits", "statistics integral=2 processes=100000"), card).processes < 1000


def test_a_steward_has_a_model_learnt(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/learn?table=visits")
        with user:
            seen(user, "learn-guarantee")[0].set_value("integral")
            seen(user, "learn-method")[0].set_value("learn linear")
        await until(lambda: "learn linear target=" in seen(user, "learn-text")[0].value)
        with user:
            seen(user, "learn-method")[0].set_value("learn statistics")
        await until(lambda: seen(user, "learn-text")[0].value == "learn statistics integral=20")
        with user:
            seen(user, "learn-text")[0].set_value("learn statistics step=0.1 integral=much on cost")
        press(user, "learn-start")
        await until(lambda: any("integral must be" in said for said in messages(user)))
        with user:
            seen(user, "learn-text")[0].set_value("learn statistics step=0.1 integral=5 tries=30 on cost")
        press(user, "learn-start")
        await until(lambda: bool(seen(user, "job-learn")))
        await until(lambda: desk.jobs(steward)[0].over)  # it is done in a process of its own, which has to start
        assert desk.jobs(steward)[0].error == ""
        await until(lambda: bool(seen(user, "learn-result")))
        assert seen(user, "learn-model")[0].text.startswith("mean of cost:")
        assert "integrally private with k = 5" in text(user) and "differentially private, ε = 1" in text(user)

    console.visit("steward", act)
    one = desk.releases(steward, kind="learnt")[0]
    assert one.tables == ("visits",) and not one.shared and one.loss is None
    assert "learnt" in [out.kind for out in desk.published(steward, "visits")]
    said = [line.action for line in desk.access.audit(steward, most=9)]
    assert "ask for learn" in said and "learn" in said


def test_nobody_else_has_models_learnt(clinic):
    for who in (clinic.ann, clinic.auditor):
        with pytest.raises(NotAllowed):
            clinic.desk.submit(who, Learn("visits", "statistics integral=5 on cost"))
