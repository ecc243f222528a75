"""`discreet publish`: publish rows that satisfy privacy models."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

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
    require_card,
    require_output,
)
from discreet.cli.output import (
    bold,
    console,
    grid,
    percent,
    plain_release,
    print_json,
    print_making,
    print_release,
    stoppable,
    tracking,
    working,
)
from discreet.core.exact import share_of
from discreet.core.families import MASKING, PEOPLE
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.core.table import Table
    from discreet.verbs.publish.advice import Advice
    from discreet.verbs.publish.earlier_releases import Earlier
    from discreet.verbs.publish.mask.masker import Masker
    from discreet.verbs.publish.people import People
    from discreet.verbs.publish.recoding import Recoder

_HOW = "A recoding method, or a masking method such as 'noise alpha=0.1'; all are listed below."
_LISTED = 8


def publish(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    *,
    model: Annotated[
        list[str] | None,
        Option("--model", "-m", help='Privacy model: "k=5", "l=3 on disease", "t=0.2 on disease", …'),
    ] = None,
    output: Output = None,
    suppress: Annotated[str | None, Option(help="Suppress at most this share of the rows, such as 5%.")] = None,
    method: Annotated[str, Option(help=_HOW)] = "generalize",
    quality: Annotated[
        str | None, Option(help="Information loss to minimise: granularity, geometric, precision, …, as below.")
    ] = None,
    level: Annotated[list[str] | None, Option(help="Levels a column may have: age=2 or age=1..3.")] = None,
    weight: Annotated[list[str] | None, Option(help="With suppress-cells: weight of a column, age=2.")] = None,
    time_limit: Annotated[
        float | None, Option(min=0.0, help="Time limit of the search, seconds; the best result so far is used.")
    ] = None,
    people: Annotated[
        str | None,
        Option(help="Treatment of people with several rows: one-row, unlinked, linked, or linked with FILE."),
    ] = None,
    earlier: Annotated[
        list[str] | None,
        Option(
            help="An earlier release of the same people, and its holder's copy if there is one.",
            metavar="RELEASE[=COPY]",
        ),
    ] = None,
    holder: Holder = None,
    workspace: RegisterIn = None,
    despite: Despite = None,
    seed: Annotated[
        int | None,
        Option(
            min=0, help="Random seed of masking. Makes the result repeatable by anyone: for research, not for release."
        ),
    ] = None,
    csv: Annotated[bool, Option("--csv", help="Also write the rows as CSV.")] = False,
    advise: Annotated[
        bool,
        Option(
            "--advise", help="Publish nothing: show which columns identify people, and the loss of anonymising each."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Publish rows that satisfy privacy models, with the least information loss.

    \b
    Examples:
      discreet publish patients.parquet --card patients.toml --model k=5 --suppress 5% -o release
      discreet publish patients.parquet --card patients.toml --model k=5 --model "t=0.2 on disease" -o release
      discreet publish patients.parquet --card patients.toml --method "rank-swap p=5 on age, income" -o release
      discreet publish visits.parquet --card hospital.toml --table visits --people one-row --model k=5 -o release
      discreet publish patients.parquet --card patients.toml --advise

    The folder holds the rows, what is promised, how they were made, and a report that opens offline. Every model is
    checked again on what is written; if one does not hold, nothing is released. A masking method promises nothing by
    itself and needs no model; the holder's copy beside the folder, for you alone, says which released row is whose:
    discreet show release.holder.parquet. What is published is registered beside the card, and earlier releases of the
    same people are reported.
    """
    from discreet.core.holder_copy import holder_file
    from discreet.models.model import parse_all
    from discreet.releases.pipeline import require_places
    from discreet.verbs.publish.advice import advise as look
    from discreet.verbs.publish.people import joint_card
    from discreet.verbs.publish.publish import publish as make
    from discreet.verbs.publish.publish import require_usable

    opened = open_registered(source, card, table, workspace).despite(despite)
    treatment = None if people is None else _people(people, opened, card, workspace)
    joint = replace(opened, card=joint_card(opened.card, treatment))
    models = parse_all(model or (), joint.card)
    share = share_of(suppress or ("5%" if advise else "0"), "--suppress")
    if advise:
        with tracking("Looking") as at:
            found = look(opened, models or None, suppress=share, progress=at)
        _print_advice(found, as_json)
        return
    masks = MASKING.has(method)
    if not models and not masks:
        _refuse_without_models(method, joint)
    output = require_output(output)
    options: dict[str, Any] = {"quality": quality, "levels": _levels(level or ()), "weights": _weights(weight or ())}
    options = {name: said for name, said in {**options, "suppress": share}.items() if said}
    chosen = _method(method, joint, options if time_limit is None else {**options, "time_limit": time_limit})
    place = holder or (holder_file(output) if masks or treatment is not None else None)
    before = [_earlier(one) for one in earlier or ()]
    require_places(output, csv=csv, holder=place)
    require_usable(chosen, earlier=before, seed=seed, holder=place, people=treatment)
    warn_of_others(opened, output, earlier or (), "masked" if masks else "several-row" if treatment else "published")
    if masks:
        warn_of_seed(seed)
    with stoppable(lambda: _left(output)), tracking("Publishing") as at:
        release = make(
            opened,
            chosen,
            models,
            people=treatment,
            earlier=before,
            seed=seed,
            to=output,
            csv=csv,
            holder=place,
            progress=at,
        )
    if masks and not as_json:
        print_release(release, output, place)
    else:
        _print(release, output, as_json)


