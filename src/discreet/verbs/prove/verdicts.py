"""Verdicts on a privacy claim: proved, refuted, or unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.verbs.prove.explain import CouplingRow, coupling_rows, invariant_texts
from discreet.verbs.prove.number_text import probability_text, value_text
from discreet.verbs.prove.syntax import ListOf, Program
from discreet.verbs.prove.unparse import claim_text

if TYPE_CHECKING:
    from discreet.verbs.prove.certificate import Certificate
    from discreet.verbs.prove.refuter.counterexample import Counterexample


@dataclass(frozen=True)
class ProofVerdict:
    """The verdict on the claim of ``program``, and the processor seconds it took."""

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
        """The verdict as plain data for JSON."""
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
class Proved(ProofVerdict):
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
        return f"{self.program.name} is {said}{_quantifiers(self.program)}{runs}."

    @property
    def lines(self) -> tuple[str, ...]:
        lines: list[str] = []
        both = len(self.certificate.alignments) > 1
        for alignment in self.certificate.alignments:
            if both:
                lines.append(
                    "from the second input to the first:"
                    if alignment.backwards
                    else "from the first input to the second:"
                )
            lines += _table(coupling_rows(self.program, alignment, self.others))
            lines += [
                f"no ties: {one.name} is never {text}, except with probability 0"
                for one in alignment.couplings
                for text in one.misses
            ]
            for number, texts in enumerate(invariant_texts(self.program, alignment, self.others), 1):
                lines += [f"invariant of loop {number}: {text}" for text in texts]
        if self.certificate.method == "lockstep":
            lines.append(f"total cost at most rho = {self.certificate.rho}, {self._curve()}")
        if self.certificate.method == "enumeration":
            lines.append("every pair of neighbours and every outcome was computed exactly")
        if self.certificate.callees:
            lines.append(f"by the proofs of {', '.join(one.program for one in self.certificate.callees)}")
        if not self.ends:
            lines.append("termination was not proved")
        return tuple(lines)

    def _curve(self) -> str:
        from discreet.verbs.prove.kernel.delta_bounds import all_gaussian
        from discreet.verbs.prove.kernel.layout import number_program

        exact = all_gaussian(number_program(self.program, self.others))
        return f"which gives the delta by {'the exact curve of Gaussian noise' if exact else 'zCDP'}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ends": self.ends, "proof": self.certificate.to_dict()}


@dataclass(frozen=True)
class Refuted(ProofVerdict):
    """The claim is false: ``counterexample`` has two neighbours and an event that say so, and was replayed."""

    counterexample: Counterexample
    others: Mapping[str, Program]
    word: ClassVar[str] = "REFUTED"

    @property
    def summary(self) -> str:
        counterexample, name = self.counterexample, self.program.name
        if counterexample.hopeless:
            delta = f" with a delta of {counterexample.delta}" if counterexample.delta else ""
            return f"{name} is not private for any eps{delta}: one input can give an output that its neighbour cannot."
        return f"{name} is not ({claim_text(self.program)})-differentially private{self._at()}."

    def _at(self) -> str:
        """The parameters of the counterexample, if the program depends on any."""
        from discreet.verbs.prove.syntax import mentions_eps

        if not mentions_eps(self.program, self.others):
            return ""
        return " at " + ", ".join(
            f"{name} = {value_text(value)}" for name, value in self.counterexample.parameters.items()
        )

    @property
    def lines(self) -> tuple[str, ...]:
        witness = self.counterexample
        public = {one.name for one in self.program.inputs if not one.private}
        given = [f"{name} = {value_text(value)}" for name, value in witness.inputs.items() if name in public]
        one = [f"{name} = {value_text(value)}" for name, value in witness.inputs.items() if name not in public]
        two = [f"{name}' = {value_text(value)}" for name, value in witness.neighbours.items() if name not in public]
        how = {
            "exact": "computed exactly",
            "enclosed": "enclosed by ball arithmetic",
            "sampled": "from samples: wrong with probability at most 1e-9",
        }
        measure = "density" if witness.density else "probability"
        first, second, allowed = map(probability_text, (witness.first, witness.second, witness.allowed))
        lines = [
            *([f"with    {', '.join(given)}"] if given else []),
            f"input   {', '.join(one)}",
            f"beside  {', '.join(two)}",
            f"event   {witness.event}",
            f"{measure} {first} beside {second} ({how[witness.how]})",
        ]
        if witness.delta:
            lines.append(f"{allowed} times as much, plus {witness.delta}, is allowed")
        elif witness.ratio is not None:
            lines.append(f"ratio   {probability_text(witness.ratio)}, where {allowed} is allowed")
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        counterexample = self.counterexample
        return {
            **super().to_dict(),
            "counterexample": {
                "parameters": {name: value_text(value) for name, value in counterexample.parameters.items()},
                "inputs": {name: value_text(value) for name, value in counterexample.inputs.items()},
                "neighbours": {name: value_text(value) for name, value in counterexample.neighbours.items()},
                "event": counterexample.event,
                "first": probability_text(counterexample.first),
                "second": probability_text(counterexample.second),
                "density": counterexample.density,
                "how": counterexample.how,
            },
        }


@dataclass(frozen=True)
class Unknown(ProofVerdict):
    """Neither a proof nor a counterexample was found; ``tried`` says what was looked for. It may still be either."""

    tried: tuple[str, ...]
    word: ClassVar[str] = "UNKNOWN"

    @property
    def summary(self) -> str:
        return f"{self.program.name} was neither proved nor refuted."

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(f"tried: {one}" for one in self.tried)


def _quantifiers(program: Program) -> str:
    lengths = [one.name for one in program.inputs if isinstance(one.type, ListOf) and one.type.length is None]
    values = [one.name for one in program.inputs if not one.private and not isinstance(one.type, ListOf)]
    said = [f"every length of {' and '.join(lengths)}"] * bool(lengths)
    said += [f"every {' and '.join((', '.join(values[:-1]), values[-1]) if values[1:] else values)}"] * bool(values)
    return f", for {' and '.join(said)}" if said else ""


def _table(draws: Sequence[CouplingRow]) -> list[str]:
    cells = [("sample", "line", "scale", "coupled with shift", "cost of a draw")]
    cells += [(one.sample, str(one.line), one.scale, one.shift, one.cost) for one in draws]
    wide = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip() for row in cells]
