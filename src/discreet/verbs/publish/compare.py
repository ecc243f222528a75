"""The risk–utility map: many maskings of one table, each with what an intruder learns and what an analyst loses.

Duncan, Keller-McNulty and Stokes (2001). Risk is DR (Domingo-Ferrer and Torra 2001): half of it interval disclosure, a
quarter each distance and probabilistic linkage, by an intruder who knows the quasi-identifiers of everyone. Loss is a
measure of ``discreet.utility``. A map tells about the original table: it is for the table's holder, and no release.
The methods to compare can be listed in a TOML file, the menu.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from discreet._version import __version__
from discreet.core.cardfile import dump_cards, load_card
from discreet.core.document import private_folder, write
from discreet.core.families import MASKING
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, DiscreetError, NotFound
from discreet.releases.method import Progress, silent
from discreet.utility.measure import METRICS, Entry
from discreet.utility.measure import loss as lost
from discreet.verbs.attack.risk import disclosure_risk
from discreet.verbs.publish.mask.masker import Masked, Masker
from discreet.verbs.publish.publish import publish
from discreet.verbs.publish.riskmap import ORIGINAL, Point, RiskMap


@dataclass(frozen=True)
class _Original:
    """The table as it is: no masking, the other end of the map."""

    name: ClassVar[str] = ORIGINAL

    def mask(self, table: Table, seed: int | None = None) -> Masked:
        return Masked(table.payload(), {}, (), ())


@dataclass(frozen=True)
class _Job:
    """One masking to be measured; plain data, so that it can travel to another process."""

    label: str
    method: str | Masker
    seed: int
    loss: str


def compare(
    table: Table,
    methods: Sequence[str | Masker] | None = None,
    *,
    loss: str = "pil",
    seed: int = 1,
    processes: int | None = None,
    keep: str | Path | None = None,
    progress: Progress | None = None,
) -> RiskMap:
    """Mask ``table`` by each of ``methods``, and put all on one map, the original among them.

    ``methods`` are maskers, or texts such as ``"noise alpha=0.1"``; by default those of ``menu()``. ``loss`` is the
    measure of ``discreet.utility`` that the map shows. ``processes`` work at the same time (default: one a processor).
    With ``keep``, a folder, what was measured stays there, and is not measured again: a comparison that was stopped
    goes on where it was. What is kept goes by the method, its parameters, the seed and all of the data.

    A method that cannot mask this table, or whose risk cannot be measured, is listed with the reason.
    """
    metric = METRICS.get(loss)
    if metric is None:
        raise BadInput(
            f"There is no measure {loss!r}{meant(loss, METRICS)}.", hint=f"Choose from {', '.join(METRICS)}."
        )
    if metric.worst is not None and metric.best > metric.worst:
        raise BadInput(
            f"{loss} is better when larger, so it cannot be the loss of a map.",
            hint="Choose a loss that is better when smaller, such as pil.",
        )
    if processes is not None and processes < 1:
        raise BadInput(f"The number of processes must be at least 1, got {processes}.")
    chosen = [_Job(_label(one), one, seed, loss) for one in (methods if methods is not None else menu())]
    for job in chosen:
        if isinstance(job.method, str):
            MASKING.parse(job.method, table.card)  # a mistake is told before hours are spent
    if len({job.label for job in chosen}) < len(chosen):
        raise BadInput("A method is named twice.")
    say = progress or silent
    rows = table.fetch()
    table = read(rows, table.card)
    shelf = _Shelf(Path(keep) if keep is not None else None, _digest_of(table, rows))
    jobs = [_Job(ORIGINAL, _Original(), seed, loss), *chosen]
    found = {job.label: point for job in jobs if (point := shelf.get(job)) is not None}
    left = [job for job in jobs if job.label not in found]
    say(len(found) / len(jobs), f"{len(found)} of {len(jobs)} already measured" if found else "masking")
    with _measure_all(table, rows, left, processes or os.cpu_count() or 1) as measured:
        for job, point in measured:
            shelf.put(job, point)
            found[job.label] = point
            say(len(found) / len(jobs), job.label)
    points = [found[job.label] for job in jobs]
    return RiskMap(table.card.name, loss, metric.meaning, tuple(points), rows.num_rows, seed)


@contextmanager
def _measure_all(
    table: Table, rows: pa.Table, jobs: Sequence[_Job], processes: int
) -> Iterator[Iterator[tuple[_Job, Point]]]:
    """Points as they come."""
    processes = min(processes, len(jobs))
    if processes <= 1:
        yield ((job, _measure(table, job)) for job in jobs)
        return
    with TemporaryDirectory(prefix="discreet-") as folder:
        pq.write_table(rows, Path(folder) / "rows.parquet")
        (Path(folder) / "card.toml").write_text(dump_cards([table.card]), encoding="utf-8")
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            started = {pool.submit(_elsewhere, folder, job): job for job in jobs}
            try:
                yield ((started[done], done.result()) for done in as_completed(started))
            finally:
                pool.shutdown(cancel_futures=True)


def _elsewhere(folder: str, job: _Job) -> Point:
    """In a process of its own."""
    place = Path(folder)
    return _measure(read(place / "rows.parquet", load_card(place / "card.toml")), job)


def _measure(table: Table, job: _Job) -> Point:
    try:
        masker = MASKING.parse(job.method, table.card) if isinstance(job.method, str) else job.method
        rehearsal = replace(table, registers=())  # it never leaves, so no one need know of it
        release: Any = publish(rehearsal, masker, seed=job.seed)
        risk = disclosure_risk(release, table, release.holder.links)
        if isinstance(masker, _Original):  # by definition; what is measured of a copy differs in the last digit
            entry = Entry(METRICS[job.loss], METRICS[job.loss].best)
        else:
            entry = lost(table, release, metrics=[job.loss]).entry(job.loss)
    except DiscreetError as problem:
        return Point(job.label, why=str(problem))
    if entry.figure is None:
        return Point(job.label, why=entry.why)
    return Point(job.label, risk.total, entry.figure, risk.interval, risk.distance, risk.probabilistic)


def _label(method: str | Masker) -> str:
    if isinstance(method, str):
        return " ".join(method.split())
    if not isinstance(method, Masker):
        raise BadInput(f"Only masking methods can be compared, not {method!r}.", hint="Such as 'noise alpha=0.1'.")
    return repr(method)


def _digest_of(table: Table, rows: pa.Table) -> str:
    """Digest of a table: of its card and every value."""
    digest = sha256(dump_cards([table.card]).encode())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    digest.update(sink.getvalue())
    return digest.hexdigest()


@dataclass(frozen=True)
class _Shelf:
    """Folder of measured points: a file a point, named by the digest of all that it depends on."""

    folder: Path | None
    data: str

    def _key(self, job: _Job) -> str:
        said = json.dumps([__version__, self.data, job.label, job.seed, job.loss])
        return sha256(said.encode()).hexdigest()[:32]

    def get(self, job: _Job) -> Point | None:
        """The stored point; ``None`` if it cannot be read, in which case it is measured again."""
        if self.folder is None:
            return None
        try:
            return Point(**json.loads((self.folder / f"{self._key(job)}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def put(self, job: _Job, point: Point) -> None:
        """Keep it, as a whole or not at all. What failed is not kept: the reason may go away."""
        if self.folder is None or point.why:
            return
        private_folder(self.folder)
        made = self.folder / f".{self._key(job)}.{os.getpid()}"
        made.unlink(missing_ok=True)  # of a process that had this number before
        write(made, json.dumps(asdict(point)).encode(), private=True)
        made.replace(self.folder / f"{self._key(job)}.json")


EXAMPLE = """\
# The masking methods that `discreet compare` puts on the map. Each is written as for `discreet publish --method`;
# columns that are not named ("... on age, income") are all quasi-identifiers a method can mask.

