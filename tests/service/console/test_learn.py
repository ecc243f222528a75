"""The Learn page: targets that a learner can tell, and a job with the model and its comparison."""

import pytest
from tests.service.console.conftest import messages, press, seen, text, until

from discreet.core.families import LEARNERS
from discreet.errors import NotAllowed
from discreet.service.console.learn import targets
from discreet.service.jobs.checks import learning_of
from discreet.service.jobs.specs import Learn


def test_a_learner_is_offered_the_columns_that_it_can_tell(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert {"ward", "outcome"} <= set(targets(card, LEARNERS.entry("tree")))
    assert not {"diagnosis", "cost", "visit_id"} & set(targets(card, LEARNERS.entry("tree"))), "85 diagnoses are many"
    assert "cost" in targets(card, LEARNERS.entry("linear")) and "ward" not in targets(card, LEARNERS.entry("linear"))


def test_nobody_takes_all_processors(clinic):
    card = clinic.desk.full_card(clinic.steward, "visits")
    assert learning_of(Learn("visits", "statistics integral=2 processes=100000"), card).processes < 1000


def test_a_steward_has_a_model_learnt(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/learn?table=visits")
        with user:
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
    (one,) = desk.releases(steward, kind="learnt")
    assert one.tables == ("visits",) and not one.shared
    assert "learnt" in [out.kind for out in desk.published(steward, "visits")]
    said = [line.action for line in desk.access.audit(steward, most=9)]
    assert "ask for learn" in said and "learn" in said


def test_nobody_else_has_models_learnt(clinic):
    for who in (clinic.ann, clinic.auditor):
        with pytest.raises(NotAllowed):
            clinic.desk.submit(who, Learn("visits", "statistics integral=5 on cost"))
