"""The Collect page: a survey is written, made and opened, and its figures are shown with intervals."""

import pytest
from tests.service.console.conftest import press, seen, text, until

from discreet.service.console.collect import qr_code, question_name


def test_a_steward_makes_a_survey_and_opens_it(console):
    desk, steward = console.clinic.desk, console.clinic.steward

    async def act(user):
        await user.open("/collect")
        press(user, "collect-make")
        await until(lambda: "Question 1 is empty." in text(user))
        with user:
            seen(user, "collect-title")[0].set_value("Lunch")
            seen(user, "question-text-0")[0].set_value("Did you eat?")
        press(user, "question-add")
        await until(lambda: bool(seen(user, "question-text-1")))
        with user:
            seen(user, "question-text-1")[0].set_value("What?")
            seen(user, "question-kind-1")[0].set_value("choice")
            seen(user, "question-values-1")[0].set_value("soup")
        press(user, "collect-preview")
        await until(lambda: "Question 2 has fewer than two answers." in text(user))
        with user:
            seen(user, "question-values-1")[0].set_value("soup | salad |")
        press(user, "question-add")
        await until(lambda: bool(seen(user, "question-text-2")))
        with user:
            seen(user, "question-text-2")[0].set_value("How often?")
            seen(user, "question-kind-2")[0].set_value("number")
            seen(user, "question-wants-2")[0].set_value("mean")
        press(user, "question-add")
        await until(lambda: bool(seen(user, "question-remove-3")))
        press(user, "question-remove-3")
        press(user, "collect-preview")
        await until(lambda: bool(seen(user, "collect-protocols")))
        assert "grr" in text(user) and "Expected error" in text(user)
        assert not desk.surveys.all(steward)
        press(user, "collect-make")
        await until(lambda: len(desk.surveys.all(steward)) == 1)
        (view,) = desk.surveys.all(steward)
        await user.open(f"/collect?survey={view.id}")
        assert f"http://127.0.0.1:8640/s/{view.id}/" in text(user) and "works on this computer only" in text(user)
        press(user, "collect-toggle")
        await until(lambda: seen(user, "collect-state")[0].text == "open")
        press(user, "collect-estimate")
        await until(lambda: "There are no reports yet." in text(user))

    console.visit("steward", act)
    (view,) = desk.surveys.all(steward)
    assert view.open and [one.name for one in view.survey.questions] == ["q1_did_you_eat", "q2_what", "q3_how_often"]
    assert view.survey.questions[1].values == ("soup", "salad") and view.survey.questions[2].wants == "mean"


@pytest.mark.parametrize(
    ("said", "name"), [("Did you eat?", "q1_did_you_eat"), ("Äß?", "q1"), ("x" * 90, f"q1_{'x' * 37}")]
)
def test_a_question_is_named_by_its_first_words(said, name):
    assert question_name(said, 1) == name


def test_a_qr_code_is_a_drawing_with_the_address_as_its_label():
    drawn = qr_code('http://example.org/s/0/"><script>')
    assert drawn.startswith("<svg") and drawn.endswith("</svg>") and "<script" not in drawn
    assert qr_code("http://example.org/s/0/") != qr_code("http://example.org/s/1/")
