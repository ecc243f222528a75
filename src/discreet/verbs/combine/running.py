"""One party of a session between hosts: from the manifest and the party's input to a release, and back after a crash.

A party keeps a folder beside the manifest: ``pay.toml`` and north make ``pay.north/`` with

    manifest.toml       what all agreed on
    transcript.jsonl    every message sent or got, with its signature: may be shown to others
    seen.jsonl          what was in them, as far as north could read it: for north alone
    secret, journal     what north resumes from: for north alone
    charged             under which key a loss was charged, if there is noise inside
    release/            the result, with its statement

and, beside its key, ``north.begun`` with the digests of the sessions that it began: if a folder is lost, its session is
not begun again, since north would sign other messages in the place of those that the others have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.atomic_files import write
from discreet.core.loss import Loss
from discreet.errors import Aborted, BadInput, NotDeclared, NotFound
from discreet.verbs.combine import data as inputs
from discreet.verbs.combine import horizontal_or_vertical
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.net.driver import Progress
from discreet.verbs.combine.net.driver import run as drive
from discreet.verbs.combine.net.frames import OWN_KINDS
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.manifest import Manifest, dump, load
from discreet.verbs.combine.net.transcript_log import SEEN, seen
from discreet.verbs.combine.picture import Slide, drawn
from discreet.verbs.combine.session import Charge, Result
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.tools import Numeric
from discreet.verbs.combine.transcript import printable

if TYPE_CHECKING:
    from discreet.budget.ledger import SqlLedger
    from discreet.core.release import Receipt, Release

MANIFEST, RELEASE, CHARGED = "manifest.toml", "release", "charged"
EACH_ROW = "-"
"""In place of a column: every row is another person's."""


@dataclass(frozen=True)
class OnLedger:
    """Charges a party's loss on an account of a ledger, and says beforehand whether that covers it."""

    ledger: SqlLedger
    account: str
    what: str
    """What it is for."""

    def __call__(self, loss: Loss, key: str) -> Receipt:
        """Charge it, once for each key."""
        return self.ledger.charge(self.account, loss, key=key, what=self.what)

    def require(self, loss: Loss) -> None:
        """Refuse what would be refused later, before anybody else has begun."""
        from discreet.budget.entries import path
        from discreet.budget.rules import exceeded, tightest

        accounts = [self.ledger.account(name) for name in path(self.account)]
        refusals = [
            exceeded(account, account.total, loss)
            for account in accounts
            if not account.budget.admits(account.total, loss)
        ]
        if refusals:
            raise tightest(refusals)


@dataclass(frozen=True)
class Seated:
    """A party that is about to take part."""

    manifest: Manifest
    identity: Identity
    folder: Path
    """What it keeps of the session."""
    begun: Path
    """Where it notes which sessions it began: beside its key."""

    @property
    def name(self) -> str:
        """Which party it is."""
        return self.identity.name


def seated(file: str | Path, name: str | None = None, keys: str | Path | None = None) -> Seated:
    """The party of this name, or the one whose key is there, at the session of a manifest."""
    file = Path(file)
    manifest = load(file)
    held = Path(keys) if keys is not None else file.parent
    here = [party for party in manifest.terms.parties if (held / f"{party}.key").is_file()]
    if name is None:
        if len(here) != 1:
            found = f"are the keys of {', '.join(here)}" if here else "is no party's key"
            raise BadInput(
                f"Which party is this? In {held.resolve()} there {found}.",
                hint="Say --as NAME, and --keys FOLDER if NAME.key is elsewhere.",
            )
        [name] = here
    party = manifest.party(name)
    identity = Identity.load(held / f"{name}.key")
    if identity.public != party.key:
        raise BadInput(
            f"{held / f'{name}.key'} is not the key that the manifest has for {name}.",
            hint="Use the key that was made when NAME.pub was given away, or have a new manifest made.",
        )
    return Seated(manifest, identity, kept_in(file.with_suffix(""), name), held / f"{name}.begun")


