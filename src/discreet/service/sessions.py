"""Sessions of a served workspace with other holders: manifests and the own key are in its folder ``combine/``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.curator.audited import require_noise
from discreet.curator.workspace import Workspace, open_books
from discreet.errors import BadInput, NotFound

if TYPE_CHECKING:
    from discreet.verbs.combine.participation import Participant

FOLDER = "combine"
_INPUTS = (".txt", ".csv", ".parquet")
_MOST_SHOWN = 6
"""Largest number of parties for which all coalitions are listed."""


@dataclass(frozen=True)
class SessionView:
    """A session, as a steward sees it before taking part."""

    name: str
    me: str
    """Which party this workspace is."""
    parties: tuple[tuple[str, str, str], ...]
    """Name, address and fingerprint of each."""
    function: str
    protocol: str
    statement: str
    brief: tuple[str, str]
    """Who learns what, and how much noise there is."""
    learnt: tuple[tuple[str, str], ...]
    """Coalitions, and what each would learn; none if there are too many."""
    inputs: tuple[str, ...]
    """What it can bring: tables of the workspace, and files beside the manifest."""


def names_of(workspace: Workspace) -> list[str]:
    """The sessions that a workspace can take part in."""
    return sorted(path.stem for path in (workspace.folder / FOLDER).glob("*.toml"))


def view_of(workspace: Workspace, name: str) -> SessionView:
    """One of them; an error if its manifest or the own key is not right."""
    from discreet.verbs.combine import session, summary
    from discreet.verbs.combine.symbolic.leakage import leakages

    place = _seated(workspace, name)
    terms = place.manifest.terms
    learnt: tuple[tuple[str, str], ...] = ()
    if len(terms.parties) <= _MOST_SHOWN and not session.joins(terms):
        found = leakages(terms, terms.parties)
        learnt = tuple((", ".join(who), summary.describe_leakage(terms, one)) for who, one in found.items())
    files = sorted(path.name for path in (workspace.folder / FOLDER).iterdir() if path.suffix in _INPUTS)
    return SessionView(
        name,
        place.name,
        tuple((party.name, party.address, party.fingerprint) for party in place.manifest.parties),
        terms.function,
        terms.protocol,
        str(session.statement(terms)),
        summary.brief(terms),
        learnt,
        (*workspace.private, *files),
    )


def require_playable(workspace: Workspace, name: str, brings: str) -> None:
    """An error if this workspace cannot take part with this; no row is looked at."""
    from discreet.verbs.combine import session

    view = view_of(workspace, name)
    if brings not in view.inputs:
        raise NotFound(f"There is no input {brings!r:.60}.", hint=f"Choose from {', '.join(view.inputs)}.")
    if brings in workspace.private:
        with open_books(workspace) as ledger:
            require_noise(ledger, [brings])
    loss = session.statement(_seated(workspace, name).manifest.terms).loss
    if loss is not None and brings not in workspace.private:
        raise BadInput(
            f"The result has noise ({loss}), which must be charged to a table's budget.",
            hint="Choose a table of the workspace as input, or use the command: discreet combine run",
        )


def take_part(workspace: Workspace, name: str, brings: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Play this workspace's part to its end; the result and what was seen, as plain data."""
    from discreet.verbs.combine import participation, summary
    from discreet.verbs.combine.terms import Result

    place, private = _seated(workspace, name), brings in workspace.private
    with open_books(workspace) as ledger:
        require_noise(ledger, [brings] if private else [])  # what is combined of an audited table is not in its history
        data: Any = workspace.original(brings) if private else workspace.folder / FOLDER / brings
        charge = participation.LedgerCharge(ledger, brings, f"combine {name}") if private else None
        release = participation.take_part(place, data, charge=charge, progress=progress)
    seen = participation.draw_view(workspace.folder / FOLDER / name, place.name)
    return {
        "session": name,
        "result": str(Result(release.payload, ())),
        "included": list(release.recipe.parameters["included"]),
        "off": summary.expected_error(place.manifest.terms, len(release.recipe.parameters["included"])),
        "promise": release.promise,
        "picture": seen.figure,
        "lines": [[str(one.number), one.of, ", ".join(one.to), one.kind, one.what] for one in seen.lines[:500]],
    }


def _seated(workspace: Workspace, name: str) -> Participant:
    from discreet.verbs.combine.participation import find_participant

    if name not in names_of(workspace):
        raise NotFound(f"There is no session called {name!r:.60} here.", hint=f"Put its manifest into {FOLDER}/.")
    return find_participant(Path(workspace.folder) / FOLDER / f"{name}.toml")
