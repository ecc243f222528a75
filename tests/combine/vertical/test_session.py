from fractions import Fraction

import numpy as np
import pytest

from discreet.core import document
from discreet.errors import Aborted, BadInput, DataError, NoPromise, NotDeclared, NotFound
from discreet.verbs.combine import bus
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.vertical import session

PARTIES = ("north", "south", "west")
COVARIANCE = "covariance key=id of=south/visits:0:50,north/age:0:120,north/pay:-1000:100000:2"
REGRESSION = "regression key=id y=south/visits:0:50 x=north/age:0:120,north/pay:-1000:100000:2,south/dose:0:10:1"


def people(seed=1):
    """Three holders' rows: different people in different orders, and the columns of those all have, in one table."""
    draws = np.random.default_rng(seed)
    ids = {"north": np.arange(300), "south": np.arange(80, 380), "west": np.arange(40, 260)}
    age, pay = draws.integers(0, 121, 400), draws.uniform(-1000, 100_000, 400).round(2)
    dose, height = draws.uniform(0, 10, 400).round(1), draws.normal(1.7, 0.1, 400).round(3)
    visits = np.clip((age / 4 + pay / 5000 - dose + draws.normal(0, 3, 400)).round(), 0, 50).astype(int)
    whole = {"age": age, "pay": pay, "dose": dose, "height": height, "visits": visits}
    has = {"north": ("age", "pay"), "south": ("visits", "dose"), "west": ("height",)}
    held = {}
    for name, known in ids.items():
        turned = draws.permutation(known)
        names = [f" Id {number}" if name == "north" else f"ID  {number}" for number in turned]
        held[name] = {"id": names, **{column: whole[column][turned] for column in has[name]}}
    return held, ids, whole


def played(function, parties=PARTIES, held=None, **more):
    held = people()[0] if held is None else held
    terms = Terms(parties, protocol="join", function=function, **more)
    plays = {}
    for name in parties:
        data = Data.from_value(held.get(name, {"nothing": []}))
        plays[name] = session.play(terms, name, NumericCrypto(name.encode().ljust(32), b"session"), data)
    return bus.play(plays)


def result(function, parties=PARTIES, **more):
    """What all parties got, which must be the same."""
    done = played(function, parties, **more)
    assert not done.aborted
    first, *others = (done.results[name] for name in parties)
    assert all(other == first for other in others)
    assert document.loads(document.dumps(first.value)) == first.value
    return first


def joined(*holders):
    _, ids, whole = people()
    rows = sorted(set.intersection(*(set(ids[name].tolist()) for name in holders)))
    return len(rows), {name: column[rows] for name, column in whole.items()}


@pytest.mark.parametrize("parties", [PARTIES, ("west", "south", "north")], ids=" ".join)
def test_covariance_is_that_of_the_joined_table(parties):
    found = result(COVARIANCE, parties)
    count, table = joined("north", "south")
    columns = [table["visits"], table["age"], table["pay"]]
    assert found.value["number of people"] == count == 220
    assert found.value["columns"] == ["column", "mean", "south/visits", "north/age", "north/pay"]
    names, means, *matrix = zip(*found.value["rows"], strict=True)
    assert names == ("south/visits", "north/age", "north/pay")
    assert np.allclose(means, np.mean(columns, axis=1), rtol=1e-12)
    assert np.allclose(matrix, np.cov(columns), rtol=1e-11)
    assert set(found.parties) == {"north", "south"}


@pytest.mark.parametrize("parties", [PARTIES, (*PARTIES, "east")], ids=" ".join)
def test_correlation_between_three_holders(parties):
    found = result(
        "correlation key=id of=north/age:0:120,west/height:0:3:3,south/visits:0:50,south/dose:0:10:1", parties
    )
    count, table = joined("north", "south", "west")
    columns = [table[name] for name in ("age", "height", "visits", "dose")]
    _, means, deviations, *matrix = zip(*found.value["rows"], strict=True)
    assert found.value["number of people"] == count
    assert np.allclose(means, np.mean(columns, axis=1), rtol=1e-12)
    assert np.allclose(deviations, np.std(columns, axis=1, ddof=1), rtol=1e-12)
    assert np.allclose(matrix, np.corrcoef(columns), rtol=1e-11)