def open_registered(source: str, card: str | None, name: str | None, workspace: Path | None) -> Table:
    """The table that is published, with the workspace's register beside its card's."""
    from discreet.engines.read import read

    card = require_card(card)
    with working("Reading"):
        return registered_in(read(source, card, table=name), workspace)


def registered_in(table: Table, workspace: Path | None) -> Table:
    """The table with the workspace's register beside its card's, and the workspace's policy.

    What left beside the card since the workspace was made counts there from now on: else releases of which neither
    register lists all would not be checked together.
    """
    if workspace is None:
        return table
    from discreet.curator.audited import register_answers
    from discreet.curator.workspace import open_workspace
    from discreet.releases.adoption import adopt, read_chains
    from discreet.releases.register import with_registers_beside

    found = open_workspace(workspace)
    if table.card.name not in found.tables:
        raise NotFound(f"There is no table {table.card.name} in {workspace}; it has {', '.join(found.tables)}.")
    chains = read_chains(with_registers_beside(table).registers, table.card, table.source)
    adopt(chains, table.card, found.full_card(table.card.name), found.register)
    register_answers(found)
    return replace(table, registers=(*table.registers, found.register), policy=found.policy)


def warn_of_seed(seed: int | None) -> None:
    if seed is not None:
        console(stderr=True).print(
            "With a seed anyone can repeat every random choice, and the release names the seed: use it to "
            "repeat research, never to protect people."
        )


def _refuse_without_models(method: str, table: Table) -> NoReturn:
    """Refuse an unknown method or a missing privacy model."""
    _method(method, table, {})
    raise BadInput("No privacy model given: add --model.", hint='Such as --model k=5 or --model "l=3 on disease".')


def _method(text: str, table: Table, options: Mapping[str, Any]) -> Recoder | Masker:
    """What ``text`` names; an error, in the words of a command line, for levels that a column does not have."""
    from discreet.verbs.publish.publish import parse_method, refuse_other_verbs
    from discreet.verbs.publish.recoding import require_quasi

    quasi = table.quasi()
    refuse_other_verbs(text)
    require_quasi((*options.get("levels", ()), *options.get("weights", ())), quasi)
    for name, levels in options.get("levels", {}).items():
        low, high = levels if isinstance(levels, tuple) else (levels, levels)
        hierarchy = table.card[name].hierarchy
        last = hierarchy.height if hierarchy else 1
        if not low <= high <= last:
            said = f"{low}..{high}" if low != high else str(low)
            raise BadInput(
                f"--level {name}={said}: the levels of {name} go from 0 to {last}, from fine to coarse.",
                hint=f"Write one of them, --level {name}={last}, or a range, --level {name}=0..{last}.",
            )
    return parse_method(text, table.card, options, dashes="--")


def _people(text: str, table: Table, card: str | None, workspace: Path | None) -> People:
    """A treatment of people with several rows; another table's card is in the same file, by the name of its file."""
    from discreet.core.table import Table

    def other(place: str) -> Table:
        return open_registered(place, card, Path(place).stem, workspace)

    found: People = PEOPLE.parse(text, table.card, {Table: other})
    return found


def _earlier(text: str) -> Earlier:
    """A folder, or a folder and the file in which something was kept."""
    from discreet.core.release import Release

    folder, _, key = text.partition("=") if not Path(text).is_dir() else (text, "", "")
    release = Release.load(folder)
    release = replace(release, title=Path(folder).absolute().name)  # what it is called here: titles are all alike
    return (release, Path(key)) if key else release


