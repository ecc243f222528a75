"""Releases without a ledger: every step of the pipeline in order, what a draft says, and where files may go."""

import datetime as dt
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releases.registers import listed

import discreet as dc
from discreet.core.holder_copy import HolderCopy, belongs, read_holder_copy
from discreet.core.loss import Pure
from discreet.core.release import Receipt, Release, Rows
from discreet.core.statement import Claim, Evidence, Statement
from discreet.errors import BadInput, NoPromise, NotFound, Refused
from discreet.noise.entropy import SYSTEM
from discreet.releases import pipeline
from discreet.releases.method import Answering, Bench, Made, Method
from discreet.releases.pipeline import answered, draft, release, require_places
from discreet.releases.uncharged import NO_LEDGER, Uncharged

CARD = dc.Card(
    "people",
    (
        dc.Column("id", "integer", "identifier"),
        dc.Column("age", "integer", "quasi", bounds=(0, 100)),
    ),
    unit="id",
    rows_per_unit=1,
)
ROWS = pa.table({"id": [1, 2, 3, 3], "age": [10, 20, 30, 31]})
K2 = Claim("k-anonymity", "2-anonymous on age", {"k": 2})
RECEIPT = Receipt("people", "monday", Pure(1), 3, "00", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


@pytest.fixture
def people(tmp_path):
    return replace(dc.read(ROWS, CARD), registers=(str(tmp_path / "people.register.db"),))


@dataclass(frozen=True)
class Steps(Method[Any]):
    """Notes every step in a list."""

    name = "steps"
    verb = "publish"
    made: Made[Any] = field(default_factory=lambda: Made({"n": 1}))
    models: tuple[Claim, ...] = ()
    holding: tuple[Claim, ...] = ()
    loss: Any = None
    seen: list[Any] = field(default_factory=list)

    @property
    def parameters(self):
        return {"what": "all"}

    def promise(self, card):
        self.seen.append("promise")
        return Statement("person", self.loss, self.models, assumes=("promised",), caveats=("foreseen",))

    def make(self, table, bench):
        self.seen.append("make")
        bench.progress(0.0, "begun")
        bench.progress(0.5, "half")
        bench.progress(1.0, "made")
        return self.made(table, bench) if callable(self.made) else self.made

    def recheck(self, made, written, promised):
        self.seen.append(("recheck", written))
        return super().recheck(made, written, promised)

    def holds(self, claim, payload):
        return claim in self.holding


def test_the_steps_are_taken_in_order_and_told(people, tmp_path):
    method, told = Steps(models=(K2,), holding=(K2,)), []

    def progress(done, what):
        told.append((round(done, 3), what))
        if what in ("begun", "checking", "saving"):
            assert not Path(people.registers[0]).exists(), "registered last"

    made = release(method, people, to=tmp_path / "r", progress=progress)
    assert method.seen == ["promise", "make", ("recheck", {"n": 1})]
    parts = [(0.0, "begun"), (0.4, "half"), (0.8, "made"), (0.85, "checking")]
    parts += [(0.9, "checking together with earlier releases"), (0.95, "saving"), (1.0, "done")]
    assert told == parts
    assert made.statement.models == (K2,)
    (line,) = listed(people.registers[0])
    assert (line.method, line.rows, line.release) == ("publish steps", 4, str(tmp_path / "r"))


def test_a_part_of_the_work_reports_its_share():
    told = []
    part = pipeline._part(lambda done, what: told.append(done), 0.25, 0.75)
    for done in (0.0, 0.5, 1.0):
        part(done, "")
    assert told == [0.25, 0.5, 0.75]


def test_a_claim_that_does_not_hold_stops_the_release_before_it_is_registered(people, tmp_path):
    with pytest.raises(NoPromise, match=r"What was made is not 2-anonymous on age\. Nothing was released"):
        release(Steps(models=(K2,)), people, to=tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_a_table_is_written_and_what_was_written_is_checked(people, tmp_path):
    method = Steps(made=lambda table, bench: Made(table.select("id", "age"), {"rows": 3}))
    made = release(method, people, to=tmp_path / "r")
    (written,) = [step[1] for step in method.seen if step[0] == "recheck"]
    assert isinstance(written, Rows)
    assert made.payload == Rows(tmp_path / "r" / "payload.parquet")
    assert pq.read_table(made.payload.path).sort_by("age").equals(ROWS)
    assert listed(people.registers[0])[0].rows == 3, "as the recipe says"
    in_memory = release(method, people)
    assert in_memory.payload.sort_by("age").equals(ROWS)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_table_is_written_in_groups_of_rows(people, tmp_path, monkeypatch):
    """As many batches together as it takes to reach the size of a group, whatever is left at the end."""
    batches = [pa.record_batch({"age": list(range(n))}) for n in (2, 1, 3, 4, 1)]

    class Streamed:
        def stream(self):
            return pa.RecordBatchReader.from_batches(batches[0].schema, batches)

    monkeypatch.setattr("discreet.core.release._ROW_GROUP", 3)
    written = pipeline._written(Streamed(), tmp_path, "rows.parquet")
    meta = pq.read_metadata(written.path)
    assert [meta.row_group(n).num_rows for n in range(meta.num_row_groups)] == [3, 3, 4, 1]
    assert pq.read_table(written.path)["age"].to_pylist() == [one for b in batches for one in b["age"].to_pylist()]


def copy_of(title=""):
    return HolderCopy("links", pa.table({"row": [0, 1]}), {"seen": "all"}, title=title)


def test_the_holders_copy_knows_its_release_and_its_title(people, tmp_path):
    kept = tmp_path / "r.holder.parquet"
    method = Steps(made=Made(ROWS.select(["age"]), holder=copy_of(), title="People"))
    made = release(method, people, to=tmp_path / "r", holder=kept)
    assert made.holder.title == "People"
    assert belongs(read_holder_copy(kept), tmp_path / "r")
    assert made.holder.release
    assert kept.stat().st_mode & 0o077 == 0
    own = release(replace(method, made=Made(ROWS, holder=copy_of("Links"), title="People")), people)
    assert own.holder.title == "Links"
    assert own.holder.release, "also in memory"
    plain = release(replace(method, made=Made({"n": 1}, holder=copy_of())), people)
    assert plain.holder.release == "", "what is no table has no fingerprint"
    assert release(Steps(), people).holder is None
    with pytest.raises(BadInput, match="has no holder's copy"):
        release(Steps(), people, to=tmp_path / "s", holder=tmp_path / "s.holder.parquet")
    assert not (tmp_path / "s").exists()


def test_the_page_of_a_copy_is_drawn_when_it_is_written_or_asked_for(people, tmp_path):
    drawn = []
    copy = replace(copy_of(), draw=lambda: drawn.append("page") or "all of it")
    kept = release(Steps(made=Made(ROWS, holder=copy)), people)
    assert drawn == []
    assert "all of it" in kept.holder.page()
    del drawn[:]
    release(Steps(made=Made(ROWS, holder=copy)), people, to=tmp_path / "r", holder=tmp_path / "h.parquet")
    assert drawn == ["page"], "once, while the rows are where they were written"


def test_of_no_table_nothing_is_registered_or_looked_up(tmp_path):
    made = release(Steps(), None, to=tmp_path / "r")
    assert made.recipe.versions.keys() == {"discreet", "python", "pyarrow"}
    assert made.recipe.from_data == ()
    assert made.notices == ()


def test_a_draft_says_what_was_promised_and_what_was_made(people):
    argued = Statement("person", None, (), evidence=Evidence.ARGUED, assumes=("a",), caveats=("b",))
    made = Made({"n": 1}, {"size": 2}, ("counted",), (K2,), ("c",), ("d",), title="T", seed=None, notices=("look",))
    said = draft(Steps(), people, argued, made, None)
    assert (said.statement.models, said.statement.evidence) == ((K2,), Evidence.CHECKED)
    assert (said.statement.assumes, said.statement.caveats) == (("a", "c"), ("b", "d"))
    assert said.recipe.parameters == {"what": "all", "size": 2}
    assert (said.recipe.method, said.recipe.steps) == ("steps", ("counted",))
    assert (said.title, said.notices, said.receipt, said.holder) == ("T", ("look",), None, None)
    assert said.recipe.versions["engine"] == people.engine.title
    assert draft(Steps(), people, argued, Made(1), None).statement.evidence is Evidence.ARGUED
    for evidence in (Evidence.PROVED, Evidence.CHECKED):
        assert draft(Steps(), people, replace(argued, evidence=evidence), made, None).statement.evidence is evidence


def test_no_loss_is_promised_on_what_was_read_off_the_data(people):
    private, plain = Statement("person", Pure(1)), Statement("person")
    age = replace(people.card["age"], from_data=("bounds",))
    people = replace(people, card=replace(people.card, columns=(people.card["id"], age)))
    read = people.card.from_data
    assert read
    with pytest.raises(NoPromise, match="taken from the data: bounds of age"):
        draft(Steps(), people, private, Made(1), RECEIPT)
    with pytest.raises(NoPromise, match=r"taken from the data: ages\."):
        draft(Steps(), people, private, Made(1, from_data=("ages",)), RECEIPT)
    assert draft(Steps(), people, plain, Made(1), None).recipe.from_data == ()
    assert draft(Steps(), people, plain, Made(1, from_data=("ages",)), None).recipe.from_data == ("ages",)
    assert draft(Steps(), None, private, Made(1), RECEIPT).recipe.from_data == ()


def test_an_answer_worked_out_elsewhere_claims_what_was_settled_there():
    statement = Statement("person", Pure(1), (K2,))
    answer = Answering("elsewhere", statement, Made({"n": 1}, steps=("summed",)), {"of": "all"})
    given = answered(answer, None, RECEIPT)
    assert (given.statement.models, given.receipt, given.payload) == ((K2,), RECEIPT, {"n": 1})
    assert (given.recipe.method, given.recipe.parameters) == ("elsewhere", {"of": "all"})
    assert answer.promise(None) is statement
    assert answer.make(None, Bench()) is answer.result
    assert release(answer, None).statement.models == (K2,), "which is not checked again"


@dataclass(frozen=True)
class Counting(Method[Any]):
    """Counts the rows, with a promise."""

    name = "counting"
    figure: Any = None

    @property
    def parameters(self):
        return {"of": "rows"}

    def promise(self, card):
        return Statement(card.unit or "row", Pure(card.rows_per_unit or 1), (K2,))

    def run(self, table, entropy):
        assert entropy is SYSTEM
        return pa.table({"n": [table.count() if self.figure is None else self.figure]})

    def steps(self, card):
        return (f"at most {card.rows_per_unit} rows",)

    def holds(self, claim, payload):
        return payload["n"][0].as_py() == 3


def test_without_a_ledger_the_bounded_table_is_used_and_the_statement_says_that_nobody_counts(people):
    made = release(Uncharged(Counting(), "A count"), people)
    assert made.payload["n"].to_pylist() == [3], "one row of each"
    assert NO_LEDGER in made.statement.caveats
    assert made.statement.models == (K2,)
    assert (made.title, made.recipe.method) == ("A count", "counting")
    assert made.recipe.parameters == {"of": "rows", "table": "people"}
    assert made.recipe.steps == ("at most 1 rows",)
    with pytest.raises(NoPromise, match="2-anonymous"):
        release(Uncharged(Counting(figure=4), "A count"), people)
    also = Uncharged(
        Counting(), "A count", lambda rows, bench: pa.table({"n": [3]}), lambda payload, card: ({"x": 1}, ("beware",))
    )
    other = release(also, people)
    assert other.recipe.parameters["x"] == 1
    assert "beware" in other.statement.caveats


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -(2**63)])
def test_figures_that_are_none_are_not_released(people, figure):
    with pytest.raises(Refused, match="not finite"):
        release(Uncharged(Counting(figure=figure), "A count"), people)


