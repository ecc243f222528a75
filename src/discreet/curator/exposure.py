"""Exposure of a workspace: what left of each population, answers included, and what was spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from discreet.budget.entries import Charged
from discreet.core.card import ExposurePolicy
from discreet.core.loss import Pure
from discreet.curator.audited import METHOD, register_answers
from discreet.curator.curator import MADE, Curator
from discreet.curator.release_index import ANSWER, HOLDER, LEARNT, SYNTHETIC, Shelf, Shelved
from discreet.curator.workspace import Workspace
from discreet.errors import NotFound
from discreet.releases.overview import LOSS, Departure, Overview, Population, Spent, populations_in
from discreet.releases.register import RECIPIENT, Register
from discreet.releases.store import SEAL

_MOST_RELEASES = 10_000
"""Number of releases of a recipient that are looked at."""


def workspace_overview(curator: Curator, seconds: float | None = None) -> Overview:
    """Everything that left of the tables of a workspace; ``seconds`` is the longest time to decide what is known."""
    workspace = curator.workspace
    register_answers(workspace)
    known = {one.name: one for one in populations_in(workspace.register, _policy(workspace, seconds))}
    return Overview(_with_answers(workspace, known, list(_charges(curator))), _spent(curator, ""))


def recipient_overview(curator: Curator, shelf: Shelf, recipient: str, seconds: float | None = None) -> Overview:
    """What someone has: answers given to them, releases shared with them and tables they were declared to hold, and
    what these tell together."""
    workspace = curator.workspace
    register_answers(workspace)
    spent = _spent(curator, recipient)
    tables = [one.table for one in spent]
    with Register(workspace.register) as register:
        entries = register.entries()
    held = {one.number for one in entries if one.told.get(RECIPIENT) == recipient}
    if not tables and not held:
        raise NotFound(f"{recipient} may not query any table here, so nothing is shared with them.")
    theirs = [
        one
        for one in shelf.all(tables=tables, seen_by=recipient, most=_MOST_RELEASES)
        if all(name in tables for name in one.tables if name in workspace.private)
    ]
    folders = {str(workspace.folder / one.place) for one in theirs}
    charged = {line.number for line in curator.ledger.lines() if _account(line.entry).partition("/")[2] == recipient}
    lines = held | {one.number for one in entries if one.release in folders or one.told.get("line") in charged}
    found = populations_in(workspace.register, _policy(workspace, seconds), lines=lines)
    answers = [_answer(one) for one in theirs if _has_loss(one)]
    known = {one.name: one for one in found if one.departures}
    return Overview(_with_answers(workspace, known, answers[::-1]), spent, recipient)


def _policy(workspace: Workspace, seconds: float | None) -> ExposurePolicy:
    policy = workspace.policy
    return policy if seconds is None else replace(policy, seconds=min(seconds, policy.seconds))


def _with_answers(
    workspace: Workspace, known: dict[str, Population], answers: list[Departure]
) -> tuple[Population, ...]:
    """Populations with the answers about their tables among what left, in order of time."""
    for one in answers:
        name = one.table
        with suppress(NotFound):  # an earlier discreet kept less of the card
            name = workspace.full_card(one.table).people
        population = known.get(name) or Population(name, (), (), workspace.policy)
        known[name] = replace(population, departures=(*population.departures, one))
    return tuple(
        replace(one, departures=tuple(sorted(one.departures, key=lambda line: line.at))) for one in known.values()
    )


def _charges(curator: Curator) -> Iterator[Departure]:
    """What was charged for noise; audited questions cost nothing, and their answers are in the register."""
    for line in curator.ledger.lines():
        entry = line.entry
        if isinstance(entry, Charged) and not entry.key.startswith(SEAL) and entry.loss != Pure(0):
            table, _, analyst = entry.account.partition("/")
            if table in curator.workspace.private:
                title = (entry.purpose.rpartition("\n")[0] or entry.purpose).split("\n")[0]
                holder = HOLDER if entry.key.startswith(MADE) else "synthetic stand-in"
                by = f"asked by {analyst}" if analyst else holder
                at = line.at.isoformat(timespec="seconds")
                yield Departure(line.number, at, title, by, table, LOSS, loss=str(entry.loss), answer=True)


def _has_loss(one: Shelved) -> bool:
    """Whether a release was charged, so that it is no line of the register."""
    charged = one.kind in (ANSWER, SYNTHETIC) or (one.kind == LEARNT and one.loss is not None)
    return charged and one.method != METHOD


def _account(entry: object) -> str:
    return entry.account if isinstance(entry, Charged) else ""


def _answer(one: Shelved) -> Departure:
    at, table = one.at.isoformat(timespec="seconds"), one.tables[0]
    return Departure(0, at, one.title, one.method, table, LOSS, loss=str(one.loss or ""), answer=True)


def _spent(curator: Curator, recipient: str) -> tuple[Spent, ...]:
    """What was spent by table and by analyst, or by one analyst."""
    parts = [(*one.name.partition("/")[::2], one) for one in curator.ledger.accounts()]
    return tuple(
        Spent(table, analyst, str(one.spent), str(one.budget))
        for table, analyst, one in parts
        if table in curator.workspace.private and recipient in ("", analyst)
    )