def test_regression_is_that_of_the_joined_table():
    found = result(REGRESSION).value
    count, table = joined("north", "south")
    given = np.column_stack([np.ones(count), table["age"], table["pay"], table["dose"]])
    slopes, [left], *_ = np.linalg.lstsq(given, table["visits"], rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(given.T @ given)) * left / (count - 4))
    names, estimates, deviations = zip(*found["rows"], strict=True)
    assert names == ("constant", "north/age", "north/pay", "south/dose")
    assert np.allclose(estimates, slopes, rtol=1e-8)
    assert np.allclose(deviations, errors, rtol=1e-7)
    assert found["number of rows"] == count
    assert found["r squared"] == pytest.approx(1 - left / np.var(table["visits"]) / count, rel=1e-9)


def test_wide_numbers_are_exact_too():
    large = {
        "north": {"id": range(40), "a": [10**12 + 7 * i for i in range(40)]},
        "south": {"id": range(40), "b": range(40)},
    }
    found = result("covariance key=id of=north/a:0:2000000000000,south/b:0:40", held=large).value
    assert [row[2:] for row in found["rows"]] == [[49 * 410 / 3, 7 * 410 / 3], [7 * 410 / 3, 410 / 3]]


def test_a_column_that_is_the_same_for_all_has_no_correlation():
    held = {"north": {"id": range(40), "a": [5] * 40}, "south": {"id": range(40), "b": range(40)}}
    found = result("correlation key=id of=north/a:0:9,south/b:0:40", held=held).value
    assert [row[3:] for row in found["rows"]] == [[None, None], [None, 1]]


def test_columns_that_depend_on_each_other_end_it_for_all():
    held = {"north": {"id": range(40), "a": range(40)}, "south": {"id": range(40), "b": range(40), "y": range(40)}}
    done = played("regression key=id y=south/y:0:40 x=north/a:0:40,south/b:0:40", held=held)
    assert not done.results
    assert all("follows from the others" in str(error) for error in done.aborted.values())


def test_too_few_people_end_it_for_all_before_any_product():
    held, *_ = people()
    held["south"] = {name: column[:40] for name, column in held["south"].items()}
    done = played(COVARIANCE + " least=200", held=held)
    assert set(done.aborted) == set(PARTIES)
    assert {message.kind for message in done.messages} == {"keys", "keys again", "people", "count"}


def test_overlap_tells_a_number_and_nothing_else():
    found = result("overlap key=id between=north,south")
    assert found.value == {"number of people": 220}
    assert "none learns whom" in found.revealed[-1]
    assert result("overlap key=id between=north,south", ("north", "south")).value == {"number of people": 220}


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda held: held["id"].__setitem__(0, held["id"][1].upper()), BadInput),
        (lambda held: held["id"].__setitem__(0, None), BadInput),
        (lambda held: held["age"].__setitem__(0, 121), DataError),
        (lambda held: held.__setitem__("age", [None, *held["age"][1:]]), DataError),
        (lambda held: held.pop("age"), NotFound),
    ],
    ids=["twice", "no key", "outside", "missing", "no column"],
)
def test_wrong_data_are_an_error_before_anything_is_sent(spoil, error):
    held = people()[0]["north"]
    spoil(held)
    terms = Terms(PARTIES, protocol="join", function=COVARIANCE)
    with pytest.raises(error):
        next(session.play(terms, "north", NumericCrypto(bytes(32), b"session"), Data.from_value(held)))


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"parties": ("north", "south")}, NoPromise, "third party"),
        ({"epsilon": Fraction(1)}, NoPromise, "Noise"),
        ({"threshold": 2}, BadInput, "to the end"),
        ({"adder": "north"}, BadInput, "adds up"),
        ({"function": "mean key=id of=north/a:0:1"}, BadInput, "across columns"),
        ({"function": "covariance key=id of=north/a:0:1"}, BadInput, "two parties"),
        ({"function": "covariance key=id of=north/a:0:1,east/b:0:1"}, BadInput, "not a column of"),
        ({"function": "covariance key=id of=north/a:0:1,north/a:0:2,south/b:0:1"}, BadInput, "twice"),
        ({"function": "covariance key=a of=north/a:0:1,south/b:0:1"}, BadInput, "key cannot"),
        ({"function": "covariance of=north/a:0:1,south/b:0:1"}, BadInput, "needs key"),
        ({"function": "covariance key=id of=north/a,south/b:0:1"}, NotDeclared, "bounds"),
        ({"function": COVARIANCE + " least=4"}, BadInput, "least="),
        ({"function": COVARIANCE + " most=1000000000"}, BadInput, "most="),
        ({"function": "overlap key=id between=north,east"}, BadInput, "not a party"),
        ({"function": "overlap key=id between=north"}, BadInput, "two parties"),
        ({"function": "regression key=id y=north/a:0:1,north/c:0:1 x=south/b:0:1"}, BadInput, "one column"),
        ({"function": "overlap key=id between=north,south,west"}, NoPromise, "two holders"),
    ],
)
def test_terms_that_cannot_be_kept_are_refused(change, error, says):
    terms = Terms(**{"parties": PARTIES, "protocol": "join", "function": COVARIANCE, **change})
    with pytest.raises(error, match=says):
        session.statement(terms)
    with pytest.raises(error, match=says):
        next(session.play(terms, "north", NumericCrypto(bytes(32), b"session"), Data.from_value(people()[0]["north"])))


