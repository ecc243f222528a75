"""`discreet attack`: what would intruders learn from a release?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from discreet.cli.options import CardFile, CardTable, Json
from discreet.cli.output import bold, console, grid, print_json, tracking
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from discreet.verbs.attack.report import Report


def attack(
    folder: Annotated[Path, Argument(help="The folder of the release.", metavar="RELEASE")],
    original: Annotated[
        str | None, Option(help="What the release was made from: a file or a table.", metavar="DATA")
    ] = None,
    card: CardFile = None,
    table: CardTable = None,
    *,
    links: Annotated[
        Path | None, Option(help="Holder's copy that links rows to people; default: the one beside RELEASE.")
    ] = None,
    also: Annotated[
        list[Path] | None, Option(help="Another release about the same people that an intruder may also hold.")
    ] = None,
    only: Annotated[list[str] | None, Option(help="Run only this attack; may be repeated.")] = None,
    control: Annotated[
        str | None, Option(help="Control group: similar people who are not in DATA.", metavar="OTHERS")
    ] = None,
    population: Annotated[
        int, Option(min=0, help="Size of the population of which the original is a random sample.")
    ] = 0,
    html: Annotated[Path | None, Option(help="Write a self-contained HTML report to this file.")] = None,
    no_victims: Annotated[
        bool, Option("--no-victims", help="Leave out the victims' row numbers, so that the report may be shared.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Attack a release: measure what intruders who know the quasi-identifiers would learn.

    \b
    Examples:
      discreet attack release --original patients.parquet --card patients.toml
      discreet attack release --original patients.parquet --card patients.toml --html attacks.html
      discreet attack release --original patients.parquet --card patients.toml --also last-year --only composition
      discreet attack release --original patients.parquet --card patients.toml --control held_out.parquet

    Attacks use everything that the release's recipe says. Each says what its attacker knows, what they get, and what
    guessing would give. Victims are named by their row in the original, for you alone.
    """
    from discreet.core.release import Release
    from discreet.engines.read import read
    from discreet.verbs.attack.attack import attack as run
    from discreet.verbs.attack.attack import links_of

    if original is None or card is None:
        raise BadInput(
            "An attack is scored against the original data: add --original DATA --card CARD.",
            hint=f"For example: discreet attack {folder} --original patients.csv --card patients.toml",
        )
    if html is not None and not html.resolve().parent.is_dir():
        raise NotFound(f"There is no folder {html.resolve().parent} to put {html.name} in.")
    release, others = Release.load(folder), [Release.load(other) for other in also or ()]
    found = links_of(folder, links)
    with tracking("Attacking") as at:
        report = run(
            release,
            read(original, card, table=table),
            found,
            only or None,
            others,
            control=None if control is None else read(control, card, table=table),
            population=population,
            progress=at,
        )
    if no_victims:
        report = report.without_victims()
    if html is not None:
        report.html(html)
    if as_json:
        print_json(report.to_dict(victims=not no_victims))
    else:
        _print(report, html)


def _print(report: Report, html: Path | None) -> None:
    from discreet.verbs.attack.finding import Outcome
    from discreet.verbs.attack.report import UNSURE, share_text

    out = console()
    out.print(bold(report.summary))
    listing = grid("attack", "outcome", "#figure", "#95 %", "#guessing", "rows of victims")
    for one in report.findings:
        if one.outcome is Outcome.FAILED:
            listing.add_row(one.attack, one.outcome.value, "", "", "", "")
            continue
        low, high = (share_text(end) for end in one.interval)
        victims = ", ".join(map(str, one.victims))
        interval = f"{low} to {high}" + ("" if one.interval_is == "95 %" else f" ({one.interval_is})")
        figures = share_text(one.figure), interval, share_text(one.baseline)
        listing.add_row(one.attack, one.outcome.value, *figures, victims)
    out.print(listing)
    for one in report.findings:
        if one.outcome is Outcome.BROKE:
            out.print(bold(one.attack), f"– {one.knows} {one.meaning}")
    for one in report.findings:
        if one.outcome is Outcome.UNSURE:
            out.print(bold(one.attack), f"– {UNSURE} {one.meaning}")
        if one.outcome is Outcome.FAILED:
            out.print(bold(one.attack), f"could not run. {one.meaning}")
    if report.not_applicable:
        out.print("Not applicable to this release:", ", ".join(name for name, _ in report.not_applicable) + ".")
    if any(one.victims for one in report.findings):
        out.print("Victims' row numbers are confidential: use --no-victims before you share this.")
    if html is not None:
        out.print(f"The report: {html}")
