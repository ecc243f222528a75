"""The releases of a workspace: every answer is kept before it is given, and never made twice.

Why this is private: a charge pays for one answer. Anyone who could get a second answer to the same question for the
same charge would average the noise away, so of all answers that crashes, retries and rivals may compute under a
charge at most one is ever given:

* an answer is on the disk, under the question's own name, before it is given; there is one file (or, of what is large,
  one folder) of that name, and anyone who comes second throws its own answer away and gives the one that is there.
  Anyone who comes first gives what it wrote, and need not read it again: neither a link to a file nor a folder that is
  not empty takes another's place;
* its fingerprint is in the ledger (a line that costs nothing, the *seal*) before it is given. A line is written
  once, so a copy of the folder with the same ledger cannot give another answer; and an answer that is sealed
  and gone (someone tidied up) is an error, not a reason to answer again.

An answer that was computed and lost before its seal was given to no one: computing another under the same charge
shows the world one answer, which is what was paid for. A failure that rows, limits or noise made is an answer, too: it
is sealed as one, and the question fails from then on. Otherwise a question that fails on some noisy figures, or takes
about as long as it may, could be asked again and again for one charge, each time with other noise or another time.

A backup does not show what was lost before its seal: a question that was being answered while it was made may have
been answered and sealed since. So what was charged before a workspace was restored, and is not answered in it, is
answered no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.budget.entries import Charged, Line
from discreet.budget.ledger import SqlLedger
from discreet.core.document import flush_name
from discreet.core.loss import Pure
from discreet.core.release import Receipt, Release, Rows, load_papers, manifest_digest, save, verified
from discreet.core.release_file import fits, save_file
from discreet.errors import BadInput, Damaged, EngineError, LedgerError, Refused, Taken

SEAL = "seal: "
"""How the keys of seals begin."""
TRIMMED = "trimmed: "
"""How the keys of lines begin that say that an answer was deleted by a retention rule (``curator/trimming.py``)."""
RESTORED = "restored: "
"""How the keys of lines begin that say that the workspace was restored from a backup (``curator/backup.py``)."""
_FAILED = "The question failed."
"""The seal of a question that has no answer."""
ALSO_CHARGED = "also charged"
"""The recipe's name for the receipts of the second and further tables that a release was charged to."""


class Store:
    """The answers of a workspace, each under the identity of its question."""

    def __init__(self, folder: Path, ledger: SqlLedger) -> None:
        self._folder = folder
        self._ledger = ledger

    @cached_property
    def restored(self) -> int:
        """The line of the ledger at which the workspace was restored last; 0 if it never was. None comes later: a
        workspace is restored before it is opened."""
        return max((found.line for key in self._ledger.keys(RESTORED) if (found := self._ledger.find(key))), default=0)

    def find(self, identity: str, account: str) -> Release[Any] | None:
        """The answer to a question, if it was answered."""
        place = self._there(identity)
        if place is None:
            return None
        release = Release.load(place)
        self._seal(identity, account, manifest_digest(place))
        return release

    def find_folder(self, identity: str, account: str) -> Path | None:
        """Where an answer is, if there is one: checked as ``find`` does, and not held in memory."""
        place = self._there(identity)
        if place is not None:
            load_papers(place) if place.is_file() else verified(place)
            self._seal(identity, account, manifest_digest(place))
        return place

    def _there(self, identity: str) -> Path | None:
        place = self._folder / identity
        if place.exists():
            flush_name(place)
            return place
        if (line := self._ledger.find_line(SEAL + identity)) is not None:
            _require_answer(line)
            if trimmed := self._ledger.find(TRIMMED + identity):
                raise Refused(
                    f"This question was answered on {line.at.date()}, and the answer was deleted on "
                    f"{trimmed.at.date()}. It is not answered again, since a second answer would have other noise.",
                    hint="Look for the answer where you kept it; or ask at another price, which is charged in full.",
                )
            raise Damaged(
                f"This question was answered before, but the answer is no longer in {self._folder}.",
                hint="Restore it from a backup: a new answer would be charged again.",
            )
        return None

    def keep(self, identity: str, account: str, release: Release[Any], *, apart: bool = False) -> Release[Any]:
        """Keep an answer, unless someone was faster: then theirs stays. What is kept is what may be given.

        It is one file, unless it is large, or its rows are to be read where they are (``apart``): then it is a folder.
        """
        place = self._folder / identity
        try:
            alone = not apart and fits(release)
            written = save_file(release, place) if alone else save(release, place, private=True)
        except BadInput as error:
            if not place.exists():
                raise EngineError(
                    f"The answer could not be stored in {self._folder}, so it is withheld: {error}",
                    hint="Free some space, and ask again: it is charged once.",
                ) from error
        else:
            self._seal(identity, account, written)
            if isinstance(release.payload, Rows):  # they have moved to where they are kept
                return replace(release, payload=Rows(place / "payload.parquet"))
            return release
        kept = self.find(identity, account)
        if kept is None:
            raise EngineError(
                f"The answer was stored in {self._folder}, but is gone.", hint="Ask again: it is charged once."
            )
        return kept

    def fail(self, identity: str, account: str) -> Release[Any]:
        """Seal the failure of a question: ``Refused``. If someone else has its answer already, that is the answer."""
        with suppress(LedgerError):
            self._ledger.charge(account, Pure(0), key=SEAL + identity, what=_FAILED)
        found = self.find(identity, account)
        if found is None:  # neither a failure nor an answer could be sealed
            raise failure() from None
        return found

    def _seal(self, identity: str, account: str, written: str) -> None:
        """Write the fingerprint of an answer that is on the disk to the ledger; an error if another one is there."""
        try:
            self._ledger.charge(account, Pure(0), key=SEAL + identity, what=written)
        except Taken as error:
            line = self._ledger.find_line(SEAL + identity)
            if line is None:
                raise
            _require_answer(line)
            raise Damaged(
                f"The answer in {self.place(identity)} differs from the one that was sealed in the ledger.",
                hint="Restore the workspace from a backup.",
            ) from error

    def place(self, identity: str) -> Path:
        """Where an answer is."""
        return self._folder / identity

    def receipts_at(self, identity: str) -> list[Receipt]:
        """The receipts of an answer, one for each table that was charged; none if it was not given."""
        place = self.place(identity)
        return list(receipts_of(load_papers(place))) if place.exists() else []

    def receipts(self) -> Iterator[Receipt]:
        """The receipts of all answers that were given, one for each table that was charged."""
        for place in sorted(self._folder.iterdir()):
            if not place.name.startswith("."):
                yield from receipts_of(Release.load(place))


def failure() -> Refused:
    """What is said of every question that failed after its charge: the same, whatever made it fail."""
    return Refused("The question could not be answered; it was charged.", hint="Ask the data holder to investigate.")


def is_failure(line: Line) -> bool:
    """Whether a seal is that of a question that has no answer."""
    return isinstance(line.entry, Charged) and line.entry.purpose == _FAILED


def _require_answer(seal: Line) -> None:
    if is_failure(seal):
        raise failure() from None


def receipts_of(release: Release[Any]) -> Iterator[Receipt]:
    """The receipts of a release, one for each table that was charged."""
    if release.receipt is not None:
        yield release.receipt
    for one in release.recipe.parameters.get(ALSO_CHARGED, ()):
        yield Receipt.from_dict(one)