def test_too_many_keys_of_another_are_counted():
    """A holder who agreed to fewer keys does not answer for more of them."""
    terms = Terms(PARTIES, protocol="join", function=COVARIANCE + " most=250")
    held = {name: {key: values[:250] for key, values in columns.items()} for name, columns in people()[0].items()}
    play = session.play(terms, "south", NumericCrypto(bytes(32), b"session"), Data.from_value(held["south"]))
    next(play)
    with pytest.raises(Aborted) as ended:
        play.send({"points": bytes(32 * 251)})
    assert ended.value.culprits == ("north",)


def test_what_is_promised():
    said = session.statement(Terms(PARTIES, protocol="join", function=REGRESSION))
    assert said.secrecy.withstands == (("north", "south"), ("west",))
    assert any("west deals" in sentence for sentence in said.assumes)
    assert any("semi-honest" in sentence for sentence in said.assumes)
    for part in (
        "which of their people",
        "guessed keys, up to 100,000",
        "makes up its columns",
        "covariance of every two",
    ):
        assert any(part in sentence for sentence in said.caveats), part
    three = session.statement(Terms(PARTIES, protocol="join", function=COVARIANCE + ",west/height:0:3:3"))
    assert three.secrecy.withstands == (("north",), ("south",), ("west",))
    assert any("No two parties" in sentence for sentence in three.assumes)
    size = session.statement(Terms(PARTIES, protocol="join", function="overlap key=id between=north,south"))
    assert set(size.secrecy.withstands) == {("south", "west"), ("north", "west")}


def test_the_same_again():
    assert played(COVARIANCE).messages == played(COVARIANCE).messages


@pytest.mark.parametrize("leaver", PARTIES)
def test_whoever_leaves_is_named_and_no_result_is_wrong(leaver):
    """At each of a party's steps: those who stay end with a result, all the same, or without, and name somebody."""
    steps = []
    terms = Terms(PARTIES, protocol="join", function="covariance key=id of=north/a:0:40,south/b:0:40")
    held = {
        "north": {"id": range(25), "a": range(25)},
        "south": {"id": range(5, 30), "b": range(25)},
        "west": {"id": []},
    }

    def run(at):
        count = iter(range(10**6))
        plays = {
            name: session.play(
                terms, name, NumericCrypto(name.encode().ljust(32), b"session"), Data.from_value(held[name])
            )
            for name in PARTIES
        }
        return bus.play(plays, leaves=lambda name, effect: name == leaver and (steps.append(1) or next(count) == at))

    right = run(-1).results["north"]
    for at in range(len(steps)):
        done = run(at)
        assert leaver not in done.results
        assert all(found == right for found in done.results.values())
        assert all(error.culprits for error in done.aborted.values())
        assert len(done.results) + len(done.aborted) == len(PARTIES) - 1
