"""A question to a large table: what its answer costs, how far off it is, and what preparing the table costs.

The table has one row a visit, ten a person on average, of which at most three count. The answer's cost is
compared with the same SQL without noise, asked by DuckDB itself of the same bounded rows; ours includes opening the
file, planning, pricing, drawing noise and error bars. Everybody has asked a small table before, off the clock, so that
no import is measured. Peers cut a person's rows anew in every question, as they are made to; to compare errors, where
the cut rows would differ, they are given the bounded ones. Registering is compared with the best of several
hand-written queries that cut rows.

Peers are asked if ``--peer-python`` names an interpreter that has them (again for another one): ``opendp[polars]``,
and ``smartnoise-sql`` with ``duckdb<2`` (later ones refuse its ORDER BY RANDOM()). Each is given the parameters that
make its whole answer cost the same epsilon. Incomes are declared as required, so that COUNT(*) serves for their mean;
OpenDP is asked so that it does there too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.harness import Measured, contest, options, report, result, take_part

QUESTION = "SELECT city, COUNT(*) AS n, AVG(income) AS income FROM visits GROUP BY city"
CITIES = [f"city {number:02}" for number in range(50)]
MOST_INCOME = 200_000.0
ROWS_EACH = 3
SMALL = 100_000
EPSILON = 1
ANSWER_GOAL, PEER_GOAL, REGISTER_GOAL, ERROR_GOAL = 1.3, 0.1, 1.0, 1.0

PLAIN, ALL, OURS, TWIN = "DuckDB, no noise", "DuckDB, no noise, all rows", "discreet", "discreet twin"
OPENDP, SMARTNOISE = "OpenDP Polars", "SmartNoise on DuckDB 1"
DRAWN = "(hash(xor(file_row_number, 81985529216486895)) >> 1)::BIGINT"
BY_HAND = {
    "row_number() by a random number": f"""
        SELECT person, city, income FROM (
            SELECT *, row_number() OVER (PARTITION BY person ORDER BY draw) AS place
            FROM (SELECT *, random() AS draw FROM visits)
        ) WHERE place <= {ROWS_EACH}""",
    "row_number() by a hash and the row": f"""
        SELECT person, city, income FROM (
            SELECT *, row_number() OVER (
                PARTITION BY person ORDER BY hash(person, city, income), city, income
            ) AS place FROM visits
        ) WHERE place <= {ROWS_EACH}""",
    "up to the third smallest draw": f"""
        SELECT person, city, income FROM visits JOIN (
            SELECT person, list_last(min({DRAWN}, {ROWS_EACH})) AS last FROM visits GROUP BY person
        ) USING (person) WHERE {DRAWN} <= last""",
}

Work = Callable[[], object]
Answer = dict[str, tuple[float, float]]
"""What a system says of each city: the number of visits and the mean income."""


# -- what is measured


def plain_answer(bounded: str, small_bounded: str, **_: object) -> Work:
    return _warm(_plain, small_bounded, bounded)


def plain_answer_of_all(data: str, small: str, **_: object) -> Work:
    return _warm(_plain, small, data)


def our_answer(bounded: str, small_bounded: str, **_: object) -> Work:
    return _warm(lambda path: len(_ours(path)()), small_bounded, bounded)


def peer_answer(name: str) -> Callable[..., Work]:
    """A peer's answer, from all rows."""

    def start(data: str, small: str, rows: int, pythons: dict[str, str], **_: object) -> Work:
        _become(pythons[name])
        return _warm(lambda path: len(SYSTEMS[name](path, rows)()), small, data)

    return start


def errors(name: str) -> Callable[..., Work]:
    """Many answers from the same bounded rows: root mean square errors of counts and means, written to a file."""

    def start(small_bounded: str, pythons: dict[str, str], folder: str, times: int, **_: object) -> Work:
        _become(pythons.get(name, sys.executable))
        truth = json.loads((Path(folder) / "truth.json").read_text())

        def work() -> object:
            ask = SYSTEMS[name](small_bounded, None)
            squares = [0.0, 0.0]
            for _again in range(times):
                said = ask()
                for city, *true in truth:
                    for which in (0, 1):
                        squares[which] += (said[city][which] - true[which]) ** 2
            off = [(total / times / len(truth)) ** 0.5 for total in squares]
            (Path(folder) / f"{name}.json").write_text(json.dumps(off))
            return len(truth)

        return work

    return start


def by_hand(query: str) -> Callable[..., Work]:
    """Cut rows with a query of one's own, into a Parquet file."""

    def start(data: str, small: str, folder: str, **_: object) -> Work:
        import duckdb

        def cut(path: str) -> object:
            out = Path(folder) / "by hand.parquet"
            asked = query.replace("visits", f"read_parquet('{path}', file_row_number = true)")
            duckdb.connect().execute(f"COPY ({asked}) TO '{out}' (FORMAT parquet)")
            return _rows(out)

        return _warm(cut, small, data)

    return start


def our_twin(data: str, small: str, folder: str, **_: object) -> Work:
    return _warm(lambda path: _cut(path, Path(folder) / "twin.parquet"), small, data)


