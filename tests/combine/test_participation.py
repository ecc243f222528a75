"""Parties between hosts, from their input to a release; on loopback, each with a loop of its own."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.combine.parties import PAY, prepared, together
from tests.loops import run as in_loop

from discreet.budget.ledger import create_ledger
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.errors import Aborted, BadInput, BudgetExceeded, Damaged, DataError, NotDeclared, NotFound, Refused
from discreet.verbs.combine import session, summary
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.participation import LedgerCharge, draw_view, find_participant, take_part
from discreet.verbs.combine.session import agree_terms
from discreet.verbs.combine.transcript import TranscriptEntry
from discreet.verbs.combine.transcript_check import TranscriptProblem


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A session that went well."""
    file = prepared(tmp_path_factory.mktemp("ended"), protocol="ring")
    return file, together(file)


def test_everybody_gets_the_same_result_as_a_release(ended):
    file, found = ended
    for name, release in found.items():
        assert release.payload == 100_500
        kept = Release.load(file.parent / f"pay.{name}" / "release")
        assert kept.payload == 100_500
        assert kept.statement.secrecy.parties == tuple(PAY)
        assert kept.recipe.parameters["included"] == list(PAY)
        assert kept.title == "pay: sum"


def test_what_a_party_saw_is_its_own_alone(ended):
    file, _ = ended
    picture = draw_view(file, "south")
    assert {line.kind for line in picture.lines} >= {"hello", "sum 1/so far 1", "sum 1/total 1", "settled"}
    assert all("south" in (line.of, *line.to) for line in picture.lines)
    assert [line.number for line in picture.lines] == list(range(1, len(picture.lines) + 1))
    assert "hello" not in picture.svg
    assert picture.caption == "The result is 100,500."
    assert draw_view(file.with_suffix(""), "south") == picture
    for name in ("secret", "seen.jsonl", "journal"):
        assert (file.parent / "pay.south" / name).stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="east, north, south ran pay here"):
        draw_view(file)
    with pytest.raises(NotFound, match="no record of what west saw"):
        draw_view(file, "west")


def test_a_session_that_is_over_tells_its_result_again_and_takes_no_other_input(ended):
    file, found = ended
    assert take_part(file, PAY["north"], name="north").statement == found["north"].statement
    with pytest.raises(BadInput, match="another input"):
        take_part(file, 5, name="north")


def test_a_party_that_lost_its_folder_does_not_begin_again(tmp_path):
    file = prepared(tmp_path)
    together(file)
    shutil.rmtree(tmp_path / "pay.north")
    with pytest.raises(Damaged, match="north started this session before") as refusal:
        take_part(file, PAY["north"], name="north")
    assert "agree on a new session" in refusal.value.hint
    assert (tmp_path / "north.begun").stat().st_mode & 0o077 == 0


def test_whose_turn_it_is_must_be_clear(tmp_path):
    file = prepared(tmp_path)
    with pytest.raises(BadInput, match="the keys of north, east, south"):
        find_participant(file)
    with pytest.raises(BadInput, match="west is not a party of pay"):
        find_participant(file, "west")
    (tmp_path / "south").mkdir()
    (tmp_path / "south.key").rename(tmp_path / "south" / "south.key")
    assert find_participant(file, keys=tmp_path / "south").name == "south"
    (tmp_path / "other").mkdir()
    Identity.new("south").save(tmp_path / "other")
    with pytest.raises(BadInput, match="not the key that the manifest has"):
        find_participant(file, keys=tmp_path / "other")
    with pytest.raises(BadInput, match="is no key of a party"):
        find_participant(file, keys=tmp_path / "nowhere")


def test_a_bad_input_is_told_before_anybody_is_waited_for(tmp_path):
    file = prepared(tmp_path)
    with pytest.raises(DataError, match="outside the declared bounds"):
        take_part(file, 200_000, name="north")
    with pytest.raises(DataError, match="more than the 0"):
        take_part(file, 20_000.5, name="north")
    with pytest.raises(NotFound, match="no file"):
        take_part(file, tmp_path / "missing.txt", name="north")
    assert not (tmp_path / "pay.north").exists()


def test_noise_is_charged_once_before_the_first_message_or_nobody_takes_part(tmp_path):
    file = prepared(tmp_path, epsilon="1", honest=2)
    with pytest.raises(BadInput, match="no ledger is given"):
        take_part(file, 1, name="north")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("pay", Pure(3))

        def charge(loss, key):
            return ledger.charge("pay", loss, key=key, what="combine")

        found = together(file, charge=charge)
        assert len({release.payload for release in found.values()}) == 1
        assert found["north"].receipt.loss == Pure(1)
        assert ledger.account("pay").left == Pure(0)
        take_part(file, PAY["north"], name="north", charge=charge)
        assert ledger.account("pay").left == Pure(0)


