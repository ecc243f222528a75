"""Publish a table: recode it, check what came out, and let it go with what it promises.

Why this is private. The models are checked on the very rows that leave, after they were written, by the same
aggregates anybody can repeat: nothing a search believed about them counts. If one does not hold, nothing leaves.
What the models mean is theirs to say (see ``models/``); what they do not protect from is in the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.card import Role
from discreet.core.holder_copy import kept
from discreet.core.identifiers import require_rows_of_people
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Release
from discreet.core.release_folder import Rows
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.core.withheld import hold_back, said_of_withheld
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.models.model import Model, Verdict, check_all, checked_alone, evidence_of, parts_of
from discreet.models.uniqueness import PopulationUniqueness
from discreet.verbs.learn.learn import Learn
from discreet.verbs.publish.earlier_releases import Earlier, Joint, joint
from discreet.verbs.publish.mask.release import release_masked
from discreet.verbs.publish.masking import Masker
from discreet.verbs.publish.recode import at_hand, published_columns, recoded
from discreet.verbs.publish.recoding import Progress, Recoder, Recoding
from discreet.verbs.publish.report import Sizes, pictures
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer, refuse_models
from discreet.verbs.synthesize.synthesize import Synthesize

_GROUP = 1 << 19
"""Rows of a table that is written to a file are held so many at a time."""
_LOST = "loss of "


def publish(
    table: Table,
    method: Recoder | Masker | Synthesizer | Synthesize | Learn,
    require: Model | Sequence[Model] = (),
    *,
    given: Sequence[Earlier] = (),
    control: Table | None = None,
    seed: int | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    keep: str | Path | None = None,
    progress: Progress | None = None,
) -> Release[Any]:
    """Make a release of ``table`` for which every model in ``require`` holds, recoded, masked or synthesized by
    ``method``.

    ``given`` are earlier releases of the same table: the models must hold for what all of them show together, or it
    is refused. With ``to``, a new folder, the release is written there (``csv``: also as CSV) and its rows are never
    held in memory. Identifiers and the unit stay behind; the order of rows tells nothing.

    Where each class gets labels of its own, what became of whom cannot be told from the release. ``keep`` writes it to
    a new file, which must never leave: ``given=[(release, file)]`` takes both.

    A masked release needs no model. It carries ``links``, which say for each released row which original it was, for
    the holder alone; ``keep`` writes them. With a ``seed`` the masking can be repeated, by anybody.

    ``Synthesize`` takes no model: it promises a privacy loss. No ledger is charged, which the statement says; a
    ``Curator`` does that (``make_synthetic``).

    Any other synthetic release takes no model either. It is attacked before it leaves, and carries what was found,
    ``report`` and ``alarms``, for the holder alone; ``keep`` writes it as a page. ``control`` are people of the same
    kind who are not in the table, for the attacks to be compared with.

    What is learnt takes no privacy model either: see ``Learn``. It carries ``evidence``, the sets of people that give
    it, and how it ``compared``, for the holder alone; ``keep`` writes the evidence.
    """
    _require_order(table, method)
    models = (require,) if isinstance(require, Model) else tuple(require)
    synthetic = isinstance(method, Synthesizer)
    if synthetic or isinstance(method, Synthesize):
        refuse_models(models)
    elif not models and not isinstance(method, Masker | Learn):
        raise BadInput("Publishing needs a model to hold.", hint="Such as KAnonymity(5).")
    if csv and to is None:
        raise BadInput("csv is for what is written to a folder.", hint="Give to, the folder.")
    if control is not None and not synthetic:
        raise BadInput("A control is for synthetic rows, which are attacked before they leave.", hint="Leave it out.")
    require_usable(method, given=given, seed=seed, to=to, keep=keep)
    require_rows_of_people(table)
    if isinstance(method, Synthesize):
        from discreet.verbs.synthesize.release import release_private

        return release_private(table, method, to=to, csv=csv, progress=progress or (lambda share, what: None))
    table = hold_back(table, _named(method, models), quasi=not isinstance(method, Masker | Synthesizer | Learn))
    published_columns(table.card)
    say = progress or (lambda share, what: None)
    table = at_hand(table)
    if isinstance(method, Learn):
        from discreet.verbs.learn.release import refuse_beside, release_learnt

        refuse_beside(models, csv=csv)
        return release_learnt(table, method, seed=seed, to=to, keep=keep, progress=say)
    if isinstance(method, Masker):
        return release_masked(table, method, models, seed=seed, to=to, csv=csv, keep=keep, progress=say)
    if isinstance(method, Synthesizer):
        from discreet.verbs.synthesize.non_private.release import release_synthetic  # with all attacks

        return release_synthetic(table, method, control=control, seed=seed, to=to, csv=csv, keep=keep, progress=say)
    recoding = method.recode(table, models, lambda share, what: say(0.6 * share, what))
    together = joint(table, recoding, given, models) if given else None
    if together is not None:
        together.require()
    say(0.6, "writing")
    with _written(recoded(table, recoding), to) as (payload, out):
        say(0.9, "checking")
        counted = _Counted(Sizes.of(table), Sizes.of(out))
        verdicts = _require_held(out, recoding, counted, models)
        release = Release(
            payload,
            _statement(table, models, verdicts, recoding, together),
            _recipe(table, method, recoding, counted, models),
            pictures=pictures(counted.before, counted.after, _lost(recoding)),
            title=f"{table.card.name}, published",
        )
        with kept(recoding.mapping, keep):
            if to is not None:
                folder = release.save(to, csv=csv)
                release = replace(release, payload=Rows(folder / "payload.parquet"))
    say(1.0, "done")
    return release


def _require_order(table: object, method: object) -> None:
    """An error if something else stands where the table is expected, or models where the method is."""
    if not isinstance(table, Table):
        raise BadInput(
            f"publish takes a table with its card, not a {type(table).__name__}.",
            hint="Open it first: dc.read(source, card).",
        )
    for one in method if isinstance(method, list | tuple) else [method]:
        if isinstance(one, Model):
            raise BadInput(
                f"{one} is a model, which the release is to hold; what comes before it is the method.",
                hint="For example dc.publish(table, dc.Generalize(), [dc.KAnonymity(5)]).",
            )


def _named(method: object, models: Sequence[Model]) -> set[str]:
    """The columns that somebody asked for by name."""
    own = getattr(method, "method", method)  # of several copies, that of each
    named = [*getattr(own, "columns", ()), *getattr(own, "given", ()), *(name for m in models for name in m.sensitive)]
    return {name for name in named if isinstance(name, str)}


def require_usable(
    method: Recoder | Masker | Synthesizer | Synthesize | Learn,
    *,
    given: Sequence[Earlier],
    seed: int | None,
    to: str | Path | None,
    keep: str | Path | None,
) -> None:
    """An error before any work is done, if what was said means nothing to the method, or what will be made has no
    place to go."""
    drawn = isinstance(method, Masker | Synthesizer | Synthesize | Learn)
    if isinstance(method, Synthesize):
        _require_unseeded(seed, keep)
    if given and drawn:
        kind = "masked" if isinstance(method, Masker) else "learnt" if isinstance(method, Learn) else "synthetic"
        raise BadInput(f"What a {kind} release adds to others cannot be checked.", hint="Attack them together.")
    if seed is not None and not drawn:
        raise BadInput("A seed is for masking: nothing here is random.", hint="Leave it out.")
    if to is not None:
        require_place(to)
    if keep is not None and Path(keep).exists():
        raise BadInput(f"There is a file {keep} already.", hint="Name another, or move it away.")
    if to is not None and keep is not None and Path(keep).resolve().is_relative_to(Path(to).resolve()):
        raise BadInput(
            f"What is kept must never leave, and {keep} would be in {to}, with the release.",
            hint="Keep it in another folder.",
        )
    if keep is not None:
        _require_parent(keep)
    if keep is not None and not isinstance(method, Masker | Synthesizer | Synthesize | Learn) and not method.own_labels:
        raise BadInput(
            f"{type(method).__name__} leaves nothing to keep: what became of whom can be told from the release.",
            hint="Leave keep out; given takes the release alone.",
        )


def _require_unseeded(seed: int | None, keep: str | Path | None) -> None:
    if seed is not None:
        raise BadInput("Whoever knows a seed can take the noise away.", hint="Leave it out.")
    if keep is not None:
        raise BadInput("Synthetic rows are nobody's: there is nothing to keep.", hint="Leave it out.")


def require_place(to: str | Path) -> None:
    """An error if nothing can be published to a folder."""
    if Path(to).exists() and not (Path(to).is_dir() and not any(Path(to).iterdir())):
        raise BadInput(f"{to} exists and is not an empty folder.", hint="Publish to a new folder.")
    _require_parent(to)


def _require_parent(place: str | Path) -> None:
    if not Path(place).absolute().parent.is_dir():
        raise NotFound(f"There is no folder {Path(place).absolute().parent} to put {Path(place).name} in.")


@contextmanager
def _written(out: Table, to: str | Path | None) -> Iterator[tuple[pa.Table | Rows, Table]]:
    """What will leave, and the same again as a table to be checked: rows in memory, or a file beside ``to``."""
    if to is None:
        rows = out.fetch()
        yield rows, read(rows, out.card)
        return
    with TemporaryDirectory(prefix=".discreet-", dir=Path(to).resolve().parent) as scratch:
        place = Path(scratch) / "payload.parquet"
        _write(out, place)
        yield Rows(place), read(place, out.card)


def _write(out: Table, place: Path) -> None:
    with out.stream() as reader, pq.ParquetWriter(place, reader.schema, compression="zstd") as writer:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in reader:
            held.append(batch)
            rows += batch.num_rows
            if rows >= _GROUP:
                writer.write_table(pa.Table.from_batches(held))
                held, rows = [], 0
        if held:
            writer.write_table(pa.Table.from_batches(held))


@dataclass(frozen=True)
class _Counted:
    """The classes of the table, and of what was made of it."""

    before: Sizes
    after: Sizes


def _require_held(out: Table, recoding: Recoding, counted: _Counted, models: Sequence[Model]) -> list[Verdict]:
    """The verdicts; an error, unless what was written is what was meant to be, and every model holds for it."""
    added = recoding.added.num_rows if recoding.added is not None else 0
    expected = counted.before.rows - recoding.suppressed + added
    verdicts = check_all(out, models, levels=recoding.levels)
    broken = [verdict.claim.text for verdict in verdicts if not verdict.holds]
    if broken or counted.after.rows != expected:
        wrong = f"is not {' and not '.join(broken)}" if broken else "has not the rows it should have"
        raise NoPromise(
            f"What was made of {out.card.name} {wrong}. Nothing was released.",
            hint="This is a fault of the method, or the table changed meanwhile: try again, or try another method.",
        )
    return verdicts


def _statement(
    table: Table, models: Sequence[Model], verdicts: Sequence[Verdict], recoding: Recoding, together: Joint | None
) -> Statement:
    card = table.card
    known = ", ".join(table.quasi())
    others = [c.name for c in published_columns(card) if c.role is Role.OTHER]
    assumes = [f"An intruder knows nothing of a person but the quasi-identifiers: {known}."]
    if others:
        assumes.append(
            f"Nobody can be told by the columns that are declared to be nothing special: {', '.join(others)}."
        )
    assumes += _of_populations(models)
    assumes += [
        card.whose,
        "A missing value is a value of its own: it is like other missing values, and like nothing else.",
    ]
    caveats = ["This is not differential privacy: it says whom rows may belong to, not how much can be inferred."]
    caveats += [*(caveat for verdict in verdicts for caveat in verdict.caveats)]
    caveats += [*recoding.caveats, *checked_alone(models), *said_of_withheld(table)]
    unnamed = {c.name for c in card.columns if c.role is Role.SENSITIVE} - {n for m in models for n in m.sensitive}
    if unnamed:
        names = ", ".join(sorted(unnamed))
        caveats.append(f"Nothing is promised about {names}: all rows of a class may have the same value.")
    if any(model.sensitive for model in models):
        caveats.append("That a sensitive value is missing counts as a value: among two of them, one may be missing.")
    if together is not None:
        caveats.append(str(together))
    claims = tuple(model.claim for model in models)
    return Statement(card.unit or "person", None, claims, None, evidence_of(models), tuple(assumes), tuple(caveats))


def _of_populations(models: Sequence[Model]) -> list[str]:
    """What models that speak of a population take for granted."""
    found = []
    for model in parts_of(models):
        if model.reference is not None:
            found.append(f"{model.reference.card.name} is the population: everybody in the table is in it.")
        if isinstance(model, PopulationUniqueness):
            found.append(f"The rows are a random sample of {model.people:,} people.")
    return list(dict.fromkeys(found))


def _recipe(table: Table, method: Recoder, recoding: Recoding, counted: _Counted, models: Sequence[Model]) -> Recipe:
    parameters: dict[str, Any] = {
        "table": table.card.name,
        "recoder": type(method).__name__,
        **recoding.parameters,
        "models": [model.claim.text for model in models],
        "quasi_identifiers": list(table.quasi()),
        "rows": counted.before.rows,
        "released": counted.after.rows,
        "suppressed": recoding.suppressed,
        "classes": counted.after.count,
        "smallest_class": counted.after.smallest,
        "loss": float(f"{recoding.loss:.3g}"),  # all digits could tell what was suppressed
        "optimal": recoding.optimal,
    }
    if recoding.levels is not None:
        parameters["levels"] = dict(recoding.levels)
    if recoding.added is not None:
        parameters["dummies"] = recoding.added.num_rows
    if recoding.gap is not None:
        parameters["gap"] = recoding.gap
    parameters["quality"] = {name: value for name, value in recoding.quality.items() if not name.startswith(_LOST)}
    parameters["lost"] = _lost(recoding)
    return Recipe("publish", parameters, recoding.steps, versions=versions(table.engine))


def _lost(recoding: Recoding) -> Mapping[str, float]:
    """What each column lost, as the recoder measured it."""
    return {n.removeprefix(_LOST): float(v) for n, v in recoding.quality.items() if n.startswith(_LOST)}