def tables(data: str, bounded: str, small: str, rows: int, folder: str, **more: Any) -> Work:
    """Make the tables in a process of its own, so that its memory is not taken for a contestant's."""

    def work() -> object:
        import duckdb

        for size, whole, part in ((rows, data, bounded), (SMALL, small, more["small_bounded"])):
            _make(size, whole)
            _cut(whole, Path(part))
        truth = duckdb.connect().execute(_asked(more["small_bounded"])).fetchall()
        (Path(folder) / "truth.json").write_text(json.dumps(truth))
        return rows

    return work


def _warm(do: Callable[[str], object], small: str, large: str) -> Work:
    do(small)
    return lambda: do(large)


def _become(python: str) -> None:
    """Go on as the same script in another interpreter, if this is not it already."""
    if sys.executable != python:
        os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606  # noqa: S606


# -- how each system is asked


def _plain(path: str) -> object:
    import duckdb

    return duckdb.connect().sql(_asked(path)).to_arrow_table().num_rows


def _asked(path: str) -> str:
    return QUESTION.replace("visits", f"read_parquet('{path}')")


def _card() -> Any:
    from discreet.core.card import Card, Column, Role
    from discreet.core.kind import Kind

    columns = (
        Column("person", Kind.INTEGER, Role.IDENTIFIER),
        Column("city", Kind.TEXT, categories=tuple(CITIES)),
        Column("income", Kind.REAL, bounds=(0.0, MOST_INCOME), required=True),
    )
    return Card("visits", columns, unit="person", rows_per_unit=ROWS_EACH)


def _ours(path: str, _: int | None = None) -> Callable[[], Answer]:
    from sqlglot import exp

    from discreet.core import sql
    from discreet.core.table import Table
    from discreet.engines.duckdb import DuckDB
    from discreet.verbs.ask.answer import answer
    from discreet.verbs.ask.plan import plan
    from discreet.verbs.ask.price import price

    card = _card()
    file = exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[sql.literal(path)]))
    rows = exp.select(*(sql.column(column.name) for column in card.columns)).from_(file)
    table = Table(card, DuckDB(), rows)  # as a workspace opens its twins

    def ask() -> Answer:
        planned = plan(QUESTION, {"visits": table})
        said = answer(planned, price(planned, EPSILON)).to_pydict()
        return dict(zip(said["city"], zip(said["n"], said["income"], strict=True), strict=True))

    return ask


def _opendp(path: str, rows: int | None) -> Callable[[], Answer]:
    """A mean is asked for as a sum and a length: its own ``dp.mean`` would measure the length twice.

    ``rows``: cut this many (at most) to `ROWS_EACH` a person; ``None``: they are cut already.
    """
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    unit = dp.unit_of(contributions=1, identifier="person") if rows else dp.unit_of(contributions=ROWS_EACH)
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=float(EPSILON)),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["city"], max_length=rows or SMALL, max_groups=len(CITIES))],
    )
    query = context.query().truncate_per_group(ROWS_EACH) if rows else context.query()
    income: Any = pl.col("income").fill_nan(0.0).fill_null(0.0)
    grouped = query.group_by("city").agg(n=dp.len(signed=True), total=income.dp.sum((0.0, MOST_INCOME)))
    measure = grouped.with_keys(pl.LazyFrame({"city": CITIES})).resolve()

    def ask() -> Answer:
        said = measure(pl.scan_parquet(path)).collect()
        return {city: (n, total / max(n, 1)) for city, n, total in said.select("city", "n", "total").iter_rows()}

    return ask


def _smartnoise(path: str, rows: int | None) -> Callable[[], Answer]:
    import duckdb
    from snsql import Privacy, from_connection

    connection = duckdb.connect()
    connection.execute(f"CREATE SCHEMA db; CREATE VIEW db.visits AS FROM read_parquet('{path}')")
    table = {
        "max_ids": ROWS_EACH,
        "sample_max_ids": rows is not None,
        "censor_dims": False,
        "person": {"type": "int", "private_id": True},
        "city": {"type": "string"},
        "income": {"type": "float", "lower": 0.0, "upper": MOST_INCOME},
    }
    reader = from_connection(
        _LikePostgres(connection),
        privacy=Privacy(epsilon=EPSILON / 3),  # for each of three noisy columns: two counts and a sum
        metadata={"": {"db": {"visits": table}}},
        engine="postgres",
    )
    asked = QUESTION.replace("visits", "db.visits")
    assert abs(reader.get_privacy_cost(asked)[0] - EPSILON) < 1e-6

    def ask() -> Answer:
        _header, *said = reader.execute(asked)
        return {city: (n, mean) for city, n, mean in said}

    return ask