def _levels(said: Sequence[str]) -> dict[str, int | tuple[int, int]]:
    """``age=1..3`` and ``sex=0``: the level of each column, or the finest and the coarsest."""
    found: dict[str, int | tuple[int, int]] = {}
    for text in said:
        match = re.fullmatch(r"(.+)=\s*(\d+)(?:\s*\.\.\s*(\d+))?\s*", text)
        if not match:
            raise BadInput(f"{text!r} is not a level.", hint="Write --level age=2 or --level age=1..3.")
        low, high = int(match[2]), int(match[3] or match[2])
        found[match[1].strip()] = low if low == high else (low, high)
    return found


def _weights(said: Sequence[str]) -> dict[str, str]:
    """``age=2``: how much a cell of a column counts."""
    found = dict(text.rpartition("=")[::2] for text in said)
    if "" in found:
        raise BadInput("A weight is given as COLUMN=NUMBER.", hint="Such as --weight age=2.")
    return found


def _print(release: Release[Any], folder: Path, as_json: bool) -> None:
    made = release.recipe.parameters
    if as_json:
        print_json(plain_release(release, folder))
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(release.statement))
    noun, gone = "people" if "units" in made else "rows", percent(made["suppressed"], made["rows"])
    left = f"{made['released_units']:,} of {made['units']:,} people, " if noun == "people" else ""
    out.print(
        f"\n{left}{made['released']:,} of {made['rows']:,} rows, {gone} suppressed; "
        f"{made['classes']:,} classes, the smallest has {made['smallest_class']:,} {noun}."
    )
    listing = grid("column", *(["#level"] if "levels" in made else []), "#lost", "")
    for name, lost in made["lost"].items():
        level = [str(made["levels"][name])] if "levels" in made else []
        listing.add_row(name, *level, percent(lost, 1), "█" * round(12 * lost))
    out.print(listing)
    print_making(release, folder)


def warn_of_others(table: Table, output: Path, checked_with: Sequence[str], kind: str) -> None:
    """Say so if there are earlier releases of the same people that this one is not checked with."""
    from discreet.releases.register import earlier_releases, notice

    known = {Path(part).absolute() for one in checked_with for part in (one, one.partition("=")[0])}
    others = [one for one in earlier_releases(table, output.absolute().parent) if Path(one.release) not in known]
    if not others:
        return
    said = notice(others)
    checkable = [one for one in others if kind == one.kind == "published" and one.release]
    there = [f"--earlier {_short(one.release)}" for one in checkable if Path(one.release).is_dir()]
    gone = [Path(one.release).name for one in checkable if not Path(one.release).is_dir()]
    if there:
        said += f" To check them together, publish with {' '.join(there)}."
    if gone:
        said += f" {', '.join(gone)} cannot be checked because its folder is not here: find it, or ask its holder."
    if beyond := sorted({kind, *(one.kind for one in others)} - {"published"}):
        named = " and ".join(beyond).capitalize()
        said += f" {named} releases cannot be checked together: attack them jointly before you release this one."
    console(stderr=True).print(said)


def _left(output: Path) -> str:
    there = output.is_dir() and any(output.iterdir())
    return f"{output} had been written." if there else "Nothing was written."


def _short(place: str) -> str:
    """A path as people write it here."""
    shorter = os.path.relpath(place)
    return place if shorter.startswith("..") else shorter


def _print_advice(found: Advice, as_json: bool) -> None:
    if as_json:
        shown = asdict(found) | {"undeclared": found.undeclared, "destroys": found.destroys, "advice": str(found)}
        for one in (*shown["alone"], *shown["pairs"]):
            one["roles"] = [role.value for role in one["roles"]]
        print_json(shown)
        return
    out = console()
    for title, listed in (("Columns", found.alone), ("Pairs", found.pairs[:_LISTED])):
        heads = ("columns", "role", "#distinct", "#tell apart", "#unique")
        listing = grid(*heads, title=f"{title} that identify people")
        for one in listed:
            roles = ", ".join(dict.fromkeys(role.value for role in one.roles))
            figures = percent(one.distinction, 1), f"{100 * one.separation:.3f} %", percent(one.unique, 1)
            listing.add_row(" × ".join(one.columns), roles, *figures)
        out.print(listing)
    about = ("quasi-identifiers kept", "#unique", "#minimum loss", "#suppressed")
    listing = grid(*about, title=f"Information loss of anonymity ({' and '.join(found.asked)})")
    for cost in found.costs:
        lost = "no way" if cost.loss is None else percent(cost.loss, 1)
        name = f"{len(cost.columns)}. {'and ' * (len(cost.columns) > 1)}{cost.columns[-1]}"
        listing.add_row(name, percent(cost.unique, 1), lost, percent(cost.suppressed, 1))
    out.print(listing)
    out.print(str(found))
