"""Where hidden transactions are written to: all is checked first, and what is for their holder is written first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.core.holder_copy import private
from discreet.errors import BadInput, NoPromise
from discreet.verbs.hide.hidden import Hidden
from discreet.verbs.hide.io import found_in
from discreet.verbs.hide.reading import read_transactions, write_transactions
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions


@dataclass(frozen=True)
class Places:
    """A new folder for the release, a file for its transactions, and one for the holder's page; each if wanted."""

    folder: Path | None
    baskets: Path | None
    page: Path | None

    def require_free(self) -> None:
        """An error unless everything can be written there."""
        folder = None if self.folder is None else self.folder.resolve()
        if folder is not None and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise BadInput(f"{self.folder} exists and is not an empty folder.", hint="Write to a new folder.")
        for file in (self.baskets, self.page):
            if file is None:
                continue
            if file.exists():
                raise BadInput(f"There is a file {file} already.", hint="Move it away, or write to another place.")
            if folder is not None and folder in (file.resolve(), *file.resolve().parents):
                raise BadInput(f"{file} lies in the release's own folder.", hint="Write it somewhere else.")
        if self.baskets is not None and self.page is not None and self.baskets.resolve() == self.page.resolve():
            raise BadInput(f"{self.page} cannot be both files.", hint="Write the transactions somewhere else.")
        for place in (self.folder, self.baskets, self.page):
            if place is not None and not place.resolve().parent.is_dir():
                raise BadInput(
                    f"There is no folder {place.resolve().parent} to put {place.name} in.", hint="Make it first."
                )

    def write(self, release: Hidden, after: Transactions, secrets: Sequence[Secret]) -> None:
        """Write all of it, the holder's page first: without it nobody knows what was done.

        The file of transactions is read again and mined before it gets its name.
        """
        if self.baskets is None:
            self._write_release(release)
            return
        with TemporaryDirectory(dir=self.baskets.resolve().parent, prefix=".discreet-") as aside:
            made = Path(aside) / self.baskets.name
            write_transactions(after, made)
            if seen := found_in(read_transactions(made, layout="baskets"), secrets):
                shown = "; ".join(map(str, seen))
                raise NoPromise(
                    f"A miner finds {shown} in {self.baskets.name} as it is read, so nothing leaves.",
                    hint="Write a .parquet file.",
                )
            self._write_release(release)
            made.rename(self.baskets)

    def _write_release(self, release: Hidden) -> None:
        if self.page is not None:
            with private(self.page) as file:
                file.write(release.page().encode())
        if self.folder is not None:
            release.save(self.folder)
