"""One party of a session between hosts: from the manifest and the party's input to a release, and back after a crash.

A party keeps a folder beside the manifest: ``pay.toml`` and north make ``pay.north/`` with

    manifest.toml       what all agreed on
    transcript.jsonl    every message sent or got, with its signature: may be shown to others
    seen.jsonl          what was in them, as far as north could read it: for north alone
    secret, journal     what north resumes from: for north alone
    release/            the result, with its statement
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.combine import data as inputs
from discreet.combine import either
from discreet.combine.data import Data
from discreet.combine.net.driver import Progress
from discreet.combine.net.driver import run as drive
from discreet.combine.net.frames import OWN_KINDS
from discreet.combine.net.keys import Identity
from discreet.combine.net.manifest import Manifest, dump, load
from discreet.combine.net.transcript_log import SEEN, seen
from discreet.combine.picture import Slide, drawn
from discreet.combine.session import Charge, Result
from discreet.combine.tools import Numeric
from discreet.core.durable import write
from discreet.core.loss import Loss
from discreet.core.recipe import Recipe
from discreet.core.release import Receipt, Release
from discreet.core.release_folder import is_release
from discreet.errors import BadInput, NotFound

MANIFEST, RELEASE = "manifest.toml", "release"


@dataclass(frozen=True)
class Seated:
    """A party that is about to take part."""

    manifest: Manifest
    identity: Identity
    folder: Path
    """What it keeps of the session."""

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
    return Seated(manifest, identity, kept_in(file.with_suffix(""), name))


def kept_in(session: Path, name: str) -> Path:
    """The folder that a party keeps of a session."""
    return session.with_name(f"{session.name}.{name}")


def run(
    manifest: str | Path | Seated,
    data: Any,
    *,
    name: str | None = None,
    keys: str | Path | None = None,
    charge: Charge | None = None,
    progress: Callable[[str], None] | None = None,
) -> Release[Any]:
    """Take part in a session; gives the result once everybody has it, and keeps it in the party's folder.

    ``data`` is a file, or what ``simulate`` takes for a party. ``charge`` charges the loss of noise inside, before the
    first message. Called again after a crash, it goes on; ``Aborted`` says who was missing or broke the rules.
    """
    place = manifest if isinstance(manifest, Seated) else seated(manifest, name, keys)
    terms = place.manifest.terms
    statement = either.statement(terms)
    if statement.loss is not None and charge is None:
        raise BadInput(
            f"The result has noise in it ({statement.loss}), charged before anything is sent: on which ledger?",
            hint='Say --ledger WORKSPACE --account TABLE, or --budget "epsilon=3" to keep a ledger beside the key.',
        )
    brought = inputs.load(data) if isinstance(data, str | Path) else Data.of(data)
    _require_playable(place, brought)
    place.folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        write(place.folder / MANIFEST, dump(place.manifest).encode())
    receipts: list[Receipt] = []

    def charged(loss: Loss, key: str) -> Receipt:
        assert charge is not None  # noqa: S101  # there is a loss, and so a ledger
        receipts.append(charge(loss, key))
        return receipts[-1]

    def part(tools: Numeric) -> Any:
        return either.play(terms, place.name, tools, brought, charge=charged if charge else None)

    told = _Teller(progress or (lambda _: None), place.name)
    result: Result = asyncio.run(
        drive(place.manifest, place.identity, part, place.folder, brought=brought.digest.hex(), progress=told)
    )
    return _kept(place, result, receipts[0] if receipts else None)


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
    terms = load(folder / MANIFEST).terms
    lines = [replace(one, number=number) for number, one in enumerate(seen(folder, terms.parties), 1)]
    caption = "It has no result."
    if is_release(folder / RELEASE):
        caption = f"The result is {Result(Release.load(folder / RELEASE).payload, ())}."
    said = [one for one in lines if one.kind not in OWN_KINDS]  # how parties meet and part is listed, and not drawn
    made = drawn(f"What {name} saw of {session.name}", terms.parties, said, me=name, caption=caption)
    return replace(made, lines=tuple(lines))


def _require_playable(place: Seated, brought: Data) -> None:
    """Say what is wrong with the input before anybody is waited for: nothing is sent, or drawn that is used."""
    trial = either.play(place.manifest.terms, place.name, Numeric(bytes(32), b"trial"), brought)
    next(trial)
    trial.close()


def _kept(place: Seated, result: Result, receipt: Receipt | None) -> Release[Any]:
    """The result as a release in the party's folder; the one that is there, if it was made before."""
    folder, terms = place.folder / RELEASE, place.manifest.terms
    if is_release(folder):
        return Release.load(folder)
    parameters = {key: value for key, value in terms.to_dict().items() if value not in (None, "")}
    release: Release[Any] = Release(
        result.value,
        either.statement(terms),
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
                said = "The result is there; the others get what they still need."
            case step:
                said = f"Step {step}"
        if said != self._last:
            self._last = said
            self._tell(said)
