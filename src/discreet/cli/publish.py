"""`discreet publish`: give a file away so that nobody in it can be singled out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from discreet.cli.output import (
    CardFile,
    CardTable,
    Json,
    Source,
    bold,
    console,
    grid,
    percent,
    print_json,
    stoppable,
    tracking,
)
from discreet.core.exact import share_of
from discreet.core.families import MASKING
from discreet.errors import BadInput
from discreet.verbs.publish.methods import parse_method

if TYPE_CHECKING:
    from discreet.cli.synthesize import Wanted
    from discreet.core.release import Release
    from discreet.core.table import Table
    from discreet.curator.published import Published, Register
    from discreet.verbs.publish.advice import Advice
    from discreet.verbs.publish.earlier_releases import Earlier
    from discreet.verbs.publish.masking import Masker
    from discreet.verbs.publish.recoding import Recoder

_HOW = (
    "How to get there: a recoding method; a masking method, such as 'noise alpha=0.1'; rows of nobody, "
    "'synthesize epsilon=1 delta=1e-9'; or a model, 'learn tree target=income integral=20'. All are listed below."
)
_LISTED = 8


def publish(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    *,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help='What must hold: "k=5", "l=3 on disease", "t=0.2 on disease", …'),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the release to this new folder.")] = None,
    suppress: Annotated[
        str | None, typer.Option("--suppress", help="Leave out at most this share of the rows, such as 5%.")
    ] = None,
    method: Annotated[str, typer.Option("--method", help=_HOW)] = "generalize",
    quality: Annotated[
        str | None, typer.Option("--quality", help="Loss to minimise: granularity, geometric, precision, …, as below.")
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option("--level", help="Levels a column may have: age=2 or age=1..3.")
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option("--weight", help="With suppress-cells: how much a column counts, age=2.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.0, help="Seconds to search; the best so far is taken.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            help="An earlier release of the same people, and what was kept of it, if anything was.",
            metavar="RELEASE[=KEY]",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="Keep what became of whom in this file, for --given. It must never leave."),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", help="Also look up, and write down, in this workspace what was published."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="With masking: make it repeatable, by anybody. For research, not release."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also write the rows as CSV.")] = False,
    advise: Annotated[
        bool, typer.Option("--advise", help="Publish nothing: say which columns tell people apart, and what it costs.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Publish a table so that privacy models hold for it, at the least loss.

    \b
    Examples:
      discreet publish patients.parquet --card patients.toml --model k=5 --suppress 5% -o release
      discreet publish patients.parquet --card patients.toml --model k=5 --model "t=0.2 on disease" -o release
      discreet publish patients.parquet --card patients.toml --method "rank-swap p=5 on age, income" -o release
      discreet publish patients.parquet --card patients.toml --method "synthesize epsilon=1 delta=1e-9" -o twin
      discreet publish credit.parquet --card credit.toml --method "learn tree target=default integral=20" -o model
      discreet publish patients.parquet --card patients.toml --advise

    The folder holds the rows, what is promised, how they were made, and a report that opens offline. Every model is
    checked again on what is written; if one does not hold, nothing is. A masking method promises nothing by itself and
    needs no model; which released row is whose, and a report with the originals in it, are kept beside the folder, for
    you alone. What is published is written down beside the card; if something of the same people is out already, you
    are told.
    """
    from discreet.cli.synthesize import Wanted
    from discreet.core.holder_copy import private
    from discreet.curator.published import earlier, now
    from discreet.engines.read import read
    from discreet.models.catalogue import parse_all
    from discreet.verbs.publish.advice import advise as look
    from discreet.verbs.publish.mask.release import Linked
    from discreet.verbs.publish.publish import publish as make
    from discreet.verbs.publish.publish import require_usable

    beside = {"model": model, "suppress": suppress, "level": level, "weight": weight, "time-limit": time_limit}
    wanted = Wanted(source, card, table, method, output, keep, workspace, seed, csv, as_json)
    if not advise and _made_otherwise(
        wanted, [name for name, one in {**beside, "given": given}.items() if one is not None]
    ):
        return
    if card is None:
        raise BadInput("A table is published by its card: add --card CARD.", hint="Draft one: discreet card draft …")
    opened = read(source, card, table=table)
    models = parse_all(model or (), opened.card)
    share = share_of(suppress or ("5%" if advise else "0"), "--suppress")
    if advise:
        with tracking("Looking") as at:
            found = look(opened, models or None, suppress=share, progress=lambda done, what: at(what, done))
        _print_advice(found, as_json)
        return
    masks = MASKING.has(method)
    if not models and not masks:
        _refuse_without_models(method, opened)
    if output is None:
        raise BadInput("Say where to write the release: add --output FOLDER.")
    options: dict[str, Any] = {"quality": quality, "levels": _levels(level or ()), "weights": _weights(weight or ())}
    options = {name: said for name, said in {**options, "suppress": share}.items() if said}
    chosen = _method(method, opened, options if time_limit is None else {**options, "time_limit": time_limit})
    page = _page(output) if masks else None
    keep = keep or (output.with_name(f"{output.name}.links.parquet") if masks else None)
    registers = registers_of(card, workspace, opened.card.name)
    out = earlier(opened.card.name, source, registers, output.absolute().parent)
    before = [_earlier(one) for one in given or ()]
    require_usable(chosen, given=before, seed=seed, to=output, keep=keep)
    warn_of_others(out, given or (), "masked" if masks else "published")
    if masks:
        _warn_of_seed(seed)
    with stoppable(lambda: _left(output)), tracking("Publishing") as at:
        release = make(
            opened,
            chosen,
            models,
            given=before,
            seed=seed,
            to=output,
            csv=csv,
            keep=keep,
            progress=lambda done, what: at(what, done),
        )
    made = now(opened.card.name, source, output, release.recipe.method, release.recipe.parameters["rows"])
    write_down(registers, made)
    if isinstance(release, Linked) and page is not None:
        with private(page) as file:
            file.write(release.page().encode())
    if masks and not as_json:
        _print_masked(release, output, keep, page)
    else:
        _print(release, output, as_json)