def test_finite_figures_pass():
    pipeline.require_finite(pa.table({"n": [1, None, -(2**63) + 1], "x": [0.5, None, -1e308], "t": ["a", None, "b"]}))
    pipeline.require_finite({"n": float("nan")})  # plain data is checked where it is written


def test_a_method_has_run_or_make():
    class Running(Method[Any]):
        name = "running"

        def run(self, table, entropy):
            return "payload"

        def pictures(self, payload):
            return (payload,)

        def steps(self, card):
            return (card,)

    class Table:
        card = "card"

    made = Running().make(Table(), Bench())
    assert (made.payload, made.pictures, made.steps) == ("payload", ("payload",), ("card",))
    assert Steps().run(None, SYSTEM) == {"n": 1}
    assert not Running().holds(K2, None), "what nobody can check does not hold"
    assert (Running().makes(None), Running().expected_errors(None)) == ((), {})


# -- where files may go


def test_places_for_a_release(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    for free in (None, tmp_path / "empty", tmp_path / "new", str(tmp_path / "new")):
        require_places(free, csv=free is not None)
    for taken in (tmp_path / "full", tmp_path / "full" / "file"):
        with pytest.raises(BadInput, match="exists and is not an empty folder"):
            require_places(taken)
    with pytest.raises(BadInput, match="csv needs a folder"):
        require_places(None, csv=True)
    with pytest.raises(NotFound, match=r"no folder .*nowhere to put r in"):
        require_places(tmp_path / "nowhere" / "r")


def test_places_for_the_holders_copy(tmp_path):
    (tmp_path / "there").write_text("")
    require_places(tmp_path / "r", holder=tmp_path / "r.holder.parquet")
    require_places(None, holder=tmp_path / "holder.parquet")
    with pytest.raises(BadInput, match=r"There is a file .*there already"):
        require_places(None, holder=tmp_path / "there")
    with pytest.raises(BadInput, match=r"holder.s copy is confidential, but .* is inside the release folder"):
        require_places(tmp_path / "r", holder=tmp_path / "r" / "holder.parquet")
    with pytest.raises(NotFound, match=r"no folder .*nowhere to put h in"):
        require_places(None, holder=tmp_path / "nowhere" / "h")


def test_a_release_is_refused_a_place_before_any_work(people, tmp_path):
    method = Steps()
    with pytest.raises(NotFound):
        release(method, people, to=tmp_path / "nowhere" / "r")
    assert method.seen == []


def test_rows_as_csv_too(people, tmp_path):
    made = release(Steps(made=Made(ROWS.select(["age"]))), people, to=tmp_path / "r", csv=True)
    assert (tmp_path / "r" / "payload.csv").read_text().replace('"', "").split() == ["age", "10", "20", "30", "31"]
    assert made.payload == Rows(tmp_path / "r" / "payload.parquet")
    assert Release.load(tmp_path / "r").payload.equals(ROWS.select(["age"]))
    release(Steps(made=Made(ROWS)), people, to=tmp_path / "s")
    assert not (tmp_path / "s" / "payload.csv").exists()


def test_a_folder_for_files_lies_beside_the_release_and_goes(people, tmp_path):
    seen = []
    method = Steps(made=lambda table, bench: seen.append((bench.scratch, bench.folder)) or Made(1))
    release(method, people, to=tmp_path / "r")
    ((scratch, folder),) = seen
    assert (scratch.parent, folder) == (tmp_path, tmp_path / "r")
    assert not scratch.exists()
    release(method, people)
    assert seen[1] == (None, None)


def test_earlier_releases_come_first_among_the_notices(people, tmp_path):
    method = Steps(made=Made({"n": 1}, notices=("own",)))
    assert release(method, people, to=tmp_path / "r").notices == ("own",)
    first, attacked, own = release(method, people).notices
    assert first.startswith(f"There are earlier releases about the same people: {tmp_path / 'r'} (published on ")
    assert attacked == "Not attacked jointly with others: the release is not a table of rows."
    assert own == "own"
