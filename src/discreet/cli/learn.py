"""`discreet learn`: release a model with integral privacy: many different sets of people would yield the same model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from discreet.cli.options import CardFile, CardTable, Despite, Holder, Json, Output, RegisterIn, Source, require_output
from discreet.cli.output import bold, console, grid, plain_release, print_json, print_making, stoppable, tracking
from discreet.errors import NoPromise

if TYPE_CHECKING:
    from discreet.core.release import Release


def learn(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    *,
    method: Annotated[
        str, Option(help="Learner and parameters: 'tree target=income integral=20', 'linear …', 'clusters …'.")
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
    """Learn a model that at least k different sets of people also yield (integral privacy).

    \b
    Examples:
      discreet learn credit.parquet --card credit.toml --method "tree target=default integral=20" -o model

    A search that is stopped goes on when the same is said again. The sets of people that give the model, and how it
    compares with others, are in the holder's copy beside the folder, for you alone.
    """
    from discreet.cli.publish import open_registered, warn_of_others, warn_of_seed
    from discreet.core.families import LEARNERS
    from discreet.core.holder_copy import holder_file
    from discreet.releases.pipeline import require_places
    from discreet.verbs.learn.learn import learn as make

    opened = open_registered(source, card, table, workspace)
    opened = opened if despite is None else opened.despite(despite)
    output = require_output(output)
    place = holder or holder_file(output)
    journal = output.with_name(f"{output.name}.journal.jsonl")
    text = method if method.split(" ")[0] == "learn" else f"learn {method}"
    chosen = replace(LEARNERS.parse(text, opened.card), journal=journal)
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


def _print(release: Release[Any], folder: Path, holder: Path, as_json: bool) -> None:
    from discreet.verbs.learn.learn import read_model

    if as_json:
        print_json({"model": release.payload, **plain_release(release, folder)})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(read_model(release.payload)), markup=False, highlight=False)
    out.print(release.promise)
    evidence, compared = release.holder.details  # type: ignore[union-attr]  # just made
    rows = ((name, f"{score:.4f}") for name, score in compared.scores)
    out.print(grid("model", f"#{compared.measure}", title=compared.heading, rows=rows))
    out.print(str(evidence))
    print_making(release, folder, holder)