def _made_otherwise(wanted: Wanted, meaningless: Sequence[str]) -> bool:
    """Whether what is wanted are rows of nobody, or a model; they are made."""
    from discreet.cli.learn import learn
    from discreet.cli.synthesize import synthesize

    name = wanted.method.lower().split()[0] if wanted.method.strip() else ""
    if name == "synthesize":
        synthesize(wanted, meaningless)
    elif name == "learn":
        learn(wanted, [*meaningless, *(["csv"] if wanted.csv else [])])
    else:
        return False
    return True


def registers_of(card: str, workspace: Path | None, table: str) -> list[Register]:
    """Where it is written down what was published: beside the card and, if there is one, in the workspace."""
    from discreet.curator.published import Register

    return [Register.beside(card), *([] if workspace is None else [Register.within(workspace, table)])]


def _warn_of_seed(seed: int | None) -> None:
    if seed is not None:
        console(stderr=True).print(
            "With a seed anybody who knows it can take the masking away, and the release says which it is: use this to "
            "repeat research, never for a release that is to protect anybody."
        )


def _page(output: Path) -> Path:
    """Where a masked release is shown beside the original; an error if something is there."""
    page = output.with_name(f"{output.name}.compared.html")
    if page.exists():
        raise BadInput(f"There is a file {page} already.", hint="Move it away, or publish to another folder.")
    return page


def _refuse_without_models(method: str, table: Table) -> NoReturn:
    """An error: there is no such method, or nothing that must hold."""
    _method(method, table, {})
    raise BadInput("Say what must hold: add --model.", hint='Such as --model k=5 or --model "l=3 on disease".')


def _method(text: str, table: Table, options: Mapping[str, Any]) -> Recoder | Masker:
    """What ``text`` names; an error, in the words of a command line, for levels that a column does not have."""
    from discreet.verbs.publish.recoding import require_quasi

    require_quasi((*options.get("levels", ()), *options.get("weights", ())), list(table.quasi()))
    for name, levels in options.get("levels", {}).items():
        low, high = levels if isinstance(levels, tuple) else (levels, levels)
        hierarchy = table.card[name].hierarchy
        last = hierarchy.height if hierarchy else 1
        if not low <= high <= last:
            said = f"{low}..{high}" if low != high else str(low)
            raise BadInput(
                f"--level {name}={said}: the levels of {name} go from 0 to {last}, the finer one first.",
                hint=f"Write one of them, --level {name}={last}, or a range, --level {name}=0..{last}.",
            )
    return parse_method(text, table.card, options, dashes="--")


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
            raise BadInput(f"{text!r} names no levels.", hint="Write --level age=2 or --level age=1..3.")
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
        said = {"statement": release.statement.to_dict(), "recipe": release.recipe.to_dict()}
        print_json({"release": str(folder), **said})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(release.statement))
    out.print(
        f"\n{made['released']:,} of {made['rows']:,} rows, {percent(made['suppressed'], made['rows'])} suppressed; "
        f"{made['classes']:,} classes, the smallest has {made['smallest_class']:,} rows."
    )
    listing = grid("column", *(["#level"] if "levels" in made else []), "#lost", "")
    for name, lost in made["lost"].items():
        level = [str(made["levels"][name])] if "levels" in made else []
        listing.add_row(name, *level, percent(lost, 1), "█" * round(12 * lost))
    out.print(listing)
    out.print(*release.recipe.steps, sep="\n")
    out.print(f"The report: {folder / 'report.html'}")


