"""Participation of one party in a session between hosts: from the manifest and its data to a release.

A party keeps a folder beside the manifest: ``pay.toml`` and north make ``pay.north/`` with

    manifest.toml       what all agreed on
    transcript.jsonl    every message sent or got, with its signature: may be shown to others
    seen.jsonl          what was in them, as far as north could read it: for north alone
    secret, journal     what north resumes from: for north alone
    charged             under which key a loss was charged, if there is noise inside
    release/            the result, with its statement

(``attempt-1.pay.north/`` is what is left of an attempt that was given up before north sent anything of its data)
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

from discreet.core.document import make_private, private_folder, write
from discreet.core.loss import Loss
from discreet.errors import Aborted, BadInput, Damaged, NotDeclared, NotFound
from discreet.verbs.combine import data as inputs
from discreet.verbs.combine import session as sessions
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.net.driver import Progress
from discreet.verbs.combine.net.driver import run as drive
from discreet.verbs.combine.net.frames import OWN_KINDS
from discreet.verbs.combine.net.journal import abandon, is_begun, may_try_again
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.manifest import MAX_ATTEMPTS, Manifest, dump, load
from discreet.verbs.combine.net.transcript_log import SEEN, read_view
from discreet.verbs.combine.picture import MessageDiagram, draw_messages
from discreet.verbs.combine.session import Charge
from discreet.verbs.combine.terms import Result, Terms
from discreet.verbs.combine.transcript import printable

if TYPE_CHECKING:
    from discreet.budget.ledger import SqlLedger
    from discreet.core.release import Receipt, Release

MANIFEST, RELEASE, CHARGED = "manifest.toml", "release", "charged"
EACH_ROW = "-"
"""In place of a unit column: each row is another person's."""
_STEP_MESSAGES = {
    "settled": "All parties compare what they received.",
    "end": "Staying connected until the others have all they need from this party.",
}


@dataclass(frozen=True)
class LedgerCharge:
    """Charge of a party's loss to an account of a ledger."""

    ledger: SqlLedger
    account: str
    what: str
    """Purpose, for the ledger."""

    def __call__(self, loss: Loss, key: str) -> Receipt:
        """Charge the loss, once for each key."""
        return self.ledger.charge(self.account, loss, key=key, what=self.what)

    def require(self, loss: Loss) -> None:
        """Refuse a loss that the ledger would refuse later, before others have begun."""
        from discreet.budget.entries import budget_refusal, path, tightest_refusal

        accounts = [self.ledger.account(name) for name in path(self.account)]
        refusals = [budget_refusal(account, account.total, loss) for account in accounts if not account.admits(loss)]
        if refusals:
            raise tightest_refusal(refusals)


@dataclass(frozen=True)
class Participant:
    """A party that is about to take part in a session."""

    manifest: Manifest
    identity: Identity
    folder: Path
    """Folder for what it keeps of the session."""
    begun: Path
    """File beside its key that lists the sessions it began."""

    @property
    def name(self) -> str:
        return self.identity.name


def find_participant(
    file: str | Path, name: str | None = None, keys: str | Path | None = None, attempt: int | None = None
) -> Participant:
    """Find the party of this name, or the one whose key is there, in the session of a manifest.

    ``attempt`` is the number of the attempt at the session; by default the one that its folder has.
    """
    file = Path(file)
    manifest = load(file)
    key_folder = Path(keys) if keys is not None else file.parent
    here = [party for party in manifest.terms.parties if (key_folder / f"{party}.key").is_file()]
    if name is None:
        if len(here) != 1:
            present = f"are the keys of {', '.join(here)}" if here else "is no key of a party"
            raise BadInput(
                f"It is unclear which party this is: in {key_folder.resolve()} there {present}.",
                hint="Write --as NAME, and --keys FOLDER if NAME.key is elsewhere.",
            )
        [name] = here
    party = manifest.party(name)
    identity = Identity.load(key_folder / f"{name}.key")
    if identity.public != party.key:
        raise BadInput(
            f"{key_folder / f'{name}.key'} is not the key that the manifest has for {name}.",
            hint="Use the key that belongs to the NAME.pub you sent, or have a new manifest made.",
        )
    folder = party_folder(file.with_suffix(""), name)
    reached = load(folder / MANIFEST).attempt if (folder / MANIFEST).is_file() else 1
    if attempt is not None and not reached <= attempt <= MAX_ATTEMPTS:
        raise BadInput(f"{name} is at attempt {reached} of at most {MAX_ATTEMPTS} at this session, got {attempt}.")
    manifest = manifest.at_attempt(attempt or reached)
    return Participant(manifest, identity, folder, key_folder / f"{name}.begun")


def _earlier_folder(participant: Participant, attempt: int) -> Path:
    """Folder of an attempt that was given up."""
    return participant.folder.with_name(f"attempt-{attempt}.{participant.folder.name}")