def kept_in(session: Path, name: str) -> Path:
    """The folder that a party keeps of a session."""
    return session.with_name(f"{session.name}.{name}")


def run(
    manifest: str | Path | Seated,
    data: Any = None,
    *,
    name: str | None = None,
    keys: str | Path | None = None,
    unit_column: str | None = None,
    charge: Charge | None = None,
    progress: Callable[[str], None] | None = None,
) -> Release[Any]:
    """Take part in a session; gives the result once everybody has it, and keeps it in the party's folder.

    ``data`` is a file, or what ``simulate`` takes for a party; ``unit_column`` says whose each row of a file is, if
    there is noise inside (``-`` if each row is another person's). ``charge`` charges the loss of that noise, before
    the first message: an ``OnLedger``. Called again after a crash, it goes on; ``Aborted`` says who was missing or
    broke the rules, and what was charged.
    """
    place = manifest if isinstance(manifest, Seated) else seated(manifest, name, keys)
    terms = place.manifest.terms
    loss = horizontal_or_vertical.statement(terms).loss
    if loss is not None and charge is None:
        raise BadInput(
            f"The result has noise in it ({loss}), charged before anything is sent: on which ledger?",
            hint='Say --ledger WORKSPACE --account TABLE, or --budget "epsilon=3" to keep a ledger beside the key.',
        )
    brought = _brought(terms, place.name, data, unit_column)
    _require_playable(place, brought)
    charged = place.folder / CHARGED
    if loss is not None and isinstance(charge, OnLedger) and not charged.exists():
        charge.require(loss)
    place.folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        write(place.folder / MANIFEST, dump(place.manifest).encode())
    receipts: list[Receipt] = []

    def charging(loss: Loss, key: str) -> Receipt:
        assert charge is not None  # noqa: S101  # there is a loss, and so a ledger
        with suppress(FileExistsError):
            write(charged, key.encode())
        receipts.append(charge(loss, key))
        return receipts[-1]

    def part(tools: Numeric) -> Any:
        return horizontal_or_vertical.play(terms, place.name, tools, brought, charge=charging if charge else None)

    told = _Teller(progress or (lambda _: None), place.name)
    try:
        result: Result = _played(
            drive(
                place.manifest,
                place.identity,
                part,
                place.folder,
                brought=brought.digest.hex(),
                begun=place.begun,
                progress=told,
            )
        )
    except Aborted as error:
        said = [printable(error.message)]
        if loss is not None:
            said.append(_what_was_charged(charged, receipts, charge))
        raise Aborted(" ".join(said), culprits=error.culprits, hint=printable(error.hint)) from None
    return _kept(place, result, receipts[0] if receipts else None)