def warn_of_others(out: Sequence[Published], given: Sequence[str], how: str) -> None:
    """Say so if releases of the same people are out, and were not given; ``how`` this one is made, in a word."""
    from discreet.curator.published import told_of

    known = {Path(part).absolute() for one in given for part in (one, one.partition("=")[0])}
    others = [one for one in out if Path(one.release) not in known]
    if not others:
        return
    said = told_of(others)
    checked = [one for one in others if how == one.how == "published"]
    there = [f"--given {_short(one.release)}" for one in checked if Path(one.release).is_dir()]
    gone = [Path(one.release).name for one in checked if not Path(one.release).is_dir()]
    if there:
        said += f" To have them checked together, publish with {' '.join(there)}."
    if gone:
        said += f" {', '.join(gone)} cannot be checked while nobody has it here: find it, or ask who has it."
    if beyond := sorted({how, *(one.how for one in others)} - {"published"}):
        named = " and ".join(beyond).capitalize()
        said += f" {named} releases cannot be checked together: attack them together before you hand them over."
    console(stderr=True).print(said)


def _left(output: Path) -> str:
    there = output.is_dir() and any(output.iterdir())
    return f"{output} was written already, and not written down." if there else "Nothing was written."


def write_down(registers: Sequence[Register], made: Published) -> None:
    """Write down what was published, or say that it could not be."""
    for register in registers:
        try:
            register.add(made)
        except OSError as error:
            console(stderr=True).print(
                f"This could not be written down in {register.file} ({error.strerror}). Keep in mind that it is out."
            )


def _short(place: str) -> str:
    """A path as people write it here."""
    shorter = os.path.relpath(place)
    return place if shorter.startswith("..") else shorter


def _print_masked(release: Release[Any], folder: Path, links: Path | None, page: Path | None) -> None:
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(str(release.statement))
    out.print(*release.recipe.steps, sep="\n")
    out.print(f"The report: {folder / 'report.html'}")
    if page is not None:
        out.print(f"The same beside the original: {page}. This is for you alone; it must never leave.")
    if links is not None and links.exists():
        out.print(f"Which row is whose: {links}. This is for you alone; it must never leave.")


def _print_advice(found: Advice, as_json: bool) -> None:
    if as_json:
        shown = asdict(found) | {"undeclared": found.undeclared, "destroys": found.destroys, "advice": str(found)}
        for one in (*shown["alone"], *shown["pairs"]):
            one["roles"] = [role.value for role in one["roles"]]
        print_json(shown)
        return
    out = console()
    for title, listed in (("Columns", found.alone), ("Pairs", found.pairs[:_LISTED])):
        listing = grid(
            "columns", "role", "#distinct", "#tell apart", "#unique", title=f"{title} that tell people apart"
        )
        for one in listed:
            roles = ", ".join(dict.fromkeys(role.value for role in one.roles))
            figures = percent(one.distinction, 1), f"{100 * one.separation:.3f} %", percent(one.unique, 1)
            listing.add_row(" × ".join(one.columns), roles, *figures)
        out.print(listing)
    listing = grid(
        "quasi-identifiers kept",
        "#unique",
        "#lost at best",
        "#suppressed",
        title=f"What anonymity costs ({' and '.join(found.asked)})",
    )
    for cost in found.costs:
        lost = "no way" if cost.loss is None else percent(cost.loss, 1)
        name = f"{len(cost.columns)}. {'and ' * (len(cost.columns) > 1)}{cost.columns[-1]}"
        listing.add_row(name, percent(cost.unique, 1), lost, percent(cost.suppressed, 1))
    out.print(listing)
    out.print(str(found))
