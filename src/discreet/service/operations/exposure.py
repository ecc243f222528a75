"""Operations on exposure: what everything that left tells together, and what a draft would add to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.curator.audited import register_answers
from discreet.curator.curator import Curator
from discreet.curator.exposure import recipient_overview, workspace_overview
from discreet.curator.people.person import Person, Role
from discreet.curator.release_index import Shelf
from discreet.curator.workspace import Workspace
from discreet.engines.limits import limited
from discreet.errors import NotAllowed
from discreet.releases.overview import Overview, Population, WhatIf, what_if
from discreet.service.jobs.checks import table_of
from discreet.service.jobs.specs import Hide, Learn, Publish, Spec, Tabulate
from discreet.service.jobs.work import make_rows
from discreet.service.operations.permissions import READERS, Permissions

_SECONDS = 10.0
"""Longest time to decide which counts are known by now."""


class ExposureOperations:
    """What left, checked or not, and whether something more may leave."""

    def __init__(self, curator: Curator, shelf: Shelf, may: Permissions) -> None:
        self._curator, self._shelf, self._may = curator, shelf, may

    def overview(self, who: Person, recipient: str | None = None) -> Overview:
        """Everything that left, or what one person has. Sizes of groups are about rows: for stewards alone."""
        with self._may.noted(who.name, "read exposure"):
            self._may.require(who, *READERS)
            if recipient is None:
                found = workspace_overview(self._curator, _SECONDS)
            else:
                found = recipient_overview(self._curator, self._shelf, recipient, _SECONDS)
            return replace(found, populations=tuple(_shown(one, who) for one in found.populations))

    def what_if(self, who: Person, draft: Tabulate | Publish, where: str | None = None) -> WhatIf:
        """Whether a table or its rows would be released; nothing is, and nothing is registered."""
        with self._may.noted(who.name, "try a release", table=draft.table):
            self._may.require_steward(who)
            workspace = self._curator.workspace
            table_of(draft, workspace, self._shelf)
            register_answers(workspace)
            table = workspace.original(draft.table)
            try:
                rows = table if not where else table.where(where)
                with limited(workspace.limits):
                    return what_if(lambda: _made(draft, rows, workspace))
            finally:
                table.engine.close()

    def require_override(self, who: Person, spec: Spec) -> str:
        """The reason why a job is to release something despite exposure; an error if this person may give none."""
        reason = spec.despite if isinstance(spec, Publish | Tabulate | Hide | Learn) else ""
        if reason and who.role.value not in self._curator.workspace.policy.override:
            raise NotAllowed(
                "The policy of this workspace does not allow you to release despite exposure.",
                hint="Release less, or ask with noise. [exposure] in workspace.toml says which roles may.",
            )
        return reason


def _made(draft: Tabulate | Publish, rows: Table, workspace: Workspace) -> Release[Any]:
    if isinstance(draft, Publish):
        return make_rows(draft, rows, workspace)
    from discreet.verbs.tabulate.tabulate import tabulate

    return tabulate(rows, draft.by, draft.value, rules=draft.rules, method=draft.method)


def _shown(population: Population, who: Person) -> Population:
    """A population as someone may see it: folders by their name alone, and what is about rows for stewards."""
    steward = who.role is Role.STEWARD
    departures = tuple(
        replace(one, release=Path(one.release).name, attack=one.attack if steward else "")
        for one in population.departures
    )
    standings = population.standings if steward else ()
    return replace(population, departures=departures, standings=standings)
