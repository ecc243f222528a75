"""`discreet demo`: sample data: a made-up hospital and how recognisable its patients are; a messy file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Json
from discreet.cli.output import console, grid, percent, print_json, tracking, working
from discreet.cli.show import print_table
from discreet.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.core.identifiers import Description
    from discreet.core.release import Release
    from discreet.core.table import Table

_KNOWN = ("zip", "sex", "birth_date")  # what a voter list and a hospital both have
_MARK = "MADE-BY-DEMO.txt"
_COARSER = {"zip": 2, "birth_date": 3}  # 130**, the year alone

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Sample data to try discreet on.

    \b
    Examples:
      discreet demo hospital
      discreet demo messy
    """,
)


@app.command("hospital")
def hospital(
    folder: Annotated[Path, Argument(help="Folder for the sample data and the release.")] = Path("demo"),
    rows: Annotated[int, Option(min=100, help="Number of patients.")] = 20_000,
    seed: Annotated[int, Option(help="The same seed makes the same hospital.")] = 1,
    as_json: Json = False,
) -> None:
    """See discreet at work on sample data.

    \b
    Example:
      discreet demo hospital --rows 100000

    Makes up a hospital, identifies its patients with a public voter list, and shows what coarser values change.
    """
    from discreet.core.identifiers import describe

    _require_ours(folder)
    patients, voters = _make(folder, rows, seed)
    with working("Counting"):
        before = describe(patients)
        named = _count_linked(patients, voters)
        coarse = patients.generalize(_COARSER)
        after = describe(coarse)
        still = _count_linked(coarse, voters.generalize(_COARSER))
        place = _release(coarse, before, after).save(folder / "release")
    if as_json:
        unique = [d.together.unique for d in (before, after) if d.together]
        figures = {"rows": before.rows, "unique": unique, "named": [named, still]}
        print_json({**figures, "release": str(place)})
        return
    out = console()
    out.rule("The hospital's own data", align="left")
    print_table(patients, before, out)
    out.rule("Linkage with the public voter list", align="left")
    out.print(
        "The hospital's file has no names, but zip, sex and date of birth, which the voter list has too. "
        f"Matching the two puts a name on {named:,} patients ({percent(named, before.rows)}).\n"
    )
    out.rule("The same file with coarser values", align="left")
    lines = _compared(before, after, named, still)
    out.print(grid("", "#as held", "#coarser", title="zip cut to three digits, birth date to the year", rows=lines))
    out.print(
        f"The coarser file is in {folder / 'release'}, with what it promises (nothing yet: coarser is not "
        "the same as "
        f"anonymous), how it was made, and a report to open in a browser: {folder / 'release' / 'report.html'}\n"
    )
    out.print("Next steps:")
    for command in (
        f"discreet show {folder / 'visits.parquet'} --card {folder / 'hospital.toml'}",
        f"discreet card draft {folder / 'voters.parquet'}",
        f"discreet show {folder / 'release'}",
    ):
        out.print(f"  {command}", style="bold", soft_wrap=True)


@app.command("messy")
def messy(
    folder: Annotated[Path, Argument(help="Path of the file.")] = Path("messy"),
    rows: Annotated[int, Option(min=1, help="Number of hospital stays.")] = 20_000,
    seed: Annotated[int, Option(help="The same seed makes the same file.")] = 1,
    as_json: Json = False,
) -> None:
    """Make a messy file of hospital stays, with the defects of real files.

    \b
    Example:
      discreet demo messy

    The correct card is beside it, as truth.toml, for comparison.
    """
    from discreet.samples import messy as make

    _require_ours(folder)
    with working("Writing hospital stays"):
        made = make(rows, seed)
        file = made.write(folder)
    if as_json:
        print_json({"file": str(file), "card": str(folder / "truth.toml"), "rows": made.truth.num_rows})
        return
    out = console()
    out.print(
        f"{file} has {made.truth.num_rows:,} hospital stays: several a patient, dates in two formats, "
        "decimal commas, "
        "codes, missing-value codes, and some invalid values."
    )
    out.print("Next steps:")
    out.print(f"  discreet init {file}", style="bold", soft_wrap=True)


def _require_ours(folder: Path) -> None:
    """An empty folder, marked as a demo's, so that no other files are overwritten."""
    try:
        if folder.is_dir() and any(folder.iterdir()):
            if not (folder / _MARK).is_file():
                raise BadInput(f"{folder} is not empty.", hint="Name a new folder.")
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _MARK).write_text("This folder was made by `discreet demo`, which will replace it when run again.\n")
    except OSError as error:
        raise BadInput(f"{folder} cannot be used: {error.strerror}.", hint="Name a new folder.") from error


def _make(folder: Path, rows: int, seed: int) -> tuple[Table, Table]:
    from discreet.engines.duckdb import DuckDB
    from discreet.engines.read import read
    from discreet.samples import hospital as make

    with tracking("Making a hospital") as advance:
        paths = make(rows, seed).write(folder, progress=lambda what, share: advance(share, what))
    engine = DuckDB()
    card = folder / "hospital.toml"
    patients, voters = (read(paths[name], card, table=name, engine=engine) for name in ("patients", "voters"))
    return patients, voters


def _count_linked(patients: Table, voters: Table) -> int:
    """Number of patients an outsider can name with the voter list: those unique in both files."""
    from sqlglot import exp

    from discreet.core import sql

    def alone(table: Table) -> exp.Select:
        keys = [sql.column(name) for name in _KNOWN]
        name = sql.named(exp.Min(this=sql.column("name")), "name")
        return table.query(*keys, name).group_by(*keys).having(exp.EQ(this=sql.count_rows(), expression=sql.literal(1)))

    joined = exp.select(sql.named(sql.count_rows(), "n")).from_(alone(patients).subquery("p"))
    joined = joined.join(alone(voters).subquery("v"), using=[*_KNOWN, "name"])
    return int(patients.engine.fetch(joined).column(0)[0].as_py())


def _release(table: Table, before: Description, after: Description) -> Release[pa.Table]:
    from discreet.core.report import bars
    from discreet.core.statement import Statement
    from discreet.releases.method import Answering, Made
    from discreet.releases.pipeline import answered

    unique = [100 * d.together.unique / d.rows for d in (before, after) if d.together]
    picture = bars(
        "Unique records",
        ["as held", "coarser"],
        unique,
        caption="Per cent of records that are unique on the quasi-identifiers.",
    )
    made = Made(table.payload(), pictures=(picture,), title="Patients, with coarser values")
    return answered(Answering("generalise", Statement(unit="patient"), made, {"levels": dict(_COARSER)}), table, None)


def _compared(before: Description, after: Description, named: int, still: int) -> list[tuple[str, str, str]]:
    rows = []
    if before.together and after.together:
        was, now = (percent(d.together.unique, d.rows) for d in (before, after) if d.together)
        rows.append(("records unique on the quasi-identifiers", was, now))
        rows.append(
            (
                "average equivalence class size of a record",
                f"{before.together.crowd:,.1f}",
                f"{after.together.crowd:,.1f}",
            )
        )
    rows.append(("patients named via the voter list", f"{named:,}", f"{still:,}"))
    return rows