def test_who_cannot_pay_is_refused_before_anybody_hears_of_it(tmp_path):
    file = prepared(tmp_path, epsilon="1")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("pay", Pure(1))
        ledger.charge("pay", Pure(1), key="before", what="something else")
        with pytest.raises(BudgetExceeded, match="Nothing was charged"):
            take_part(file, 1, name="north", charge=LedgerCharge(ledger, "pay", "combine"))
    assert not (tmp_path / "pay.north").exists()


def test_a_session_that_ends_says_what_it_has_cost(tmp_path):
    file = prepared(tmp_path, epsilon="1")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("pay", Pure(9))
        charge = LedgerCharge(ledger, "pay", "combine")

        def refused(loss, key):
            raise BudgetExceeded("Not today.", asked=loss, left=loss, account="pay")

        told = []
        with ThreadPoolExecutor(3) as threads:
            begun = {
                name: threads.submit(
                    take_part,
                    file,
                    value,
                    name=name,
                    charge=refused if name == "east" else charge,
                    progress=told.append,
                )
                for name, value in PAY.items()
            }
            ended = {name: one.exception() for name, one in begun.items()}
        assert told
        assert not any("result" in line for line in told)
        assert isinstance(ended["east"], BudgetExceeded)
        paid = [name for name in ("north", "south") if "The charge stands: ε = 1 charged to pay" in ended[name].message]
        assert ledger.account("pay").spent == Pure(len(paid))
        for name in ("north", "south"):
            assert name in paid or "Nothing was charged." in ended[name].message
            with pytest.raises(Aborted, match="charged"):
                take_part(file, PAY[name], name=name, charge=charge)


def test_a_session_that_ended_before_any_data_was_sent_is_tried_again_and_charged_once(tmp_path):
    """One party cannot pay, so it sends nothing, and none of the others goes on without its key."""
    file = prepared(tmp_path, epsilon="1")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        for name in PAY:
            ledger.open_account(name, Pure(1))
        paid = {name: LedgerCharge(ledger, name, "combine") for name in PAY}

        def refused(loss, key):
            raise BudgetExceeded("Not today.", asked=loss, left=loss, account="pay")

        def attempt(number, charges):
            with ThreadPoolExecutor(len(PAY)) as threads:
                begun = {
                    name: threads.submit(take_part, file, value, name=name, attempt=number, charge=charges[name])
                    for name, value in PAY.items()
                }
                return {name: one.exception() or one.result() for name, one in begun.items()}

        first = attempt(None, paid | {"east": refused})
        for name in ("north", "south"):
            assert "without a second charge: discreet combine run … --attempt 2" in first[name].hint
        secrets = {(tmp_path / f"pay.{name}" / "secret").read_bytes() for name in PAY}
        found = attempt(2, paid)
        assert len({release.payload for release in found.values()}) == 1
        assert {name: ledger.account(name).spent for name in PAY} == dict.fromkeys(PAY, Pure(1))
        assert found == attempt(None, paid), "it goes on where it is"
        secrets |= {(tmp_path / f"pay.{name}" / "secret").read_bytes() for name in PAY}
        assert len(secrets) == 2 * len(PAY), "nothing is drawn twice from one secret"
    with pytest.raises(BadInput, match="north is at attempt 2 of at most 20"):
        find_participant(file, "north", attempt=1)
    with pytest.raises(BadInput, match="already sent messages that depend on its data"):
        take_part(file, PAY["north"], name="north", attempt=3, charge=_free)
    shutil.rmtree(tmp_path / "attempt-1.pay.north")
    with pytest.raises(Damaged, match="north started attempt 1 of this session, but its files are gone"):
        take_part(file, PAY["north"], name="north", charge=_free)


def test_parties_at_different_attempts_do_not_meet_and_are_told(tmp_path):
    file = prepared(tmp_path, start_within=2)
    told = []
    with ThreadPoolExecutor(2) as threads:
        north = threads.submit(take_part, file, PAY["north"], name="north", progress=told.append)
        east = threads.submit(take_part, file, PAY["east"], name="east", attempt=2, progress=told.append)
        ended = north.exception(), east.exception()
    assert all(isinstance(error, Aborted) for error in ended)
    assert any("east is at attempt 2 of this session, and north at 1: all parties" in line for line in told)
    assert any("north is at attempt 1 of this session, and east at 2: all parties" in line for line in told)
    assert {name: one.payload for name, one in together(file, attempt=2).items()} == dict.fromkeys(PAY, 100_500)


