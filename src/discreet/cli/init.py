"""`discreet init`: from files to a card and, if wanted, a workspace, by answering what only you can know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Json, Sheet, require_new
from discreet.cli.output import bold, console, print_json, working
from discreet.core.text import number
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.card import Card, Column, Role
    from discreet.core.draft import Draft
    from discreet.core.table import Violation

_ROLES = {"i": "identifier", "q": "quasi", "s": "sensitive", "o": "other", "u": "undecided"}
_MEANINGS = "[i]dentifier, [q]uasi-identifier (outsiders may know it), [s]ensitive, [o]ther, [u]ndecided"


def init(
    files: Annotated[list[str], Argument(help="Files or database tables with the rows.", metavar="DATA…")],
    output: Annotated[Path, Option("--output", "-o", help="Write the card here.")] = Path("card.toml"),
    *,
    role: Annotated[
        list[str] | None, Option(help="The role of a column, or of one of a table.", metavar="[TABLE.]COLUMN=ROLE")
    ] = None,
    sheet: Sheet = None,
    rows_per_unit: Annotated[int | None, Option(min=1, help="Maximum number of rows per person.")] = None,
    workspace: Annotated[
        Path | None, Option("--workspace", help="Also make a workspace in this new folder.", metavar="FOLDER")
    ] = None,
    budget: Annotated[
        str | None, Option(help='Privacy budget of each table in the workspace: "epsilon=3, delta=1e-6".')
    ] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="No dialogue: accept what is proposed.")] = False,
    as_json: Json = False,
) -> None:
    """Describe your own files: draft a card, decide what only you can know, and check that the rows fit.

    \b
    Examples:
      discreet init stays.csv
      discreet init patients.csv visits.csv -o clinic.toml
      discreet init stays.csv --yes --role ward=other --rows-per-unit 12 --workspace clinic --budget "epsilon=3"

    You are asked about columns whose role is unclear, how many rows a person may have, and values that do not fit. With
    --yes what is unclear stays undecided, and values that do not fit count as missing; the card says so. This command
    releases nothing.
    """
    from discreet.budget.filter import Budget
    from discreet.core.draft import dump_drafts
    from discreet.engines.read import draft, shown

    require_new(output)
    if sheet is not None and len(files) > 1:
        raise BadInput("--sheet is for one workbook.", hint="Draft the workbooks one by one.")
    loss = None if budget is None else Budget.parse(budget)
    if workspace is not None and loss is None:
        if yes:
            raise BadInput("A workspace needs a budget.", hint='Such as --budget "epsilon=3, delta=1e-6".')
        loss = Budget.parse(typer.prompt("Budget of each table", default="epsilon=3, delta=1e-6"))
    with working(f"Looking at {', '.join(map(shown, files))}"):
        drafts = draft([*files]).tables if len(files) > 1 else (draft(files[0], sheet=sheet),)
    roles = _decided(role or (), drafts)
    described = []
    for source, one in zip(files, drafts, strict=True):
        card = _with_roles(one, roles, ask=not yes)
        card = _with_unit(one, card, rows_per_unit, ask=not yes)
        with working(f"Reading {shown(source)} by its card"):
            found = _misfits(source, card)
        described.append(_decided_draft(one, _with_misfits(card, found, ask=not yes)))
    output.write_text(dump_drafts(described), encoding="utf-8")
    cards = [one.card for one in described]
    if workspace is not None:
        from discreet.curator.curator import Curator

        assert loss is not None  # noqa: S101  # asked for above
        tables = {card.name: (source, card) for source, card in zip(files, cards, strict=True)}
        with working("Making the workspace"), Curator.create(workspace, tables, loss, analyst=None):
            pass
    _tell(files, cards, output, workspace, as_json)


def _decided(said: Sequence[str], drafts: Sequence[Draft]) -> dict[tuple[str, str], str]:
    """What --role says, by table and column."""
    found = {}
    for text in said:
        place, equals, role = text.rpartition("=")
        table, dot, column = place.rpartition(".")
        where = [one.card for one in drafts if (one.card.name == table if dot else place in one.card)]
        if not equals or len(where) != 1 or role not in _ROLES.values():
            known = ", ".join(_ROLES.values())
            raise BadInput(
                f"--role {text!r} is not a role.", hint=f"Write COLUMN=ROLE or TABLE.COLUMN=ROLE; roles are {known}."
            )
        found[where[0].name, column if dot else place] = role
    return found


def _with_roles(drafted: Draft, roles: Mapping[tuple[str, str], str], *, ask: bool) -> Card:
    """The drafted card with the roles that were said, and those of undecided columns asked for."""
    from discreet.core.card import Role

    columns = []
    for column in drafted.card.columns:
        role = roles.get((drafted.card.name, column.name), column.role.value)
        if role == Role.UNDECIDED.value and ask:
            out = console(stderr=True)
            out.print(bold(f"\n{drafted.card.name}.{column.name}"), *drafted.findings[column.name][:2], sep="\n  ")
            role = _ROLES[_choice(f"  Role: {_MEANINGS}", _ROLES, "u")]
        columns.append(_in_role(column, Role(role)))
    return replace(drafted.card, columns=tuple(columns))


def _decided_draft(drafted: Draft, card: Card) -> Draft:
    """The draft with a card that a person has decided on, without the questions that are answered."""
    findings = {
        name: found if card[name].role is drafted.card[name].role else (_reason(found[0], card[name].role), *found[1:])
        for name, found in drafted.findings.items()
    }
    whose = drafted.whose
    if card.rows_per_unit is not None or card.rows_are_people:
        whose = {name: tuple(line.partition(" Declare ")[0] for line in said) for name, said in whose.items()}
    return replace(drafted, card=card, findings=findings, whose=whose)


def _reason(line: str, role: Role) -> str:
    """What was counted, and that the role was decided and not guessed."""
    return f"{line.partition('. ')[0]}. {role.value}: decided by a person."


def _in_role(column: Column, role: Role) -> Column:
    from discreet.core.card import Role

    return replace(column, role=role, hierarchy=None if role is Role.IDENTIFIER else column.hierarchy)


def _with_unit(drafted: Draft, card: Card, rows: int | None, *, ask: bool) -> Card:
    """The card with a bound on the rows of a person, where the draft found that people have several."""
    if card.unit is None:
        return card
    if ask and rows is None:
        console(stderr=True).print(bold(f"\n{card.name}"), *drafted.whose.get(card.unit, ()), sep="\n  ")
        if not typer.confirm(f"  Does {card.unit} identify the person of each row?", default=True, err=True):
            return replace(card, unit=None, rows_are_people=True)
        rows = _whole_number("  Maximum number of rows per person to count")
    return replace(card, rows_per_unit=rows)


def _misfits(source: str, card: Card) -> tuple[Violation, ...]:
    """What of the rows does not fit their card, without stopping at it."""
    from discreet.core.text_format import TextFormat
    from discreet.engines.read import read

    lenient = TextFormat(misfit="missing")
    columns = tuple(replace(one, text=lenient.over(one.text)) for one in card.columns)
    table = read(source, replace(card, columns=columns))
    try:
        return table.misfits
    finally:
        table.engine.close()


def _with_misfits(card: Card, found: Sequence[Violation], *, ask: bool) -> Card:
    """The card with what happens to values that do not fit."""
    missing = set()
    for one in found:
        if ask:
            console(stderr=True).print(bold(f"\n{card.name}.{one.column}"), one.what, sep="\n  ")
            said = (
                f"  Such as {', '.join(one.examples)}. Treat them as [m]issing, or stop with an [e]rror to fix first?"
            )
            if _choice(said, ("m", "e"), "m") == "e":
                continue
        missing.add(one.column)
    columns = (
        replace(one, text=replace(one.text, misfit="missing")) if one.name in missing else one for one in card.columns
    )
    return replace(card, columns=tuple(columns))


def _whole_number(question: str) -> int:
    while True:
        said = str(typer.prompt(question, err=True)).strip()
        if said.isdecimal() and int(said) > 0:
            return int(said)
        console(stderr=True).print(f"  {said!r} is not a whole number of at least 1.")


def _choice(question: str, answers: Sequence[str] | Mapping[str, str], default: str) -> str:
    while True:
        said = str(typer.prompt(question, default=default, err=True)).strip().lower()[:1]
        if said in answers:
            return said


def _tell(files: Sequence[str], cards: Sequence[Card], output: Path, workspace: Path | None, as_json: bool) -> None:
    from discreet.core.card import Role

    undecided = [f"{card.name}.{one.name}" for card in cards for one in card.having(Role.UNDECIDED)]
    if as_json:
        where = None if workspace is None else str(workspace)
        print_json(
            {"card": str(output), "tables": [one.name for one in cards], "undecided": undecided, "workspace": where}
        )
        return
    out = console()
    out.print(f"The card is in {output}: {number(len(cards), 'table')}. Check it: guarantees rest on it.")
    if undecided:
        said = f"Undecided, so only differentially private releases are possible: {', '.join(undecided)}."
        out.print(f"{said} Set their roles on the card, or start again with --role.")
    out.print("Next steps:")
    several = "" if len(cards) == 1 else f" --table {cards[0].name}"
    people = " --people one-row" if cards[0].unit is not None and cards[0].rows_per_unit != 1 else ""
    commands = [f"discreet show {files[0]} --card {output}{several}"]
    if not cards[0].having(Role.UNDECIDED):
        commands.append(f"discreet publish {files[0]} --card {output}{several} --model k=5{people} -o release")
    commands += [] if workspace is None else [f"discreet serve {workspace}"]
    for command in commands:
        out.print(f"  {command}", style="bold", soft_wrap=True)
