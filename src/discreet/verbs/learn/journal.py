"""The journal of a search: which sample gave which model, so that a search that was stopped goes on.

A sample is a number and the seed that all of them have in common. Whoever has the journal and the table can draw all
of them again: it is for the holder alone. It is there until a model is released.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.core.document import open_private
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Draws


@dataclass(frozen=True)
class Journal:
    """What was drawn so far."""

    root: int
    """The seed of all samples."""
    known: Mapping[int, str]
    """For the number of a sample the digest of its model."""
    place: Path | None
    seed: int | None
    """The root, if it was given and not drawn: then all samples can be drawn again by whoever knows it."""

    @classmethod
    def open(cls, place: str | Path | None, about: str, seed: int | None) -> Journal:
        """The journal at ``place``, or a new one; ``about`` tells this search from any other."""
        if place is None or not Path(place).exists():
            root = Draws.of(seed).root
            if place is not None:
                with open_private(Path(place)) as file:
                    file.write(_line({"about": about, "seed": str(root), "given": seed is not None}))
            return cls(root, {}, None if place is None else Path(place), seed)
        file_ = Path(place)
        whole = file_.read_bytes()
        lines = whole[: whole.rfind(b"\n") + 1].splitlines()  # a last line may have been cut off
        try:
            head, *others = [json.loads(line) for line in lines]
            root, known = int(head["seed"]), {int(one["draw"]): str(one["model"]) for one in others}
            same, given = head["about"] == about, head["given"] is True or seed is not None
        except (ValueError, TypeError, KeyError):
            raise DataError(f"{place} is not the journal of a search.", hint="Name another file.") from None
        if not same or seed not in (None, root):
            raise BadInput(
                f"{place} is the journal of another search: of other rows, or with other parameters.",
                hint="Name another file, or take it away to begin anew.",
            )
        with file_.open("r+b") as file:
            file.truncate(whole.rfind(b"\n") + 1)
        return cls(root, known, file_, root if given else None)

    def add(self, draws: Sequence[int], models: Sequence[str]) -> None:
        """Write down what samples gave."""
        if self.place is not None:
            with self.place.open("ab") as file:
                file.writelines(_line({"draw": one, "model": model}) for one, model in zip(draws, models, strict=True))

    def done(self) -> None:
        """Take the journal away: the search is over."""
        if self.place is not None:
            self.place.unlink(missing_ok=True)


def _line(said: Mapping[str, object]) -> bytes:
    return json.dumps(said).encode() + b"\n"
