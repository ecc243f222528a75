"""Rows of one person are not taken for several people, and long text stays behind."""

from dataclasses import replace

import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.cardfile import dump_cards, parse_cards
from discreet.errors import CardError, NotDeclared

COUNT = 400


def visits(**card):
    columns = (
        dc.Column("mrn", dc.Kind.INTEGER, dc.Role.IDENTIFIER),
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI, bounds=(0, 9)),
        dc.Column("ill", dc.Kind.TEXT, dc.Role.SENSITIVE, categories=("no", "yes")),
    )
    rows = {"mrn": [n // 2 for n in range(COUNT)], "age": [n % 4 for n in range(COUNT)], "ill": ["no", "yes"] * 200}
    return pa.table(rows), dc.Card("visits", columns, **card)


def release_of(table, method, models=(), **options):
    if isinstance(method, dc.Cart | dc.Synthesize):
        return dc.synthesize(table, method, **options)
    return dc.publish(table, method, models, **options)


METHODS = {
    "generalize": (dc.Generalize(), [dc.KAnonymity(5)]),
    "noise": (dc.Noise(0.1, ["age"]), []),
    "swap": (dc.RankSwap(5, ["age"]), [dc.KAnonymity(2)]),
    "cart": (dc.Cart(), []),
    "dp": (dc.Synthesize(epsilon=1, by="independent"), []),
}


@pytest.mark.parametrize("name", METHODS)
def test_identifiers_that_repeat_need_a_unit_to_be_published(name):
    rows, card = visits()
    method, models = METHODS[name]
    with pytest.raises(NotDeclared, match="mrn repeats") as refused:
        release_of(dc.read(rows, card), method, models)
    assert "rows_are_people = true" in str(refused.value)
    said = release_of(dc.read(rows, replace(card, rows_are_people=True)), method, models).statement
    assert "the card declares it (rows_are_people)" in str(said)
    release_of(dc.read(rows.slice(0, COUNT), replace(card, columns=card.columns[1:])), method, models)


def test_identifiers_that_repeat_need_a_unit_to_be_checked_or_registered(tmp_path):
    rows, card = visits()
    with pytest.raises(NotDeclared, match="mrn repeats"):
        dc.check(dc.read(rows, card), dc.KAnonymity(2))
    with pytest.raises(NotDeclared, match="mrn repeats"):
        dc.Curator.create(tmp_path / "w", {"visits": (rows, card)}, dc.Pure(1))
    assert not (tmp_path / "w").exists()
    told = replace(card, rows_are_people=True)
    verdicts = dc.check(dc.read(rows, told), dc.KAnonymity(2))
    assert verdicts.holds
    for shown in (str(verdicts), verdicts._repr_html_(), str(verdicts.to_dict())):
        assert "the card declares it (rows_are_people)" in shown
    with dc.Curator.create(tmp_path / "w", {"visits": (rows, told)}, dc.Pure(1)) as curator:
        answer = curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    assert "rows_are_people" in str(answer.statement)
    with dc.Curator.create(
        tmp_path / "v", {"visits": (rows, replace(card, unit="mrn", rows_per_unit=2))}, dc.Pure(1)
    ) as curator:
        assert curator.workspace.tables


def test_what_is_missing_is_shared_with_nobody():
    rows, card = visits()
    few = rows.slice(0, 3).set_column(0, "mrn", pa.array([1, None, None]))
    assert dc.check(dc.read(few, card), dc.KAnonymity(1)).holds


def test_a_card_says_it_and_is_read_again():
    _, card = visits(rows_are_people=True)
    assert parse_cards(dump_cards([card])) == {"visits": card}
    with pytest.raises(CardError, match="a unit identifies the person of each row"):
        visits(rows_are_people=True, unit="mrn")


def letters(**note):
    columns = (
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI, bounds=(0, 9)),
        dc.Column("ward", dc.Kind.TEXT, dc.Role.QUASI),
        dc.Column("note", dc.Kind.TEXT, dc.Role.SENSITIVE, **note),
        dc.Column("why", dc.Kind.TEXT),
    )
    rows = {
        "age": [n % 4 for n in range(COUNT)],
        "ward": ["surgery, second floor to the left", "heart"] * 200,
        "note": [f"spoke to the neighbour of number {n // 2}" for n in range(COUNT)],
        "why": ["came on foot", "was brought by somebody"] * 200,
    }
    return dc.read(pa.table(rows), dc.Card("letters", columns))


MAKERS = {
    "generalize": (dc.Generalize(), [dc.KAnonymity(5)]),
    "noise": (dc.Noise(0.1, ["age"]), []),
    "cart": (dc.Cart(), []),
    "kept": (dc.Cart(columns=["age"]), []),
}


@pytest.mark.parametrize("to_folder", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_long_text_stays_behind_until_the_card_says_that_it_may_leave(name, to_folder, tmp_path):
    method, models = MAKERS[name]
    given = {"to": tmp_path / "out"} if to_folder else {}
    release = release_of(letters(), method, models, **given)
    payload = dc.Release.load(tmp_path / "out").payload if to_folder else release.payload
    assert payload.column_names == ["age", "ward", "why"]
    assert "Withheld, since long text with many values may name people: note." in str(release.statement)
    if name != "cart":  # which gives out no text of fewer than five people in any case
        told = release_of(letters(may_leave=True), method, models)
        assert "note" in told.payload.column_names
        assert "Withheld" not in str(told.statement)


def test_long_text_that_is_asked_for_is_refused():
    with pytest.raises(NotDeclared, match="note of letters holds long text"):
        release_of(letters(), dc.Generalize(), [dc.KAnonymity(5), dc.LDiversity(2, "note")])
    with pytest.raises(NotDeclared, match="may_leave = true"):
        release_of(letters(), dc.Cart(columns=["note"]))


def test_long_text_stays_behind_when_secrets_are_hidden():
    asked = {"itemsets": ["age=1, ward=heart"], "support": 20}
    release = dc.hide(letters(), **asked)
    assert release.payload.column_names == ["age", "ward", "why"]
    assert "Withheld, since long text with many values may name people: note." in str(release.statement)
    assert "note" in dc.hide(letters(may_leave=True), **asked).payload.column_names
    with pytest.raises(NotDeclared, match="note of letters holds long text"):
        dc.hide(letters(), **asked, columns=["age", "ward", "note"])
    pairs = letters().fetch().select(["age", "note"])
    with pytest.raises(NotDeclared, match="note of letters holds long text"):
        dc.hide(dc.read(pairs, replace(letters().select("age", "note").card, unit="age")), itemsets=["x"], support=2)


def test_a_table_by_long_text_is_refused():
    for role in (dc.Role.QUASI, dc.Role.SENSITIVE):
        columns = [replace(one, role=role) if one.name == "note" else one for one in letters().card.columns]
        table = replace(letters(), card=replace(letters().card, columns=columns))
        for by in (["note"], "age × note"):
            with pytest.raises(NotDeclared, match="note of letters holds long text"):
                dc.tabulate(table, by=by, rules="min=3")
    assert dc.tabulate(letters(), by=["age", "ward"], rules="min=3").payload.num_rows


def test_few_or_short_texts_leave():
    release = release_of(letters(categories=tuple(set(letters().fetch()["note"].to_pylist()))), *MAKERS["noise"])
    assert "note" in release.payload.column_names
    short = letters().fetch().set_column(2, "note", pa.array([f"note {n}" for n in range(COUNT)]))
    assert "note" in release_of(dc.read(short, letters().card), *MAKERS["noise"]).payload.column_names


def test_only_text_may_leave():
    for wrong in (
        dc.Column("a", dc.Kind.INTEGER, may_leave=True),
        dc.Column("a", "text", "identifier", may_leave=True),
    ):
        with pytest.raises(CardError, match="may_leave"):
            dc.Card("t", (wrong,))
    card = letters(may_leave=True).card
    assert parse_cards(dump_cards([card])) == {"letters": card}
