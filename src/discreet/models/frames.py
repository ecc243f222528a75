"""``df.discreet``: checks of privacy models on data frames of pandas and polars.

Nothing heavy is imported until a check runs: this is registered whenever pandas or polars is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.core.card import Card
    from discreet.models.check import Verdicts
    from discreet.models.model import Model

NAME = "discreet"
"""Name of the accessor of data frames."""


class FrameChecks:
    """Privacy models of a data frame, as ``df.discreet``."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def check(
        self, *models: str | Model, card: Card | str | Path | None = None, quasi: Sequence[str] | None = None
    ) -> Verdicts:
        """Whether models hold for the rows: ``df.discreet.check("k=5", "l=3 on disease", quasi=["zip", "sex"])``.

        ``card`` or ``quasi`` says what outsiders may know. Without either, roles are drafted from names and values:
        whatever is unclear then counts as a quasi-identifier, and the verdicts say which roles they rest on.
        The result is as of ``dc.check``; ``holds`` says whether all models do.
        """
        import pyarrow as pa

        from discreet.engines.read import read
        from discreet.models.check import check
        from discreet.models.model import parse_all

        rows = pa.table(self._frame)
        rows = rows.select([name for name in rows.column_names if not name.startswith("__index_level_")])
        assumed: tuple[str, ...] = ()
        if card is None:
            card, assumed = _drafted(rows, quasi)
        elif quasi is not None:
            from discreet.errors import BadInput

            raise BadInput("The card says which columns are quasi-identifiers.", hint="Leave out card, or quasi.")
        table = read(rows, card)
        texts = parse_all([one for one in models if isinstance(one, str)], table.card)
        found = check(table, *texts, *(one for one in models if not isinstance(one, str)))
        return replace(found, assumes=(*found.assumes, *assumed))


def register(module: ModuleType) -> None:
    """Give the data frames of pandas or polars their ``df.discreet``."""
    if hasattr(module.DataFrame, NAME):
        return
    if module.__name__ == "pandas":
        module.api.extensions.register_dataframe_accessor(NAME)(FrameChecks)
    else:
        module.api.register_dataframe_namespace(NAME)(FrameChecks)


def _drafted(rows: Any, quasi: Sequence[str] | None) -> tuple[Card, tuple[str, ...]]:
    """A draft of a card for rows that have none, and the assumptions it makes."""
    from discreet.core.card import Role
    from discreet.engines.read import draft
    from discreet.errors import NotFound

    card = draft(rows, name="frame").card
    if unknown := set(quasi or ()) - {one.name for one in card.columns}:
        raise NotFound(f"There is no column {', '.join(sorted(unknown))}.")

    def role(name: str, drafted: Role) -> Role:
        if quasi is None:
            return Role.QUASI if drafted is Role.UNDECIDED else drafted
        unknown = Role.OTHER if drafted in (Role.QUASI, Role.UNDECIDED) else drafted
        return Role.QUASI if name in quasi else unknown

    columns = tuple(replace(one, role=role(one.name, one.role)) for one in card.columns)
    listed = {kind: [one.name for one in columns if one.role is kind] for kind in Role}
    said = [f"{kind.value}: {', '.join(names)}" for kind, names in listed.items() if names]
    whole = "Only quasi-identifiers were given; all other roles" if quasi is not None else "No card was given: roles"
    return replace(card, columns=columns), (f"{whole} are guessed from names and values ({'; '.join(said)}).",)