def _played(driving: Coroutine[Any, Any, Result]) -> Result:
    """Play to the end; in a notebook, where a loop runs already, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(driving)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, driving).result()


def _brought(terms: Terms, name: str, data: Any, unit_column: str | None) -> Data:
    """What a party brings, if that is known to be one row a person where noise hides one row."""
    if data is None:
        if horizontal_or_vertical.brings_nothing(terms, name):
            return Data.of([])
        raise BadInput(f"{name} brings data to this session.", hint="Say --input FILE")
    if not isinstance(data, str | Path):
        return Data.of(data)
    counts = not inputs.is_text(data)
    if counts and unit_column is None and horizontal_or_vertical.hides_rows(terms):
        raise NotDeclared(
            f"The noise hides one row, and nobody said whose the rows of {Path(data).name} are.",
            hint=f"Say --unit-column NAME, or --unit-column {EACH_ROW} if each row is another {terms.unit}'s.",
        )
    return inputs.load(data, None if unit_column == EACH_ROW or not counts else unit_column)


def _what_was_charged(file: Path, receipts: list[Receipt], charge: Charge | None) -> str:
    """What a session that ended without a result has cost this party."""
    found = receipts[0] if receipts else None
    if found is None and isinstance(charge, OnLedger) and file.is_file():
        found = charge.ledger.find(file.read_text())
    return f"What was charged stays charged: {found}." if found is not None else "Nothing was charged."


def slide(session: str | Path, name: str | None = None) -> Slide:
    """What a party saw of a session, as a picture and a list: of the one that ran here, if nobody is named."""
    session = Path(session)
    session = session.with_suffix("") if session.suffix == ".toml" else session
    if name is None:
        here = [folder for folder in session.parent.glob(f"{session.name}.*") if (folder / SEEN).is_file()]
        if len(here) != 1:
            names = ", ".join(sorted(folder.name.removeprefix(f"{session.name}.") for folder in here))
            raise BadInput(
                f"As whom? {f'{names} ran {session.name} here' if names else f'Nobody ran {session.name} here'}.",
                hint="Say --as NAME.",
            )
        [folder] = here
        name = folder.name.removeprefix(f"{session.name}.")
    folder = kept_in(session, name)
    if not (folder / SEEN).is_file():
        raise NotFound(f"{folder} has nothing that {name} saw.", hint="Run it first: discreet combine run")
    from discreet.core.release import Release
    from discreet.core.release_folder import is_release

    terms = load(folder / MANIFEST).terms
    lines = [replace(one, number=number) for number, one in enumerate(seen(folder, terms.parties), 1)]
    caption = "It has no result."
    if is_release(folder / RELEASE):
        told = str(Result(Release.load(folder / RELEASE).payload, ()))
        caption = told if "\n" in told else f"The result is {told}."
    said = [one for one in lines if one.kind not in OWN_KINDS]  # how parties meet and part is listed, and not drawn
    made = drawn(f"What {name} saw of {session.name}", terms.parties, said, me=name, caption=caption)
    return replace(made, lines=tuple(lines))


def included(session: str | Path) -> tuple[str, ...]:
    """Whose values are in the result of a session that was run here; nobody's, if none was."""
    from discreet.core.release import Release
    from discreet.core.release_folder import is_release

    session = Path(session).with_suffix("")
    for folder in sorted(session.parent.glob(f"{session.name}.*/{RELEASE}")):
        if is_release(folder):
            return tuple(Release.load(folder).recipe.parameters["included"])
    return ()


def _require_playable(place: Seated, brought: Data) -> None:
    """Say what is wrong with the input before anybody is waited for: nothing is sent, or drawn that is used."""
    trial = horizontal_or_vertical.play(place.manifest.terms, place.name, Numeric(bytes(32), b"trial"), brought)
    next(trial)
    trial.close()


def _kept(place: Seated, result: Result, receipt: Receipt | None) -> Release[Any]:
    """The result as a release in the party's folder; the one that is there, if it was made before."""
    from discreet.core.recipe import Recipe
    from discreet.core.release import Release
    from discreet.core.release_folder import is_release

    folder, terms = place.folder / RELEASE, place.manifest.terms
    if is_release(folder):
        return Release.load(folder)
    parameters = {key: value for key, value in terms.to_dict().items() if value not in (None, "")}
    release: Release[Any] = Release(
        result.value,
        horizontal_or_vertical.statement(terms),
        Recipe(
            f"combine {terms.protocol}",
            {**parameters, "session": place.manifest.digest.hex(), "included": list(result.parties)},
            steps=result.revealed,
        ),
        receipt,
        tuple(one for one in (result.picture,) if one is not None),
        title=f"{place.manifest.name}: {terms.function}",
    )
    release.save(folder)
    return release


class _Teller:
    """Says how far a session is, once for each step."""

    def __init__(self, tell: Callable[[str], None], name: str) -> None:
        self._tell, self._name, self._last = tell, name, ""

    def __call__(self, progress: Progress) -> None:
        waiting = ", ".join(progress.waiting)
        match progress.step:
            case "parties":
                here = ", ".join((self._name, *progress.there))
                said = f"There: {here}. Waiting for {waiting}."
            case "settled":
                said = "All compare what they heard."
            case "end":
                said = "Staying until the others have what they still need of this party."
            case step:
                said = f"Step {step}"
        if said != self._last:
            self._last = said
            self._tell(said)
