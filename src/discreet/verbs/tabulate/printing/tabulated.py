"""A protected table as a release, and in its holder's hands."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from discreet.core.markup import Markup, markup
from discreet.core.release import Release
from discreet.verbs.tabulate.printing.holder import Holder
from discreet.verbs.tabulate.printing.html import headed, laid_out
from discreet.verbs.tabulate.printing.printed import Printed
from discreet.verbs.tabulate.printing.xlsx import save_xlsx


@dataclass(frozen=True, repr=False)
class Tabulated(Release[pa.Table]):
    """A printed table: its rows, what is promised, how it was made. ``holder`` is never saved with it."""

    printed: Printed | None = field(default=None, compare=False)
    holder: Holder | None = field(default=None, compare=False)

    def laid_out(self) -> Markup:
        """The tables as people read them."""
        if self.printed is None:
            return Markup()
        tables = zip(self.printed.tables, self.printed.hidden, strict=True)
        return markup(headed(table, laid_out(table, hidden), len(self.printed.tables)) for table, hidden in tables)

    def page(self) -> str:
        """What is sensitive and why, what was added, what an intruder can tell, as HTML. It must never leave."""
        return "" if self.holder is None else self.holder.page(f"{self.title} (for its holder alone)")

    def __repr__(self) -> str:
        return f"<{self.title}: {self.payload.num_rows:,} cells>"

    def save_xlsx(self, place: str | Path) -> Path:
        """Write the table, as it is printed, to a workbook."""
        return save_xlsx(self.printed or Printed.read(self), place)
