"""What can be said of a program: it is private, it is not, or neither was found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.verbs.prove.explaining import Row, invariants, rows
from discreet.verbs.prove.syntax import ListOf, Program
from discreet.verbs.prove.values import shown, written_value
from discreet.verbs.prove.writing import claim_text

if TYPE_CHECKING:
    from discreet.verbs.prove.certificate import Certificate
    from discreet.verbs.prove.refuter.counterexample import Counterexample


@dataclass(frozen=True)
class Verdict:
    """What was found out about ``program``, in how many seconds."""

    program: Program
    seconds: float
    word: ClassVar[str]

    @property
    def proved(self) -> bool:
        """Whether the claim is proved."""
        return isinstance(self, Proved)

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        raise NotImplementedError

    @property
    def lines(self) -> tuple[str, ...]:
        """The reasons, a line each."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "verdict": self.word,
            "program": self.program.name,
            "claim": claim_text(self.program),
            "seconds": round(self.seconds, 3),
            "summary": self.summary,
            "reasons": list(self.lines),
        }

    def __str__(self) -> str:
        head = f"{self.word:<8}{self.summary}  {self.seconds:.1f} s"
        return "\n".join([head, *(f"  {line}" for line in self.lines)])


@dataclass(frozen=True)
class Proved(Verdict):
    """The claim holds: ``certificate`` is a proof that the checker has gone through.

    ``ends``: every run was shown to end. If not, the claim holds for all that is seen up to any round.
    """

    certificate: Certificate
    others: Mapping[str, Program]
    ends: bool
    word: ClassVar[str] = "PROVED"

    @property
    def summary(self) -> str:
        runs = "" if self.ends else ", whether or not it ends"
        said = f"({claim_text(self.program)})-differentially private"
        return f"{self.program.name} is {said}{_for_all(self.program)}{runs}."

    @property
    def lines(self) -> tuple[str, ...]:
        found: list[str] = []
        both = len(self.certificate.alignments) > 1
        for alignment in self.certificate.alignments:
            if both:
                found.append(
                    "from the second input to the first:"
                    if alignment.backwards
                    else "from the first input to the second:"
                )
            found += _table(rows(self.program, alignment, self.others))
            found += [
                f"no ties: {one.name} is never {text}, but with probability 0"
                for one in alignment.couplings
                for text in one.misses
            ]
            for number, texts in enumerate(invariants(self.program, alignment, self.others), 1):
                found += [f"invariant of loop {number}: {text}" for text in texts]
        if self.certificate.method == "lockstep":
            found.append(f"together at most rho = {self.certificate.rho}, {self._curve()}")
        if self.certificate.method == "enumeration":
            found.append("every pair of neighbours and every outcome was computed exactly")
        if self.certificate.callees:
            found.append(f"by the proofs of {', '.join(one.program for one in self.certificate.callees)}")
        if not self.ends:
            found.append("that every run ends was not shown")
        return tuple(found)

    def _curve(self) -> str:
        from discreet.verbs.prove.kernel.layout import lay_out
        from discreet.verbs.prove.kernel.zcdp import gaussian

        exact = gaussian(lay_out(self.program, self.others))
        return f"which gives the delta by {'the exact curve of Gaussian noise' if exact else 'zCDP'}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ends": self.ends, "proof": self.certificate.to_dict()}


@dataclass(frozen=True)
class Refuted(Verdict):
    """The claim is false: ``counterexample`` has two neighbours and an event that say so, and was replayed."""

    counterexample: Counterexample
    others: Mapping[str, Program]
    word: ClassVar[str] = "REFUTED"

    @property
    def summary(self) -> str:
        found, name = self.counterexample, self.program.name
        if found.hopeless:
            delta = f" with a delta of {found.delta}" if found.delta else ""
            return f"{name} is not private for any eps{delta}: what one input may show, its neighbour never does."
        return f"{name} is not ({claim_text(self.program)})-differentially private{self._at()}."

    def _at(self) -> str:
        """For which parameters, if anything depends on them."""
        from discreet.verbs.prove.refuter.scanning import mentions_eps

        if not mentions_eps(self.program, self.others):
            return ""
        return " at " + ", ".join(
            f"{name} = {written_value(value)}" for name, value in self.counterexample.parameters.items()
        )

    @property
    def lines(self) -> tuple[str, ...]:
        found = self.counterexample
        public = {one.name for one in self.program.inputs if not one.private}
        given = [f"{name} = {written_value(value)}" for name, value in found.inputs.items() if name in public]
        one = [f"{name} = {written_value(value)}" for name, value in found.inputs.items() if name not in public]
        two = [f"{name}' = {written_value(value)}" for name, value in found.neighbours.items() if name not in public]
        how = {
            "exact": "computed exactly",
            "enclosed": "enclosed by ball arithmetic",
            "sampled": "from samples: wrong with probability 1e-9 at most",
        }
        measure = "density" if found.density else "probability"
        found_lines = [
            *([f"with    {', '.join(given)}"] if given else []),
            f"input   {', '.join(one)}",
            f"beside  {', '.join(two)}",
            f"event   {found.event}",
            f"{measure} {shown(found.first)} beside {shown(found.second)} ({how[found.how]})",
        ]
        if found.delta:
            found_lines.append(f"{shown(found.allowed)} times as much and {found.delta} more is allowed")
        elif found.ratio is not None:
            found_lines.append(f"ratio   {shown(found.ratio)}, where {shown(found.allowed)} is allowed")
        return tuple(found_lines)

    def to_dict(self) -> dict[str, Any]:
        found = self.counterexample
        return {
            **super().to_dict(),
            "counterexample": {
                "parameters": {name: written_value(value) for name, value in found.parameters.items()},
                "inputs": {name: written_value(value) for name, value in found.inputs.items()},
                "neighbours": {name: written_value(value) for name, value in found.neighbours.items()},
                "event": found.event,
                "first": shown(found.first),
                "second": shown(found.second),
                "density": found.density,
                "how": found.how,
            },
        }


@dataclass(frozen=True)
class Unknown(Verdict):
    """Neither a proof nor a counterexample was found; ``tried`` says what was looked for. It may still be either."""

    tried: tuple[str, ...]
    word: ClassVar[str] = "UNKNOWN"

    @property
    def summary(self) -> str:
        return f"{self.program.name} was neither proved nor refuted."

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(f"tried: {one}" for one in self.tried)


def _for_all(program: Program) -> str:
    lengths = [one.name for one in program.inputs if isinstance(one.type, ListOf) and one.type.length is None]
    values = [one.name for one in program.inputs if not one.private and not isinstance(one.type, ListOf)]
    said = [f"every length of {' and '.join(lengths)}"] * bool(lengths)
    said += [f"every {' and '.join((', '.join(values[:-1]), values[-1]) if values[1:] else values)}"] * bool(values)
    return f", for {' and '.join(said)}" if said else ""


def _table(draws: Sequence[Row]) -> list[str]:
    cells = [("sample", "line", "scale", "coupled with shift", "cost of a draw")]
    cells += [(one.sample, str(one.line), one.scale, one.shift, one.cost) for one in draws]
    wide = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in cells]
