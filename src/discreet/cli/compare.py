"""`discreet compare`: risk and loss of masking methods on a table; how faithful synthetic rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from discreet.cli.options import CardFile, CardTable, Json, require_new
from discreet.cli.output import bold, console, grid, print_json, stoppable, tracking
from discreet.core.text import number
from discreet.errors import BadInput

_SHOWN = 5
"""Maximum number of error bounds listed."""


def compare(
    source: Annotated[str | None, Argument(help="The table, as for `discreet publish`.", metavar="DATA")] = None,
    synthetic: Annotated[
        str | None, Argument(help="A synthetic release, or a table, to measure against DATA.", metavar="[RELEASE]")
    ] = None,
    card: CardFile = None,
    table: CardTable = None,
    *,
    target: Annotated[str | None, Option(help="For synthetic data: the column that models predict.")] = None,
    control: Annotated[
        str | None, Option(help="For synthetic data: held-out people, not in DATA, to test models on.")
    ] = None,
    methods: Annotated[Path | None, Option(help="List of methods to try (TOML); default: a short list.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write the map, or the report, to this HTML file.")
    ] = None,
    loss: Annotated[str, Option(help="Information loss measure: pil, il1, propensity, learning, …")] = "pil",
    seed: Annotated[int, Option(help="Random seed of the maskings; the same seed gives the same map.")] = 1,
    processes: Annotated[int | None, Option(help="Number of processes; default: one per processor.")] = None,
    fresh: Annotated[bool, Option("--fresh", help="Measure everything again; use and keep no cached results.")] = False,
    example: Annotated[Path | None, Option(help="Only write an example list of methods to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the risk and utility of masking methods on a table; or measure how faithful synthetic data is.

    \b
    Examples:
      discreet compare --example menu.toml
      discreet compare patients.parquet --card patients.toml --methods menu.toml -o map.html
      discreet compare patients.parquet synthetic/ --card patients.toml -o fidelity.html

    The map shows every method and the original, the efficient frontier, all figures, and recommendations. Measurements
    are kept beside it in the folder map.points, so that an interrupted comparison resumes. The map reveals something
    about the original table: do not pass it on.

    With RELEASE, its rows are compared with the original ones: counts of one, two and three columns, correlations,
    whether synthetic rows can be told from original ones, and how well models trained on them predict.
    """
    from discreet.engines.read import read
    from discreet.verbs.publish.compare import EXAMPLE, read_menu
    from discreet.verbs.publish.compare import compare as put

    if example is not None:
        require_new(example)
        example.write_text(EXAMPLE, encoding="utf-8")
        console().print(f"Example list of methods written to {example}.")
        return
    if source is None or card is None:
        raise BadInput(
            "Which table? Give DATA and --card CARD.",
            hint="Or write an example list of methods first: --example methods.toml",
        )
    if output is not None and not output.resolve().parent.is_dir():
        raise BadInput(f"There is no folder {output.resolve().parent} to write the map to.")
    if synthetic is not None:
        if methods is not None:
            raise BadInput("Give either --methods, to try methods, or RELEASE, to compare one.")
        _faithful(source, synthetic, card, table, target=target, control=control, output=output, as_json=as_json)
        return
    if target is not None or control is not None:
        raise BadInput("--target and --control are for synthetic rows.", hint="Name the RELEASE, too.")
    chosen = read_menu(methods) if methods is not None else None
    opened = read(source, card, table=table)
    keep = output.with_suffix(".points") if output is not None and not fresh else None
    with stoppable(lambda: _left(keep)), tracking("Comparing") as at:
        found = put(opened, chosen, loss=loss, seed=seed, processes=processes, keep=keep, progress=at)
    if output is not None:
        found.html(output)
    if as_json:
        print_json(found.to_dict())
        return
    console().print(str(found), soft_wrap=True)
    if output is not None:
        console().print(f"The map: {output}. It reveals details of the original table: keep it confidential.")


def _left(keep: Path | None) -> str:
    if keep is None or not keep.exists():
        return "Nothing was written."
    return f"Results so far are in {keep}; the same command resumes from there."


def _faithful(
    source: str,
    synthetic: str,
    card: str,
    table: str | None,
    *,
    target: str | None,
    control: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure and print how faithful the rows of a release, or of a file, are."""
    from discreet.core.release import Release, is_release
    from discreet.engines.read import read
    from discreet.utility.faithful.measure import fidelity

    original = read(source, card, table=table)
    others = None if control is None else read(control, card, table=table)
    made = Release.load(synthetic) if is_release(synthetic) else read(synthetic, card, table=table)
    with tracking("Comparing") as at:
        found = fidelity(original, made, target=target, control=others, progress=at)
    if output is not None:
        found.html(output)
    if as_json:
        print_json(found.to_dict())
        return
    out = console()
    out.print(bold(found.summary))
    rows = (one.cells for one in found.measured)
    out.print(grid("measure", "#figure", "#another sample", "#independent", "better if", rows=rows))
    out.print(
        "Another sample: the value for a fresh sample of the same size. "
        "Independent: columns right one by one, no relations."
    )
    for one in found.measured:
        if one.why:
            out.print(f"{one.name}: {one.why}.")
    if found.count_errors:
        shown = found.count_errors[:_SHOWN]
        rows = (one.cells for one in shown)
        out.print(grid("counts over", "#promised, at most", "#measured", rows=rows, title="Error of counts"))
        out.print(
            f"Shares of the synthetic rows; the {number(len(shown), 'largest bound')} of {len(found.count_errors):,}."
        )
    if output is not None:
        out.print(f"The report: {output}.")
    out.print("This reveals details of the original table: keep it confidential. To measure risk: discreet attack.")
