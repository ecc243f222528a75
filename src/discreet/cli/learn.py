"""`discreet publish --method "learn …"`: a model that many different sets of people would also have given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.cli.output import bold, console, grid, print_json, stoppable, tracking
from discreet.errors import BadInput, NoPromise

if TYPE_CHECKING:
    from discreet.cli.synthesize import Wanted
    from discreet.verbs.learn.release import Learnt


def learn(wanted: Wanted, meaningless: Sequence[str]) -> None:
    """Publish a model of a file. A search that is stopped goes on when the same is said again."""
    from discreet.cli.publish import registers_of, warn_of_others, write_down
    from discreet.core.families import LEARNERS
    from discreet.core.holder_copy import private
    from discreet.curator.published import earlier, now
    from discreet.engines.read import read
    from discreet.verbs.publish.publish import publish, require_usable

    if meaningless:
        raise BadInput(f"--{meaningless[0]} means nothing to --method {wanted.method}.", hint="Leave it out.")
    if wanted.card is None:
        raise BadInput("A table is published by its card: add --card CARD.", hint="Draft one: discreet card draft …")
    output = wanted.output
    if output is None:
        raise BadInput("Say where to write the release: add --output FOLDER.")
    opened = read(wanted.source, wanted.card, table=wanted.table)
    page = _beside(output, "compared.html")
    keep = wanted.keep or _beside(output, "generators.parquet")
    journal = output.with_name(f"{output.name}.journal.jsonl")
    method = replace(LEARNERS.parse(wanted.method, opened.card), journal=journal)
    require_usable(method, given=(), seed=wanted.seed, to=output, keep=keep)
    name = opened.card.name
    registers = registers_of(wanted.card, wanted.workspace, name)
    warn_of_others(earlier(name, wanted.source, registers, output.absolute().parent), (), "learnt")
    if wanted.seed is not None:
        console(stderr=True).print(
            "With a seed anybody can draw the same samples, and the release says which it is: use this to repeat "
            "research, never for a release that is to protect anybody."
        )
    again = f"The search goes on when the same is said again; its journal, {journal}, must never leave."
    try:
        with stoppable(lambda: again), tracking("Learning") as at:
            release = publish(
                opened, method, seed=wanted.seed, to=output, keep=keep, progress=lambda done, what: at(what, done)
            )
    except NoPromise:
        if journal.exists():
            console(stderr=True).print(again)
        raise
    write_down(registers, now(name, wanted.source, output, release.recipe.method, opened.count()))
    made = cast("Learnt[Any]", release)
    with private(page) as file:
        file.write(made.page().encode())
    _print(made, output, keep, page, wanted.as_json)


def _beside(output: Path, ending: str) -> Path:
    """Where something is kept beside the release; an error if something is there."""
    place = output.with_name(f"{output.name}.{ending}")
    if place.exists():
        raise BadInput(f"There is a file {place} already.", hint="Move it away, or publish to another folder.")
    return place


def _print(release: Learnt[Any], folder: Path, keep: Path, page: Path, as_json: bool) -> None:
    if as_json:
        said = {"statement": release.statement.to_dict(), "recipe": release.recipe.to_dict()}
        print_json({"release": str(folder), "model": release.payload, **said})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(release.model), markup=False, highlight=False)
    out.print(release.promise)
    if release.compared is not None and release.evidence is not None:
        listing = grid("model", f"#{release.compared.measure}", title=release.compared.heading)
        for name, score in release.compared.scores:
            listing.add_row(name, f"{score:.4f}")
        out.print(listing)
        out.print(release.evidence.told)
    out.print(*release.recipe.steps, sep="\n")
    out.print(f"The report: {folder / 'report.html'}")
    out.print(f"How it compares: {page}; who gives the model: {keep}. These are for you alone; they must never leave.")
