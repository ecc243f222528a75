"""What jobs do: what the commands of the same names do, into the folder of a run. Everything is read and written here,
in a process of its own, and no database of the service is touched but, for what is charged, the ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from discreet.core.document import open_private
from discreet.core.families import TABLE_METHODS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.core.text import number
from discreet.curator.audited import find_audited, register_answers
from discreet.curator.workspace import Workspace, open_books, open_workspace
from discreet.releases.registration import released_to
from discreet.service.jobs.checks import (
    is_private,
    learner_of,
    learning_of,
    method_of,
    models_of,
    people_of,
    program_of,
)
from discreet.service.jobs.places import Made, Places, Run
from discreet.service.jobs.specs import (
    Attack,
    Combine,
    Compare,
    Hide,
    Learn,
    Prove,
    Publish,
    Spec,
    Synthesize,
    Tabulate,
    read_spec,
)
from discreet.service.redact import without_paths
from discreet.verbs.publish.mask.masker import Masker

Progress: TypeAlias = Callable[[float | None, str], None]
"""Called with the share that is done, ``None`` if that is not known, and the present stage."""
_LISTED = 100
"""Largest number of lost itemsets or rules in the result; the holder's page has more."""
_BESIDE_ANSWERS = (
    "The table has query auditing: this release and its exact answers together may reveal what neither does alone."
)


@dataclass(frozen=True)
class Task:
    """A run of a job, as plain data: all that its process is told."""

    id: str
    workspace: str
    kind: str
    table: str
    spec: Mapping[str, Any]
    folder: str
    """Of the run."""
    release: str = ""
    """The folder of the release that is attacked."""


@dataclass(frozen=True)
class _Bench:
    """What every kind of work needs."""

    task: Task
    workspace: Workspace
    places: Places
    run: Run
    progress: Progress


def work(task: Task, progress: Progress) -> Made:
    """Do it; when this returns, all of it is in the run's folder, which was empty before."""
    folder = Path(task.workspace)
    bench = _Bench(task, open_workspace(folder), Places(folder), Run(Path(task.folder)), progress)
    spec = read_spec(task.kind, task.spec)
    if isinstance(spec, Publish | Tabulate | Hide | Learn):
        register_answers(bench.workspace)
    with released_to(bench.places.release(task.id)):  # where it will lie, once all of it is there
        made, result = _WORK[type(spec)](spec, bench)
    if isinstance(spec, Publish | Tabulate | Hide | Learn) and _audited(bench.workspace, spec.table):
        made = replace(made, said=f"{made.said} {_BESIDE_ANSWERS}")
    bench.run.end(made, result)
    return made


def _audited(workspace: Workspace, table: str) -> bool:
    with open_books(workspace) as ledger:
        return find_audited(ledger, table) is not None


def make_rows(spec: Publish, table: Table, workspace: Workspace, **how: Any) -> Release[Any]:
    """The release of a table's rows that a job is to make: recoded, masked or made up."""
    from discreet.verbs.publish.people import joint_card
    from discreet.verbs.publish.publish import publish
    from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer
    from discreet.verbs.synthesize.synthesize import synthesize

    people = people_of(spec, workspace)
    card = joint_card(table.card, people)
    method, models = method_of(spec, card), models_of(spec, card)
    if isinstance(method, Synthesizer):
        return synthesize(table, method, **how)
    return publish(table, method, models, people=people, **how)


def _publish(spec: Publish, bench: _Bench) -> tuple[Made, object]:
    table = _original(spec, bench)
    method = method_of(spec, table.card)
    recoded = not isinstance(method, Masker) and hasattr(method, "recode")
    nothing_stays = recoded and not spec.people  # with the holder
    places = {"to": bench.run.release} if nothing_stays else _places(bench)
    release = make_rows(spec, table, bench.workspace, progress=bench.progress, **places)
    _write_page(bench, release)
    made_of, warning = release.recipe.parameters, _notices(release, bench)
    rows = int(made_of["rows"])
    said = f"{made_of.get('released', rows):,} of {rows:,} rows were released. {warning}".strip()
    if not recoded and not isinstance(method, Masker):
        said = f"Synthetic rows were made from {rows:,} rows and attacked. {warning}".strip()
    made = Made(said, spec.title or release.title, release.recipe.method, release.private, rows)
    return made, {"release": bench.task.id, "steps": release.recipe.steps, "warning": warning}


def _original(spec: Publish | Tabulate | Hide | Learn, bench: _Bench) -> Table:
    """The rows as they were registered, to be released despite exposure if the job gives a reason."""
    return bench.workspace.original(spec.table).despite(spec.despite or None)


