"""A proof as plain data: what to shift at each draw, what stays true in each loop, what it costs.

Nothing here is trusted: ``checker`` makes every condition of the proof again from the program. In the texts a name such
as ``x`` is its value in the first run and ``x'`` in the second; names that end in two strokes are the proof's own:

``branchN''``  which way the N-th visible branch goes (in this round of its loop)
``shownN''``   what the N-th emit or return will show, where that is no real number
``costN''``    what the N-th draw has been charged so far
``where''``    the index at which the lists differ, when neighbours differ in one item; ``which''`` the input (from 0)
``spent_q''[i]``  by how much the items of ``q`` before ``i`` differ in all, when neighbours differ by so much in all
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from discreet.core.document import dumps, fields, loads
from discreet.errors import BadInput, Damaged, NotFound

_TEXTS = ("program", "digest", "epsilon", "delta", "method", "rho", "seal")
"""Fields of a certificate that are texts."""


@dataclass(frozen=True)
class Coupling:
    """Coupling of the N-th draw: how the second run's value follows from the first's.

    The second run's noise is the first run's plus ``shift`` (for a Bernoulli: flipped if ``shift``). ``charge`` is at
    least the size of the shift; what it costs is ``charge`` over ``scale``. ``misses`` are values that a continuous
    draw hits with probability 0, where the proof needs that there are no ties.
    """

    number: int
    name: str
    distribution: str
    scale: str
    shift: str
    charge: str
    misses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alignment:
    """The proof in one direction: couplings of all draws, invariants of each loop."""

    backwards: bool
    couplings: tuple[Coupling, ...]
    invariants: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Certificate:
    """A proof of one claim about one program.

    ``method``: ``alignment`` (shifts, pure), ``lockstep`` (Gaussian noise; ``rho`` bounds what it costs),
    ``enumeration`` (finitely many inputs and outcomes, all of them computed). ``seal`` is a digest of all the rest.
    """

    program: str
    digest: str
    epsilon: str
    delta: str
    method: str
    alignments: tuple[Alignment, ...] = ()
    rho: str = "0"
    callees: tuple[Certificate, ...] = ()
    seal: str = field(default="", compare=False)

    def sealed(self) -> Certificate:
        """The certificate with its digest."""
        return replace(self, seal=self._digest())

    def require_sealed(self) -> None:
        """Raise ``Damaged`` if the certificate was changed since it was sealed."""
        if self.seal != self._digest():
            raise Damaged(
                f"The proof of {self.program} was changed after it was saved.", hint="Prove the program again."
            )

    def to_dict(self) -> dict[str, object]:
        """The certificate as plain data for ``core.document.dumps``."""
        return {
            **{name: getattr(self, name) for name in _TEXTS},
            "alignments": [_alignment_to_dict(alignment) for alignment in self.alignments],
            "callees": [callee.to_dict() for callee in self.callees],
        }

    @classmethod
    def from_dict(cls, data: object) -> Certificate:
        """Read what ``to_dict`` wrote; anything else is refused."""
        read = fields(data, "A proof", **dict.fromkeys(_TEXTS, str), alignments=list, callees=list)
        read["alignments"] = tuple(_alignment(item) for item in read["alignments"])
        read["callees"] = tuple(cls.from_dict(item) for item in read["callees"])
        return cls(**read)

    def _digest(self) -> str:
        return hashlib.sha256(dumps(replace(self, seal="").to_dict()).encode()).hexdigest()


def _alignment_to_dict(alignment: Alignment) -> dict[str, object]:
    return {
        "backwards": alignment.backwards,
        "couplings": [{**asdict(coupling), "misses": list(coupling.misses)} for coupling in alignment.couplings],
        "invariants": [list(texts) for texts in alignment.invariants],
    }


def _alignment(data: object) -> Alignment:
    read = fields(data, "An alignment", backwards=bool, couplings=list, invariants=list)
    kinds: dict[str, type] = dict.fromkeys(("name", "distribution", "scale", "shift", "charge"), str)
    entries = [fields(item, "A coupling", number=int, **kinds, misses=list) for item in read["couplings"]]
    couplings = tuple(Coupling(**{**item, "misses": _text_list(item["misses"])}) for item in entries)
    return Alignment(read["backwards"], couplings, tuple(map(_text_list, read["invariants"])))


def _text_list(data: object) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(text, str) for text in data):
        raise BadInput("The invariants of a loop and the values that a draw misses must be lists of strings.")
    return tuple(data)


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write a proof as JSON."""
    path.write_text(dumps(certificate.to_dict()), encoding="utf-8")


def read_certificate(path: Path) -> Certificate:
    """Read a proof from JSON; only the checker decides whether it is one."""
    try:
        return Certificate.from_dict(loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read as text: {error}.") from None
