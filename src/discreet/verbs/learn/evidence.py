"""The holder's evidence of integral privacy: the sets of people that give a model, and the check that they do.

The check trusts nothing of the search: it learns from every set again, compares the sets with each other, and looks for
someone who is in all of them. The sets are kept as they are, so that no generator of random numbers has to be run
again. Anyone who has them and the table can tell who was looked at: they must never leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.document import dumps, fields, loads
from discreet.core.holder_copy import read_holder_copy
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.learn.learner import SEARCHED, exact_sums, learner_of
from discreet.verbs.publish.recoding import on_recoding_engine

CLAIM = "integral privacy"
NOTE = "generators"
"""The note in a holder's copy that says what the sets are of."""


@dataclass(frozen=True, repr=False)
class Generators:
    """Sets of people, each of which gives the same model."""

    learner: str
    parameters: dict[str, Any]
    model: dict[str, Any]
    frame: str
    """The digest of the rows."""
    people: int
    least: int
    """Number of sets asked for."""
    sets: NDArray[np.uint8]
    """A row a set, a bit a person: who is in which."""

    def __str__(self) -> str:
        return (
            f"{len(self.sets):,} different sets of people yield this model. At least "
            f"{self.left_out:,} of them leave out any one person."
        )

    __repr__ = __str__

    @property
    def left_out(self) -> int:
        """Fewest sets that leave a person out; 0 if someone is in all of them."""
        inside = np.zeros(self.people, np.int64)
        for place in range(len(self.sets)):
            inside += self.who(place)
        return len(self.sets) - int(inside.max(initial=0))

    def who(self, place: int) -> NDArray[np.bool_]:
        """For each person whether they are in the set at that place."""
        return np.unpackbits(self.sets[place], count=self.people).astype(np.bool_)

    def rows(self) -> pa.Table:
        """The sets, a bit a person, for a file."""
        return pa.table({"people": pa.array([one.tobytes() for one in self.sets], pa.binary())})

    def note(self) -> str:
        """All but the sets, as text."""
        named = ("learner", "parameters", "model", "frame", "people", "least")
        return dumps({name: getattr(self, name) for name in named})

    @classmethod
    def load(cls, place: str | Path) -> Generators:
        """The sets in a holder's copy."""
        copy = read_holder_copy(place)
        note = copy.notes.get(NOTE)
        if note is None:
            raise DataError(f"{place} holds no sets of people that give a model.")
        packed: list[Any] = copy.rows.column("people").to_pylist()
        kinds = {"learner": str, "parameters": dict, "model": dict, "frame": str, "people": int, "least": int}
        read = fields(loads(note), "the note", **kinds)
        if any(one is None or len(one) != (read["people"] + 7) // 8 for one in packed):
            raise DataError(f"{place} holds sets of other people than it says.")
        return cls(**read, sets=np.frombuffer(b"".join(packed), np.uint8).reshape(len(packed), -1))


@dataclass(frozen=True)
class Verified:
    """Result of checking the sets. For the holder alone."""

    generators: int
    """Different sets that give the model."""
    others: int
    """Sets that give another one, or come twice."""
    in_all: int
    """Number of people in all sets that give the model."""
    least: int
    same_model: bool
    """Whether the release, if one was given, holds that very model."""
    same_claim: bool
    """Whether it claims as many sets as were asked for, and says that it was learnt in the same way."""

    @property
    def holds(self) -> bool:
        """Whether the claim is true."""
        same = self.same_model and self.same_claim
        return self.generators >= self.least and self.in_all == 0 and self.others == 0 and same

    def __str__(self) -> str:
        said = (
            f"{self.generators:,} different sets of people give the model ({self.least:,} were asked for), and "
            f"{self.in_all or 'no one'} {'are' if self.in_all > 1 else 'is'} in all of them."
        )
        if self.others:
            said += f" {self.others:,} of the sets give another model, or come twice."
        if not self.same_model:
            said += " The release holds another model."
        if not self.same_claim:
            said += " The release claims another number of sets, or another way of learning."
        return f"{'It holds' if self.holds else 'It does not hold'}: {said}"


def verify_integral(evidence: Generators | str | Path, table: Table, release: Release[Any] | None = None) -> Verified:
    """Learn again from every stored set of people, and check the claim of the release."""
    kept = evidence if isinstance(evidence, Generators) else Generators.load(evidence)
    learner = learner_of(kept.learner, kept.parameters)
    frame = learner.frame(on_recoding_engine(table))
    if frame.digest != kept.frame or frame.people != kept.people:
        raise BadInput(f"The sets do not belong to {table.card.name} as it is now.", hint="Give the table as it was.")
    trainer = learner.trainer(frame)
    different: set[tuple[bytes, ...]] = set()
    in_all = np.ones(kept.people, np.bool_)
    for place in range(len(kept.sets)):
        who = kept.who(place)
        rows = frame.rows_of(who)
        if trainer.train(rows, exact_sums).to_dict() == kept.model:
            different.add(frame.contents(rows))
            in_all &= who
    return Verified(
        min((len(set(one)) for one in zip(*different, strict=True)), default=0),
        len(kept.sets) - len(different),
        int(in_all.sum()),
        kept.least,
        release is None or release.payload == kept.model,
        release is None or _claims(release, kept),
    )


def _claims(release: Release[Any], kept: Generators) -> bool:
    """Whether a release claims what was kept: the number of sets, and the way of learning with all its parameters."""
    claimed = [dict(one.parameters) for one in release.statement.models if one.name == CLAIM]
    said = {name: value for name, value in release.recipe.parameters.items() if name not in ("table", *SEARCHED)}
    same_way = release.recipe.method == f"learn {kept.learner}" and said == kept.parameters
    return claimed == [{"generators": kept.least}] and same_way
