"""`discreet publish --method "synthesize …"`: a table of people who never existed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from discreet.cli.output import bold, console, grid, percent, print_json, stoppable, tracking, working
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.verbs.synthesize.synthesize import Synthesize

_LISTED = 8
_LESS = 0.8
"""Noise that would be so much smaller is worth a word."""


@dataclass(frozen=True)
class Wanted:
    """What was said on the command line."""

    source: str
    card: str | None
    table: str | None
    method: str
    output: Path | None
    keep: Path | None
    workspace: Path | None
    seed: int | None
    csv: bool
    as_json: bool


def synthesize(wanted: Wanted, meaningless: Sequence[str]) -> None:
    """Publish rows that are nobody's, of a file or of a workspace's table."""
    if meaningless:
        raise BadInput(f"--{meaningless[0]} means nothing to --method {wanted.method}.", hint="Leave it out.")
    if wanted.output is None:
        raise BadInput("Say where to write the release: add --output FOLDER.")
    if (Path(wanted.source) / "workspace.toml").is_file():
        _from_workspace(wanted, wanted.output)
    else:
        _from_file(wanted, wanted.output)


def _from_workspace(wanted: Wanted, output: Path) -> None:
    """Through the one door, charged to the table."""
    from discreet.core.release_folder import Rows
    from discreet.curator.curator import Curator
    from discreet.verbs.publish.publish import require_place
    from discreet.verbs.synthesize.distances import distances
    from discreet.verbs.synthesize.release import warning
    from discreet.verbs.synthesize.synthesize import Synthesize, parse_synthesizer

    with Curator(wanted.source) as curator:
        known = curator.workspace.private
        name = wanted.table or (known[0] if len(known) == 1 else None)
        if name is None:
            raise BadInput("Say which table: add --table.", hint=f"There are {', '.join(known)}.")
        method = parse_synthesizer(wanted.method, curator.workspace.card(name))
        if not isinstance(method, Synthesize):
            raise BadInput(
                f"{wanted.method!r} promises nothing, and nothing leaves a workspace without a promise.",
                hint="Add an epsilon: synthesize epsilon=1 delta=1e-9.",
            )
        _require_unseeded(wanted)
        require_place(output)
        _hint(method)
        card = curator.workspace.card(name)
        with stoppable(lambda: "What was charged stays charged; the same again is free."), working("Synthesizing"):
            given = curator.make_synthetic(method, name)
        place = curator.workspace.releases / given.identity / "payload.parquet"
        with TemporaryDirectory(prefix=".discreet-", dir=output.absolute().parent) as scratch:
            copy = Path(shutil.copy(place, scratch))
            folder = replace(given.release, payload=Rows(copy)).save(output, csv=wanted.csv)
    release = replace(given.release, payload=Rows(folder / "payload.parquet"))
    _print(release, output, wanted.as_json)
    if told := warning(distances(release), card):
        console(stderr=True).print(bold("Warning."), told)
    if not wanted.as_json:
        console().print(f"It is the synthetic twin of {name} now: when a budget is gone, questions are answered on it.")


def _from_file(wanted: Wanted, output: Path) -> None:
    """Without a ledger: written down beside the card."""
    from discreet.cli.publish import registers_of, warn_of_others, write_down
    from discreet.cli.synthesize_plain import print_attacked
    from discreet.curator.published import earlier, now
    from discreet.engines.read import read
    from discreet.verbs.publish.publish import publish, require_place
    from discreet.verbs.synthesize.release import NO_LEDGER
    from discreet.verbs.synthesize.synthesize import Synthesize, parse_synthesizer

    if wanted.card is None:
        raise BadInput("A table is published by its card: add --card CARD.", hint="Draft one: discreet card draft …")
    opened = read(wanted.source, wanted.card, table=wanted.table)
    name = opened.card.name
    method = parse_synthesizer(wanted.method, opened.card)
    require_place(output)
    if isinstance(method, Synthesize):
        _require_unseeded(wanted)
        _refuse_ledger(wanted, name)
        _hint(method)
    registers = registers_of(wanted.card, wanted.workspace, name)
    warn_of_others(earlier(name, wanted.source, registers, output.absolute().parent), (), "synthetic")
    page = None
    if not isinstance(method, Synthesize):
        page = wanted.keep or output.with_name(f"{output.name}.attacked.html")
    with stoppable(lambda: "Nothing was written down."), tracking("Synthesizing") as at:
        release = publish(
            opened,
            method,
            seed=wanted.seed,
            to=output,
            csv=wanted.csv,
            keep=page,
            progress=lambda done, what: at(what, done),
        )
    write_down(registers, now(name, wanted.source, output, release.recipe.method, release.recipe.parameters["rows"]))
    if page is not None:
        print_attacked(release, output, page, wanted.as_json)
        return
    _print(release, output, wanted.as_json)
    if not wanted.as_json:
        console(stderr=True).print(NO_LEDGER)


def _refuse_ledger(wanted: Wanted, table: str) -> None:
    """A workspace has a ledger, and what is made of a file is not charged to it."""
    if wanted.workspace is not None:
        raise BadInput(
            f"{wanted.workspace} has a ledger, and what is made of a file is not charged to it.",
            hint=f"Make it of the table there, which is: discreet publish {wanted.workspace} --table {table} --method "
            f"{wanted.method!r} -o {wanted.output}; or discreet workspace twin {wanted.workspace} {table} …",
        )


def _require_unseeded(wanted: Wanted) -> None:
    """Nothing that undoes the noise, or would be kept of people, is asked for."""
    if wanted.seed is not None:
        raise BadInput("Whoever knows a seed can take the noise away.", hint="Leave --seed out.")
    if wanted.keep is not None:
        raise BadInput("Synthetic rows are nobody's: there is nothing to keep.", hint="Leave --keep out.")


def _hint(method: Synthesize) -> None:
    """Say what a delta would do, if there is none, and if a loss is so large that it promises next to nothing."""
    from fractions import Fraction

    from discreet.core.loss import Pure
    from discreet.core.statement import weakness
    from discreet.verbs.synthesize.spending import least_noise

    if told := weakness(method.loss):
        console(stderr=True).print(bold("Warning."), told)
    if not isinstance(method.allowance, Pure):
        return
    with_delta = replace(method, delta="1e-9").allowance
    share = Fraction(1, 100)
    ratio = (least_noise(with_delta, share, 1).variance / least_noise(method.allowance, share, 1).variance) ** 0.5
    if ratio < _LESS:
        console(stderr=True).print(
            "Without a delta the loss is pure, and there is much noise: with delta=1e-9 it would be about "
            f"{ratio:.2g} times as large where a hundred things are measured."
        )


def _print(release: Release[Any], folder: Path, as_json: bool) -> None:
    from discreet.verbs.synthesize.distances import WITHIN, distances

    near = distances(release)
    if as_json:
        said = {"statement": release.statement.to_dict(), "recipe": release.recipe.to_dict()}
        print_json({"release": str(folder), **said, "synthetic": near.to_dict()})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(*release.statement.lines, sep="\n")
    out.print(f"\n{near.rows:,} rows that are nobody's.")
    listing = grid("counts over", "#off by at most", title="How far counts may be off, with 95 % confidence")
    worst = sorted(near.distance.items(), key=lambda one: -one[1])
    for columns, far in worst[:_LISTED]:
        listing.add_row(near.called(columns), percent(far, 1) if far < 1 else "no bound")
    out.print(listing)
    if set(near.columns) - set(near.exact):
        out.print(f"{WITHIN}: for counts of whole intervals alone; within them nothing is known.")
    if near.left_out:
        out.print(f"Not compared, since there are too many combinations: {', '.join(map(near.called, near.left_out))}.")
    if len(worst) > _LISTED:
        out.print(f"All others are off by less; {folder / 'report.html'} and the rows' own metadata have more.")
    out.print(*release.recipe.steps, sep="\n")
    out.print(f"The report: {folder / 'report.html'}")