def _abandon_earlier(participant: Participant) -> None:
    """Give up earlier attempts at the session, in which this party sent nothing that depends on its data."""
    attempt, folder = participant.manifest.attempt, participant.folder
    if (folder / MANIFEST).is_file() and (here := load(folder / MANIFEST).attempt) < attempt:
        abandon(folder, _earlier_folder(participant, here))
    for number in range(1, attempt):
        earlier = participant.manifest.at_attempt(number)
        if is_begun(participant.begun, earlier) and not _earlier_folder(participant, number).is_dir():
            raise Damaged(
                f"{participant.name} started attempt {number} of this session, but its files are gone: what it sent is "
                "unknown.",
                hint="Restore the folder, or agree on a new session (discreet combine new).",
            )


def _charge_key(participant: Participant, key: str) -> str:
    """Key of the charge: that of an earlier attempt, if one was charged."""
    earlier = (_earlier_folder(participant, number) / CHARGED for number in range(1, participant.manifest.attempt))
    return next((file.read_text() for file in earlier if file.is_file()), key)


def party_folder(session: Path, name: str) -> Path:
    """Folder for what a party keeps of a session."""
    return session.with_name(f"{session.name}.{name}")


def take_part(
    manifest: str | Path | Participant,
    data: Any = None,
    *,
    name: str | None = None,
    keys: str | Path | None = None,
    unit_column: str | None = None,
    charge: Charge | None = None,
    attempt: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Release[Any]:
    """Take part in a session, and keep its result in the party's folder; ``combine`` explains the parameters."""
    participant = manifest if isinstance(manifest, Participant) else find_participant(manifest, name, keys, attempt)
    terms = participant.manifest.terms
    loss = sessions.statement(terms).loss
    if loss is not None and charge is None:
        raise BadInput(
            f"The result has noise ({loss}), which is charged before anything is sent, and no ledger is given.",
            hint='Write --ledger WORKSPACE --account TABLE, or --budget "epsilon=3" to keep a ledger next to the key.',
        )
    own_data = _load_data(terms, participant.name, data, unit_column)
    _require_playable(participant, own_data)
    _abandon_earlier(participant)
    charged = participant.folder / CHARGED
    key_known = charged.exists() or bool(_charge_key(participant, ""))
    if loss is not None and isinstance(charge, LedgerCharge) and not key_known:
        charge.require(loss)
    private_folder(participant.folder)
    with suppress(FileExistsError):
        write(participant.folder / MANIFEST, dump(participant.manifest).encode(), private=True)
    receipts: list[Receipt] = []

    def charging(loss: Loss, key: str) -> Receipt:
        assert charge is not None  # noqa: S101  # there is a loss, and so a ledger
        key = _charge_key(participant, key)
        with suppress(FileExistsError):
            write(charged, key.encode(), private=True)
        receipts.append(charge(loss, key))
        return receipts[-1]

    def part(crypto: NumericCrypto) -> Any:
        return sessions.play(terms, participant.name, crypto, own_data, charge=charging if charge else None)

    printer = _progress_printer(progress or (lambda _: None), participant.name)
    try:
        result: Result = _run_to_end(
            drive(
                participant.manifest,
                participant.identity,
                part,
                participant.folder,
                brought=own_data.digest.hex(),
                begun=participant.begun,
                progress=printer,
            )
        )
    except Aborted as error:
        sentences = [printable(error.message)]
        if loss is not None:
            sentences.append(_describe_charge(charged, receipts, charge))
        hint = printable(error.hint) or _next_step(participant)
        raise Aborted(" ".join(sentences), culprits=error.culprits, hint=hint) from None
    return _keep_release(participant, result, receipts[0] if receipts else None)


def _run_to_end(driving: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end; in a notebook, where an event loop runs already, in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(driving)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, driving).result()


def _load_data(terms: Terms, name: str, data: Any, unit_column: str | None) -> Data:
    """Data of a party, if they have one row a person where noise hides one row."""
    if data is None:
        if sessions.brings_nothing(terms, name):
            return Data.from_value([])
        raise BadInput(f"{name} must provide data for this session.", hint="Write --input FILE")
    if not isinstance(data, str | Path):
        return Data.from_value(data)
    counts = not inputs.is_text(data)
    if counts and unit_column is None and sessions.hides_rows(terms):
        raise NotDeclared(
            f"The noise protects one row, and the unit of the rows of {Path(data).name} is unknown.",
            hint=f"Write --unit-column NAME, or --unit-column {EACH_ROW} if each row is another {terms.unit}'s.",
        )
    return inputs.load(data, None if unit_column == EACH_ROW or not counts else unit_column)


def _next_step(participant: Participant) -> str:
    """What a party can do after its session ended without a result."""
    attempt = participant.manifest.attempt
    if attempt < MAX_ATTEMPTS and may_try_again(participant.folder):
        return (
            f"{participant.name} sent nothing that depends on its data. If that is so for all, they can try again "
            f"under the same manifest, without a second charge: discreet combine run … --attempt {attempt + 1}"
        )
    return "Agree on a new session: discreet combine new"


def _describe_charge(file: Path, receipts: list[Receipt], charge: Charge | None) -> str:
    """Describe what an aborted session has cost this party."""
    receipt = receipts[0] if receipts else None
    if receipt is None and isinstance(charge, LedgerCharge) and file.is_file():
        receipt = charge.ledger.find(file.read_text())
    return f"The charge stands: {receipt}." if receipt is not None else "Nothing was charged."


def draw_view(session: str | Path, name: str | None = None) -> MessageDiagram:
    """Draw a party's view of a session: of the one that ran here, unless one is named."""
    session = Path(session)
    session = session.with_suffix("") if session.suffix == ".toml" else session
    if name is None:
        here = [folder for folder in session.parent.glob(f"{session.name}.*") if (folder / SEEN).is_file()]
        if len(here) != 1:
            names = ", ".join(sorted(folder.name.removeprefix(f"{session.name}.") for folder in here))
            raise BadInput(
                "Party unknown: "
                f"{f'{names} ran {session.name} here' if names else f'no party ran {session.name} here'}.",
                hint="Write --as NAME.",
            )
        [folder] = here
        name = folder.name.removeprefix(f"{session.name}.")
    folder = party_folder(session, name)
    if not (folder / SEEN).is_file():
        raise NotFound(f"{folder} has no record of what {name} saw.", hint="Run it first: discreet combine run")
    return _draw_folder(folder, name)


def _saved_release(folder: Path) -> Release[Any] | None:
    """The release in a party's folder, if there is one."""
    from discreet.core.release import Release, is_release

    return Release.load(folder / RELEASE) if is_release(folder / RELEASE) else None


def _draw_folder(folder: Path, name: str) -> MessageDiagram:
    terms, session = load(folder / MANIFEST).terms, folder.name.removesuffix(f".{name}")
    lines = [replace(one, number=number) for number, one in enumerate(read_view(folder, terms.parties), 1)]
    release = _saved_release(folder)
    caption = "It has no result." if release is None else Result(release.payload, ()).caption
    drawn = [one for one in lines if one.kind not in OWN_KINDS]  # how parties meet and part is listed, and not drawn
    diagram = draw_messages(f"What {name} saw of {session}", terms.parties, drawn, me=name, caption=caption)
    return replace(diagram, lines=tuple(lines))


def included_parties(session: str | Path) -> tuple[str, ...]:
    """Parties whose values are in the result of a session that was run here; empty without a result."""
    session = Path(session).with_suffix("")
    for folder in sorted(session.parent.glob(f"{session.name}.*")):
        if release := _saved_release(folder):
            return tuple(release.recipe.parameters["included"])
    return ()


def _require_playable(participant: Participant, own_data: Data) -> None:
    """Raise an error for bad data before waiting for others: nothing is sent, and no draw is used."""
    trial = sessions.play(participant.manifest.terms, participant.name, NumericCrypto(bytes(32), b"trial"), own_data)
    next(trial)
    trial.close()


def _keep_release(participant: Participant, result: Result, receipt: Receipt | None) -> Release[Any]:
    """Release the result in the party's folder, or load it if it was made before, with the party's transcript."""
    from discreet.verbs.combine.release import release_session, transcript_copy

    manifest = participant.manifest
    entries = read_view(participant.folder, manifest.terms.parties)
    transcript = transcript_copy(entries, lambda: _draw_folder(participant.folder, participant.name))
    if before := _saved_release(participant.folder):
        return replace(before, holder=transcript)
    release = release_session(
        manifest.terms,
        result,
        sessions.statement(manifest.terms),
        transcript,
        title=f"{manifest.name}: {manifest.terms.function}",
        session=manifest.digest.hex(),
        receipt=receipt,
        to=participant.folder / RELEASE,
    )
    make_private(participant.folder / RELEASE)
    return release


def _progress_printer(tell: Callable[[str], None], name: str) -> Callable[[Progress], None]:
    """Print the progress of a session, once for each step."""
    last = ""

    def report(progress: Progress) -> None:
        nonlocal last
        message = _STEP_MESSAGES.get(progress.step, f"Step {progress.step}")
        if progress.step == "parties":
            message = f"There: {', '.join((name, *progress.there))}. Waiting for {', '.join(progress.waiting)}."
            message += "".join(f" {problem}." for problem in progress.problems)
        if message != last:
            last = message
            tell(message)

    return report