def test_rows_of_a_file_are_one_persons_each_where_noise_hides_one(tmp_path):
    file = prepared(tmp_path, function="count", epsilon="1")
    (tmp_path / "visits.csv").write_text("person,age\n1,3\n2,4\n2,5\n")
    with pytest.raises(NotDeclared, match=r"the unit of the rows of visits\.csv is unknown"):
        take_part(file, tmp_path / "visits.csv", name="north", charge=_free)
    with pytest.raises(Refused, match="several rows"):
        take_part(file, tmp_path / "visits.csv", name="north", unit_column="person", charge=_free)
    assert not (tmp_path / "pay.north").exists()


def _free(loss, key):
    """A party that charges nothing: its own affair."""


def test_as_long_as_nobody_came_the_input_may_be_changed(tmp_path):
    file = prepared(tmp_path)
    file.write_text(file.read_text().replace("start_within = 20", "start_within = 1"))
    for value in (13_000, 31_000):
        with pytest.raises(Aborted, match="No connection from"):
            take_part(file, value, name="north")


def test_a_loop_that_runs_already_does_no_harm(tmp_path):
    file = prepared(tmp_path)
    file.write_text(file.read_text().replace("start_within = 20", "start_within = 1"))

    async def notebook():
        with pytest.raises(Aborted, match="No connection from"):
            take_part(file, 1, name="north")

    in_loop(notebook())


def test_of_those_who_left_the_promise_says_what_follows():
    terms = agree_terms("north,east,south,west", "masks", "sum", bounds="0:10", threshold=3)
    assert "any 2 of the 3 in the result" in summary.brief(terms, ("north", "east", "south"))[0]
    assert "left" not in summary.brief(terms, terms.parties)[0]


def test_a_dealer_who_brings_nothing_did_not_leave():
    wanted = "covariance key=id of=north/age:0:120,south/visits:0:50"
    terms = agree_terms("north,south,west", "join", wanted)
    assert session.brings_nothing(terms, "west")
    assert "left" not in summary.brief(terms, ("north", "south"))[0]
    assert "left" not in summary.brief(terms, ())[0]
    noisy = agree_terms("north,east,south", "masks", "count", epsilon="1", honest=3)
    assert summary.expected_error(noisy) == "The result is off by up to about 3 in 95 of 100 sessions."


@pytest.mark.parametrize(("bounds", "off"), [("0:60", "0.36"), ("0:600", "3.6")])
def test_the_error_of_a_noisy_mean_is_in_its_own_unit(bounds, off):
    """Half of ε = 1 for each figure: 3.0 scales of 2 rows, and of 2 widths; (2 + 2) * 3.0 * 60 / 2,000 = 0.36."""
    terms = agree_terms("north,east,south", "masks", "mean", bounds=bounds, epsilon="1", honest=3)
    assert f"With 1,000 rows the mean is off by up to about {off} in" in summary.expected_error(terms)


def test_who_deals_brings_nothing_and_all_others_something(tmp_path):
    parties = dict.fromkeys(("north", "south", "west"), 1)
    file = prepared(tmp_path, parties, protocol="join", function="covariance key=id of=north/a:0:9,south/b:0:9")
    assert session.brings_nothing(find_participant(file, "west").manifest.terms, "west")
    with pytest.raises(BadInput, match="north must provide data"):
        take_part(file, name="north")


def test_what_others_wrote_cannot_reach_the_terminal():
    line = TranscriptEntry(1, "north", ("south",), "kind\x1b[2J", "what\x1b]0;", short="\x07")
    assert str(line).isprintable()
    assert TranscriptProblem("north", "kept a \x1b[2J").text.isprintable()


def test_who_cannot_pay_ends_the_session_for_all(tmp_path):
    file = prepared(tmp_path, epsilon="1")
    with create_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_account("pay", Pure(2))

        def charge(loss, key):
            return ledger.charge("pay", loss, key=key, what="combine")

        found = together(file, charge=charge)
    assert sum(isinstance(error, BudgetExceeded) for error in found.values()) == 1
    assert sum(isinstance(error, Aborted) for error in found.values()) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bounds": "100"}, "not valid bounds"),
        ({"bounds": "9:1"}, "is above the upper bound"),
        ({"protocol": "magic"}, "no protocol 'magic'"),
        ({"protocol": "jion"}, "did you mean 'join'"),
        ({"function": "magic"}, "'magic'"),
        ({"epsilon": "0"}, "epsilon must be above 0"),
        ({"delta": "1e-6"}, "without epsilon there is none"),
        ({"honest": 2}, "without epsilon there is none"),
        ({"parties": "a,b,c,d", "protocol": "paths count=3"}, "only 2 different rings"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"parties": "North,south"}, "not a party's name"),
    ],
)
def test_terms_that_cannot_be_are_refused_when_they_are_written(wrong, said):
    words = {"parties": "north,south", "protocol": "masks", "function": "sum", "bounds": "0:10"} | wrong
    with pytest.raises(BadInput, match=said):
        agree_terms(words.pop("parties"), words.pop("protocol"), words.pop("function"), **words)
