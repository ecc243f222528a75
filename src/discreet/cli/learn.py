"""`discreet learn`: release a model, with differential privacy or with integral privacy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from discreet.cli.options import (
    CardFile,
    CardTable,
    Despite,
    Holder,
    Json,
    Output,
    RegisterIn,
    Source,
    named_or_only,
    refuse_options,
    require_output,
)
from discreet.cli.output import (
    bold,
    console,
    grid,
    plain_release,
    print_json,
    print_making,
    stoppable,
    tracking,
    working,
)
from discreet.errors import BadInput, NoPromise

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.core.table import Table
    from discreet.verbs.learn.private.learner import PrivateLearner


def learn(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    *,
    method: Annotated[
        str,
        Option(
            help="Learner and parameters: 'additive target=income epsilon=1 delta=1e-6', or with integral privacy "
            "'tree target=income integral=20'."
        ),
    ],
    output: Output = None,
    holder: Holder = None,
    workspace: RegisterIn = None,
    despite: Despite = None,
    seed: Annotated[
        int | None,
        Option(min=0, help="Random seed. Makes the result repeatable by anyone: for research, not for release."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn a model that can be released: with differential privacy, or one that many sets of people yield.

    \b
    Examples:
      discreet learn credit.parquet --card credit.toml --method "additive target=default epsilon=1 delta=1e-6" -o model
      discreet learn clinic --table visits --method "ridge target=cost epsilon=1" -o model
      discreet learn credit.parquet --card credit.toml --method "tree target=default integral=20" -o model

    With an epsilon the model is differentially private: the loss is charged to the table's budget if DATA is a
    workspace, and to no one otherwise. With integral privacy, at least k different sets of people yield the model; run
    the same command again to resume a search that was stopped. The sets of people, and how the model compares with
    others, are in the holder's copy beside the folder, for you alone.
    """
    from discreet.cli.publish import open_registered, warn_of_others, warn_of_seed
    from discreet.core.holder_copy import holder_file
    from discreet.releases.pipeline import require_places
    from discreet.verbs.learn.learn import learn as make
    from discreet.verbs.learn.learn import parse_learner
    from discreet.verbs.learn.private.learner import PrivateLearner

    output = require_output(output)
    if (Path(source) / "workspace.toml").is_file():
        refuse_options("a table of a workspace", despite=despite, seed=seed, holder=holder, workspace=workspace)
        _from_workspace(source, table, method, output, as_json)
        return
    opened = open_registered(source, card, table, workspace)
    opened = opened if despite is None else opened.despite(despite)
    chosen = parse_learner(method, opened.card)
    if isinstance(chosen, PrivateLearner):
        _privately(opened, chosen, output, workspace=workspace, seed=seed, holder=holder, as_json=as_json)
        return
    place = holder or holder_file(output)
    journal = output.with_name(f"{output.name}.journal.jsonl")
    chosen = replace(chosen, journal=journal)
    require_places(output, holder=place)
    warn_of_others(opened, output, (), "learnt")
    warn_of_seed(seed)
    again = f"The same command resumes the search. Its journal, {journal}, is confidential."
    try:
        with stoppable(lambda: again), tracking("Learning") as at:
            release = make(opened, chosen, seed=seed, to=output, holder=place, progress=at)
    except NoPromise:
        if journal.exists():
            console(stderr=True).print(again)
        raise
    _print(release, output, place, as_json)


def _privately(
    opened: Table,
    method: PrivateLearner,
    output: Path,
    *,
    workspace: Path | None,
    seed: int | None,
    holder: Path | None,
    as_json: bool,
) -> None:
    """Without a ledger: registered beside the card."""
    from discreet.cli.publish import warn_of_others
    from discreet.releases.uncharged import NO_LEDGER
    from discreet.verbs.learn.learn import learn as make

    if workspace is not None:
        raise BadInput(
            f"{workspace} has a ledger, but a model learnt from a file is not charged to it.",
            hint=f"Use its table, which is charged: discreet learn {workspace} --table {opened.card.name} …",
        )
    warn_of_others(opened, output, (), "learnt")
    with stoppable(lambda: "Nothing was released."), tracking("Learning") as at:
        release = make(opened, method, seed=seed, holder=holder, to=output, progress=at)
    _print_private(release, output, as_json)
    if not as_json:
        console(stderr=True).print(NO_LEDGER)


def _from_workspace(source: str, table: str | None, method: str, output: Path, as_json: bool) -> None:
    """Charged to the table."""
    from discreet.curator.curator import Curator
    from discreet.releases.pipeline import require_places
    from discreet.verbs.learn.learn import parse_private

    with Curator(source) as curator:
        name = named_or_only(table, curator.workspace.private)
        chosen = parse_private(method, curator.workspace.card(name))
        require_places(output)
        with stoppable(lambda: "The charge stands; the same command again is free."), working("Learning"):
            given = curator.given(chosen, name)
        given.release.save(output)
    _print_private(given.release, output, as_json)


def _print_private(release: Release[Any], folder: Path, as_json: bool) -> None:
    from discreet.verbs.learn.learn import load_model

    if as_json:
        print_json({**release.payload, **plain_release(release, folder)})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(load_model(release)), markup=False, highlight=False)
    out.print(*release.statement.lines, sep="\n")
    if release.receipt is not None:
        out.print(str(release.receipt))
    print_making(release, folder)


def _print(release: Release[Any], folder: Path, holder: Path, as_json: bool) -> None:
    from discreet.verbs.learn.learn import load_model

    if as_json:
        print_json({"model": release.payload, **plain_release(release, folder)})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(load_model(release.payload)), markup=False, highlight=False)
    out.print(release.promise)
    evidence, compared = release.holder.details  # type: ignore[union-attr]  # just made
    rows = ((name, f"{score:.4f}") for name, score in compared.scores)
    out.print(grid("model", f"#{compared.measure}", title=compared.heading, rows=rows))
    out.print(str(evidence))
    print_making(release, folder, holder)