methods = [
  "resample samples=3",
  "shuffle",
]

# A method with values to try for what stands in braces; with several names in braces, all combinations.
[[vary]]
method = "noise alpha={alpha}"
alpha = [0.03, 0.1, 0.3, 1]

[[vary]]
method = "multiply alpha={alpha}"
alpha = [0.05, 0.1, 0.5]

[[vary]]
method = "rank-swap p={p}"
p = [2, 5, 10, 25]

[[vary]]
method = "microaggregate k={k}"
k = [3, 5, 10, 25]
"""
"""The menu that is taken when none is given."""


def read_menu(path: str | Path) -> tuple[str, ...]:
    """The methods of a menu file."""
    place = Path(path)
    if not place.is_file():
        raise NotFound(
            f"There is no list of methods {path}.", hint="Write an example: discreet compare --example methods.toml"
        )
    try:
        return menu(place.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise DataError(f"{path} is not a text in UTF-8.") from None


def menu(text: str = EXAMPLE, source: str = "the menu") -> tuple[str, ...]:
    """The methods that ``text`` names, each once, in its order."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise DataError(f"{source} is not TOML: {problem}.") from None
    unknown = [name for name in said if name not in ("methods", "vary")]
    if unknown:
        raise BadInput(f"{source}: unknown key {unknown[0]!r}.", hint="Use methods and [[vary]].")
    plain, varied = said.get("methods", []), said.get("vary", [])
    if not isinstance(plain, list) or not all(isinstance(one, str) for one in plain):
        raise BadInput(f"{source}: methods must be a list of texts.", hint='Such as methods = ["noise alpha=0.1"].')
    if not isinstance(varied, list) or not all(isinstance(one, dict) for one in varied):
        raise BadInput(f"{source}: vary must be written as [[vary]].", hint='Below it: method = "noise alpha={alpha}".')
    found = [*plain, *(text for one in varied for text in _combinations(one, source))]
    if not found:
        raise BadInput(f"{source} names no method.", hint='Such as methods = ["noise alpha=0.1"].')
    return tuple(dict.fromkeys(found))


def _combinations(said: Mapping[str, Any], source: str) -> list[str]:
    """All combinations of the values to try."""
    values = {name: value if isinstance(value, list) else [value] for name, value in said.items() if name != "method"}
    method = said.get("method")
    if not isinstance(method, str):
        raise BadInput(f"{source}: a [[vary]] has no method.", hint='Such as method = "noise alpha={alpha}".')
    for name in values:
        if f"{{{name}}}" not in method:
            raise BadInput(
                f"{source}: {method!r} has no placeholder for {name}.", hint=f"Write {{{name}}} where it belongs."
            )
    found = []
    for chosen in product(*values.values()):
        text = method
        for name, value in zip(values, chosen, strict=True):
            text = text.replace(f"{{{name}}}", str(value))
        if "{" in text:
            raise BadInput(
                f"{source}: no values are given for the placeholders in {text!r}.", hint="Give a list of values."
            )
        found.append(text)
    return found
