"""Column names as people have them: what must be refused before anything is computed by name."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import DataError


def require_plain(names: Sequence[str], what: str) -> None:
    """Raise an error unless every column has a name and no two have the same one (case does not count)."""
    empty = [str(position) for position, name in enumerate(names, 1) if not name.strip()]
    if empty:
        raise DataError(
            f"{what} has columns without a name: number {', '.join(empty)}.", hint="Give each column a name."
        )
    seen: dict[str, str] = {}
    twice = []
    for name in names:
        if name.casefold() in seen:
            twice.append(f"{seen[name.casefold()]!r} and {name!r}")
        seen[name.casefold()] = name
    if twice:
        raise DataError(
            f"{what} has columns of the same name: {', '.join(twice)}.",
            hint="SQL does not tell upper and lower case apart; rename one of each.",
        )