def _places(bench: _Bench) -> dict[str, Any]:
    return {"to": bench.run.release, "holder": bench.run.beside("holder.parquet")}


def _write_page(bench: _Bench, release: Release[Any]) -> None:
    """The page of the holder's copy, for the console."""
    if release.holder is not None and bench.run.beside("holder.parquet").exists():
        with open_private(bench.run.beside("holder.html")) as file:
            file.write(release.holder.page().encode())


def _notices(release: Release[Any], bench: _Bench) -> str:
    """What anyone who passes a release on must know."""
    return without_paths(" ".join(release.notices), bench.workspace.folder)


def _synthesize(spec: Synthesize, bench: _Bench) -> tuple[Made, object]:
    """Through the one door, which charges the table before a row is looked at. Begun again, it is charged once."""
    from discreet.curator.curator import Curator
    from discreet.verbs.synthesize.private import parse_private

    bench.progress(None, "measuring with noise, fitting and drawing rows")
    with Curator(bench.workspace.folder) as curator:
        given = curator.make_synthetic(parse_private(spec.method, bench.workspace.card(spec.table)), spec.table)
        found = curator.synthetic(spec.table)
    assert found is not None  # noqa: S101  # just made
    rows, papers = found.nearness.rows, given.release
    said = (
        f"A stand-in of {number(rows, 'row')} was made, for {papers.statement.loss}. It answers when a budget is spent."
    )
    made = Made(said, papers.title, papers.recipe.method, papers.private, rows, given.identity)
    return made, {"release": given.identity, "rows": rows, "free": given.free}


def _tabulate(spec: Tabulate, bench: _Bench) -> tuple[Made, object]:
    from discreet.verbs.tabulate.perturb.cell_key import CellKeys
    from discreet.verbs.tabulate.perturb.factors import Multiply
    from discreet.verbs.tabulate.perturb.record_keys import secret_in
    from discreet.verbs.tabulate.printing.holder import view
    from discreet.verbs.tabulate.tabulate import tabulate

    table, way = _original(spec, bench), TABLE_METHODS.parse(spec.method)
    recognised = isinstance(way, CellKeys | Multiply) and table.card.unit is not None
    release = tabulate(
        table,
        spec.by,
        spec.value,
        rules=spec.rules,
        method=way,
        secret=secret_in(bench.places.secret(spec.table)) if recognised else None,
        progress=bench.progress,
        **_places(bench),
    )
    _write_page(bench, release)
    holder = release.holder.details  # type: ignore[union-attr]  # just made
    title = spec.title or release.title
    hidden = int(holder.hidden.sum())
    said = f"A table of {number(len(holder.cells), 'cell')} was published, {hidden or 'none'} of them suppressed."
    made = Made(said, title, release.recipe.method, release.private)
    return made, {"release": bench.task.id, **view(holder, title)}


def _hide(spec: Hide, bench: _Bench) -> tuple[Made, object]:
    from discreet.verbs.hide.hiding import hide

    release = hide(
        _original(spec, bench),
        support=spec.support,
        confidence=spec.confidence,
        itemsets=spec.itemsets,
        rules=spec.rules,
        keep=spec.keep,
        margin=spec.margin,
        method=spec.method,
        columns=spec.columns,
        progress=bench.progress,
        **_places(bench),
    )
    _write_page(bench, release)
    holder, warning = release.holder.details, _notices(release, bench)  # type: ignore[union-attr]  # just made
    rows, effects = holder.problem.transactions.rows, holder.effects
    secrets, title = number(len(holder.problem.secrets), "secret"), spec.title or release.title
    said = f"{secrets} hidden in {number(rows, 'transaction')}, {effects.touched:,} of them changed."
    told = [("itemsets", effects.itemsets), *([("rules", effects.rules)] if effects.rules else [])]
    found = {
        "release": bench.task.id,
        "title": title,
        "secrets": holder.secrets(),
        "facts": [{"name": name, "told": text} for name, text in holder.in_figures()],
        "lost": {what: [str(one) for one in patterns.lost[:_LISTED]] for what, patterns in told},
        "appeared": {what: [str(one) for one in patterns.artificial[:_LISTED]] for what, patterns in told},
        "promise": release.promise,
        "warning": warning,
    }
    made = Made(f"{said} {warning}".strip(), title, release.recipe.method, release.private, rows)
    return made, found


