"""`discreet check`: which privacy models hold for a table, and where they fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from discreet.cli.options import CardFile, CardTable, Json, Source
from discreet.cli.output import bold, console, grid, print_json, working
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.models.check import Verdicts


def check(
    source: Source,
    card: CardFile = None,
    table: CardTable = None,
    *,
    model: Annotated[
        list[str] | None,
        Option("--model", "-m", help='Privacy model, such as k=5 or "l=3 on disease"; may be repeated.'),
    ] = None,
    picture: Annotated[Path | None, Option(help="Draw the class sizes into this file (.svg or .html).")] = None,
    as_json: Json = False,
) -> None:
    """Check privacy models on a table: whether they hold, and where they fail.

    \b
    Examples:
      discreet check patients.parquet --card patients.toml --model k=5 --model "l=3 on disease"
      discreet check patients.parquet --card patients.toml
      discreet check release/ --card patients.toml --model k=5

    For a release, the released rows are checked. Without a model it says which of the usual ones hold, and with what
    figures. The exit status is 1 if a model does not hold.
    """
    from discreet.engines.read import shown

    if card is None:
        raise BadInput(
            "A check needs the card, which declares what outsiders may know: add --card CARD.",
            hint=f"No card yet? Draft one: discreet card draft {shown(source)} -o card.toml",
        )
    if picture is not None and picture.suffix not in (".svg", ".html"):
        raise BadInput(f"A picture is an .svg or .html file, not {picture}.")
    from discreet.core.cardfile import load_card
    from discreet.core.release import is_release
    from discreet.engines.read import read
    from discreet.models.check import check as check_models
    from discreet.models.model import parse_all
    from discreet.verbs.publish.earlier_releases import read_release

    with working(f"Checking {shown(source)}"):
        opened = (
            read_release(source, load_card(card, table, default=Path(source).name))
            if is_release(source)
            else read(source, card, table=table)
        )
        verdicts = check_models(opened, *parse_all(model or (), opened.card))
    if picture is not None:
        _draw(verdicts, picture)
    if as_json:
        print_json(verdicts.to_dict())
    else:
        _print(verdicts, asked=bool(model))
    if not verdicts.holds:
        raise typer.Exit(1)


def _print(verdicts: Verdicts, *, asked: bool) -> None:
    from discreet.models.check import cells

    out = console()
    out.print(bold(verdicts.summary))
    if not verdicts.rows:
        out.print("There are no rows, so no one is exposed.")
        return
    rows = (cells(verdict) for verdict in verdicts)
    out.print(grid("model", "holds", "#figure", "what it is", "worst class", f"#{verdicts.counted} exposed", rows=rows))
    for note in verdicts.notes:
        out.print(note)
    broken = sum(not verdict.holds for verdict in verdicts)
    if not asked:
        out.print("These models hold already. Check others with --model; reach them with discreet publish.")
    elif broken:
        out.print(bold(f"{broken} of {len(verdicts)} models do not hold."))
    else:
        out.print("All models hold. They do not cover what several releases about the same people reveal together.")


def _draw(verdicts: Verdicts, path: Path) -> None:
    from discreet.core.report import page

    if not verdicts.rows:
        raise BadInput("There are no rows to draw.")
    drawn = verdicts.picture()
    text = drawn.svg if path.suffix == ".svg" else page(verdicts.table, verdicts._repr_html_())
    path.write_text(text, encoding="utf-8")
