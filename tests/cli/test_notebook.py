"""``%%ask`` in a real IPython shell."""

import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from tests.curator.clinics import CITIES, COUNT, clinic
from tests.service.conftest import password_of
from tests.service.serving import serving

from discreet.core.loss import Approximate, Pure
from discreet.curator.answer import Answer
from discreet.curator.people.person import Role
from discreet.service.operations.operations import Operations


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("notebook") / "clinic"
    with clinic(place) as curator:
        curator.add_analyst("ann", Approximate(1, "1e-6"))
    return place


@pytest.fixture
def shell(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell takes its place, and empties it
    found = InteractiveShell()
    found.run_line_magic("load_ext", "discreet")
    found.run_cell("clinic = {}")  # a variable of the same name that is no curator
    yield found
    found.history_manager.end_session()
    found.atexit_operations()


def run(shell, line, cell):
    return shell.run_cell(f"%%ask {line}\n{cell}")


def test_a_cell_is_asked_and_its_answer_shown(shell):
    done = run(shell, "clinic --epsilon 0.1", CITIES)
    assert done.success
    assert isinstance(done.result, Answer)
    assert done.result.price == Pure("0.1")
    html = shell.display_formatter.format(done.result)[0]["text/html"]
    assert "Rome" in html
    assert "It cost ε = 0.1" in html


def test_the_answer_goes_to_a_variable_and_the_same_again_is_free(shell):
    assert run(shell, "clinic -e 0.1 --analyst ann --to counted", COUNT).success
    counted = shell.user_ns["counted"]
    again = run(shell, "clinic --epsilon 1/10 --analyst ann", f"{COUNT};").result
    assert again.free
    assert again.table == counted.table
    assert run(shell, "clinic -e 0.1 --analyst ann --dry-run", COUNT).result.answered


def test_several_questions_are_answered_for_one_price(shell):
    found = run(shell, "clinic --epsilon 0.2", f"{COUNT} WHERE income > 1; {COUNT} WHERE income > 2").result
    assert [one.price for one in found] == [Pure("0.1")] * 2


def test_a_curator_in_a_variable_is_asked_and_stays_open(shell):
    shell.run_cell("import discreet as dc; desk = dc.Curator('clinic')")
    assert run(shell, "desk -e 0.01", f"{COUNT} WHERE income > 3").success
    assert shell.run_cell("desk.left('visits').analyst; desk.close()").success


def test_a_service_is_asked_by_its_address(shell, folder, monkeypatch):
    with Operations(folder) as desk:
        desk.people.change_password("ann", desk.people.add("ann", Role.ANALYST), password_of("ann"))
        monkeypatch.setenv("DISCREET_TOKEN", desk.people.new_token("ann", "notebook").text)
        with serving(desk) as service:
            assert run(shell, f"{service.url} --epsilon 0.05", COUNT).result.price == Pure("0.05")


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("clinic --epsilon 50 --analyst ann", COUNT, "does not cover this: ε = 50 was asked"),
        ("clinic --epsilon 0.1", "SELECT * FROM visits", "Error"),
        ("clinic", COUNT, "Error"),
        ("nowhere --epsilon 0.1", COUNT, "nowhere"),
        ("--epsilon 0.1", COUNT, "curator"),
    ],
)
def test_what_is_refused_is_said_without_a_traceback_and_stops_the_notebook(shell, capsys, line, cell, said):
    done = run(shell, line, cell)
    assert not done.success
    printed = "".join(capsys.readouterr())
    assert said in printed
    assert "Traceback" not in printed


def test_the_magic_explains_its_arguments(shell):
    assert "--epsilon" in shell.find_cell_magic("ask").__doc__