def _learn(spec: Learn, bench: _Bench) -> tuple[Made, object]:
    from discreet.verbs.learn.learn import learn, load_model

    if is_private(spec):
        return _learn_privately(spec, bench)
    table = _original(spec, bench)
    release = learn(table, learning_of(spec, table.card), progress=bench.progress, **_places(bench))
    _write_page(bench, release)
    evidence, compared = release.holder.details  # type: ignore[union-attr]  # just made
    title, warning = spec.title or release.title, _notices(release, bench)
    found = {
        "release": bench.task.id,
        "title": title,
        "model": str(load_model(release.payload)),
        "promise": release.promise,
        "found": str(evidence),
        "heading": compared.heading,
        "measure": compared.measure,
        "scores": [{"model": name, "score": score} for name, score in compared.scores],
        "warning": warning,
    }
    made = Made(f"A model was learnt. {warning}".strip(), title, release.recipe.method, release.private)
    return made, found


def _learn_privately(spec: Learn, bench: _Bench) -> tuple[Made, object]:
    """Through the one door, which charges the table before a row is looked at. Begun again, it is charged once."""
    from discreet.curator.curator import Curator
    from discreet.verbs.learn.learn import load_model

    bench.progress(None, "learning with noise")
    with Curator(bench.workspace.folder) as curator:
        given = curator.make_for_holder(learner_of(spec, bench.workspace.card(spec.table)), spec.table)
    release, title = given.release, spec.title or given.release.title
    found = {
        "release": given.identity,
        "title": title,
        "model": str(load_model(release.payload)),
        "promise": release.promise,
        "loss": str(release.statement.loss),
        "free": given.free,
    }
    said = f"A model was learnt, for {release.statement.loss}."
    made = Made(said, title, release.recipe.method, release.private, 0, given.identity)
    return made, found


def _attack(spec: Attack, bench: _Bench) -> tuple[Made, object]:
    from discreet.core.release import Release
    from discreet.verbs.attack.attack import attack, links_of
    from discreet.verbs.attack.finding import Outcome

    folder, known = Path(bench.task.release), bench.workspace.original(bench.task.table)
    report = attack(
        Release.load(folder),
        known,
        links_of(folder),
        spec.only or None,
        population=spec.population,
        progress=bench.progress,
    )
    report.html(bench.run.paper("report.html"))
    report.without_victims().html(bench.run.paper("to-pass-on.html"))
    ran = sum(one.outcome is not Outcome.FAILED for one in report.findings)
    made = Made(f"{number(ran, 'attack')} run. The findings are confidential.")
    return made, {"attacked": spec.release, **report.to_dict(victims=True)}


def _compare(spec: Compare, bench: _Bench) -> tuple[Made, object]:
    from discreet.verbs.publish.compare import compare
    from discreet.verbs.publish.riskmap import ORIGINAL

    found = compare(
        bench.workspace.original(spec.table),
        spec.methods or None,
        loss=spec.loss,
        processes=max(1, (os.cpu_count() or 1) - 1),  # one is left for those who ask
        keep=bench.places.points,
        progress=bench.progress,
    )
    found.html(bench.run.paper("map.html"))
    maskings = sum(point.method != ORIGINAL for point in found.placed)
    made = Made(f"{number(maskings, 'masking')} measured. The map is confidential.")
    return made, found.to_dict()


def _combine(spec: Combine, bench: _Bench) -> tuple[Made, object]:
    from discreet.service.sessions import take_part

    found = take_part(bench.workspace, spec.session, spec.brings, lambda said: bench.progress(None, said))
    return Made("The session ended with a result."), found


def _prove(spec: Prove, bench: _Bench) -> tuple[Made, object]:
    """Nothing of the workspace is looked at."""
    from discreet.verbs.prove.certificate import write_certificate
    from discreet.verbs.prove.picture import draw_verdict
    from discreet.verbs.prove.prove import prove
    from discreet.verbs.prove.verdicts import Proved

    loaded = program_of(spec)
    bench.progress(0.1, f"looking for a proof or a counterexample, {spec.seconds} s at most")
    verdict = prove(loaded, seconds=spec.seconds)
    bench.run.paper("proof.html").write_text(draw_verdict(verdict).page, encoding="utf-8")
    if isinstance(verdict, Proved):
        write_certificate(verdict.certificate, bench.run.paper("proof.json"))
    return Made(f"{verdict.word.capitalize()} in {verdict.seconds:.1f} s."), verdict.to_dict()


_WORK: Mapping[type[Spec], Callable[[Any, _Bench], tuple[Made, object]]] = {
    Publish: _publish,
    Synthesize: _synthesize,
    Tabulate: _tabulate,
    Hide: _hide,
    Learn: _learn,
    Attack: _attack,
    Compare: _compare,
    Combine: _combine,
    Prove: _prove,
}