class _LikePostgres:
    """As much of a psycopg connection and its cursor as SmartNoise uses, over DuckDB."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.execute = connection.execute

    def cursor(self) -> _LikePostgres:
        return _LikePostgres(self._connection.cursor())

    @property
    def description(self) -> Any:
        return self._connection.description

    def __iter__(self) -> Iterator[Any]:
        return iter(self._connection.fetchall())

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


# -- the table, and its bounded twin


def _make(rows: int, path: str) -> None:
    """Visits in no order. Larger cities have more of them; incomes are as lopsided as incomes are."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(1)
    weights = 1 / np.arange(10, 10 + len(CITIES))
    city: Any = pa.array(draw.choice(len(CITIES), rows, p=weights / weights.sum()).astype(np.int32))
    table: dict[str, Any] = {
        "person": draw.integers(0, rows // 10, rows),
        "city": pa.DictionaryArray.from_arrays(city, pa.array(CITIES)).cast(pa.string()),
        "income": np.minimum(draw.lognormal(10.3, 0.6, rows), MOST_INCOME),
    }
    pq.write_table(pa.table(table), path)


def _cut(path: str, out: Path) -> object:
    from discreet.engines.bounded_table import bounded, write_parquet
    from discreet.engines.read import read

    out.unlink(missing_ok=True)
    write_parquet(bounded(read(path, _card())), out)
    return _rows(out)


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


# -- the contests

SYSTEMS: dict[str, Callable[[str, int | None], Callable[[], Answer]]]
SYSTEMS = {OURS: _ours, OPENDP: _opendp, SMARTNOISE: _smartnoise}
CONTESTANTS: dict[str, Callable[..., Work]] = {
    "make tables": tables,
    f"answer {PLAIN}": plain_answer,
    f"answer {ALL}": plain_answer_of_all,
    f"answer {OURS}": our_answer,
    **{f"answer {name}": peer_answer(name) for name in (OPENDP, SMARTNOISE)},
    **{f"errors {name}": errors(name) for name in SYSTEMS},
    **{f"register {name}": by_hand(query) for name, query in BY_HAND.items()},
    f"register {TWIN}": our_twin,
}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", action="append", default=[], metavar="PATH", help="an interpreter with peers")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    rows = 1_000_000 if chosen.quick else 10_000_000
    pythons = _peers(chosen.peer_python)
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / f"{name}.parquet") for name in ("data", "bounded", "small", "small_bounded")}
        told = {**files, "rows": rows, "pythons": pythons, "folder": folder, "times": 20 if chosen.quick else 100}
        _contest("make", ["tables"], told, turns=1)
        answered = _contest("answer", [PLAIN, ALL, OURS], told, turns=3 if chosen.quick else 7)
        answered |= _contest("answer", list(pythons), told, turns=2)
        registered = _contest("register", [*BY_HAND, TWIN], told, turns=2)
        off: dict[str, list[float]] = {}
        if pythons:
            _contest("errors", [OURS, *pythons], told, turns=1)
            off = {name: json.loads((Path(folder) / f"{name}.json").read_text()) for name in (OURS, *pythons)}
    _report(rows, answered, registered, off)


def _peers(pythons: list[str]) -> dict[str, str]:
    """Which peer is to be had from which interpreter, by the path it knows itself under."""
    found = {}
    for name, modules in ((OPENDP, "opendp, polars"), (SMARTNOISE, "snsql, duckdb")):
        for python in pythons:
            command = [python, "-c", f"import sys, {modules}; print(sys.executable)"]
            asked = subprocess.run(command, capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                found[name] = asked.stdout.strip()
    return found


def _contest(which: str, names: list[str], told: dict[str, Any], *, turns: int) -> dict[str, Measured]:
    measured = contest("ask", [f"{which} {name}" for name in names], told, turns=turns) if names else {}
    return {name.removeprefix(f"{which} "): one for name, one in measured.items()}


def _report(
    rows: int, answered: dict[str, Measured], registered: dict[str, Measured], off: dict[str, list[float]]
) -> None:
    plain, ours = answered[PLAIN].cpu, answered[OURS].cpu
    hand = min(registered[name].cpu for name in BY_HAND)
    for what, measured, floor in ((f"an answer, {rows:,} rows", answered, plain), ("cutting them", registered, hand)):
        report(
            [[name, f"{m.cpu:.3f}", f"{m.memory:.0f}", f"{m.cpu / floor:.2f}"] for name, m in measured.items()],
            [what, "CPU s", "peak MB", "CPU ratio"],
        )
        print()
    figures = {
        "answer_cpu_ratio": (ours / plain, ANSWER_GOAL, True),
        "register_ratio": (registered[TWIN].cpu / hand, REGISTER_GOAL, True),
    }
    if off:
        report(
            [[name, f"{count:.2f}", f"{mean:.0f}"] for name, (count, mean) in off.items()],
            [f"root mean square error, ε = {EPSILON}", "COUNT", "AVG"],
        )
        theirs = [name for name in off if name != OURS]
        figures["answer_vs_best_peer"] = (ours / min(answered[name].cpu for name in theirs), PEER_GOAL, True)
        for place, which in enumerate(("count", "avg")):
            least = min(off[name][place] for name in theirs)
            figures[f"{which}_error_ratio"] = (off[OURS][place] / least, ERROR_GOAL, True)
    result(**figures)


if __name__ == "__main__":
    main()
