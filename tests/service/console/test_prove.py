"""The Prove page: a mistake is shown below the editor, and a verdict with its page."""

import pytest
from tests.service.console.conftest import press, seen, text, until

from discreet.errors import BadInput, NotAllowed
from discreet.service.jobs.specs import Prove
from discreet.verbs.prove.examples import EXAMPLES

SPARSE = next(number for number, one in enumerate(EXAMPLES) if one.title.startswith("Sparse"))


def test_a_steward_has_a_program_refuted(console):
    desk, steward = console.clinic.desk, console.clinic.steward
    desk.start()

    async def act(user):
        await user.open("/prove")
        assert EXAMPLES[0].text in text(user)
        with user:
            seen(user, "prove-program")[0].set_value("/etc/passwd")
        press(user, "prove-start")
        await until(lambda: "Line 1, column 1: Expected &#x27;adjacent&#x27; here" in text(user))
        assert not desk.jobs(steward)
        with user:
            seen(user, "prove-example")[0].set_value(SPARSE)
        press(user, "prove-start")
        await until(lambda: bool(seen(user, "job-prove")))
        await until(lambda: desk.jobs(steward)[0].over)  # it is done in a process of its own, which has to start
        assert desk.jobs(steward)[0].error == ""
        await until(lambda: bool(seen(user, "prove-verdict")))
        assert "refuted" in text(user) and "sparse_vector is not private for any eps" in text(user)
        assert "Line 1, column 1" not in text(user)
        (frame,) = seen(user, "prove-page")
        assert frame.props["sandbox"] == ""
        page = await user.http_client.get(frame.props["src"])
        assert "sparse_vector" in page.text and page.headers["Content-Security-Policy"].startswith("sandbox;")
        await user.open(f"/prove?job={desk.jobs(steward)[0].id}")
        assert "A published mistake" in text(user)

    console.visit("steward", act)
    said = [line for line in desk.access.audit(steward, most=9) if line.action in ("ask for prove", "prove")]
    assert [line.who for line in said] == ["steward"] * 2
    assert "Laplace" not in str(said), "the log has no program in it"


def test_nobody_else_has_programs_proved(console):
    for who in (console.clinic.ann, console.clinic.auditor):
        with pytest.raises(NotAllowed):
            console.clinic.desk.submit(who, Prove(EXAMPLES[0].text))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"program": EXAMPLES[0].text, "seconds": 0}, "1 to 300 seconds"),
        ({"program": EXAMPLES[0].text, "seconds": 301}, "1 to 300 seconds"),
        ({"program": "a\tb"}, "without tabs"),
        ({"program": "a" * 20_001}, "20,000 characters"),
        ({"program": "x", "language": "python"}, "No function is marked"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_begun(console, spec, said):
    with pytest.raises(BadInput, match=said):
        console.clinic.desk.submit(console.clinic.steward, Prove(**spec))
