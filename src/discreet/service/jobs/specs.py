"""What a job is to do, as plain data that is checked before anything is begun.

``SPECS`` has them by kind. What they name in words (models, methods, rules) is written as for the commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

from discreet.core.text import meant
from discreet.errors import BadInput

_LONGEST = 1000
_MOST = 100
_MOST_PEOPLE = 10**11


@dataclass(frozen=True)
class _Spec:
    """What all kinds have in common: their fields are texts, lists of texts, and whole numbers, and short."""

    kind: ClassVar[str]
    untold: ClassVar[tuple[str, ...]] = ()
    """The fields that are for stewards alone."""

    def __post_init__(self) -> None:
        for one in fields(self):
            _require(one.name, str(one.type), getattr(self, one.name))

    def about(self) -> dict[str, str]:
        """What it is about, for the audit log: names, and nothing that somebody wrote freely."""
        return {name: getattr(self, name) for name in ("table", "release", "session") if hasattr(self, name)}

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """What ``to_dict`` gave, or a part of it: what is left out is as by default."""
        known = {one.name: one for one in fields(cls)}
        if not isinstance(data, Mapping):
            raise BadInput(f"A job of the kind {cls.kind} is an object with {', '.join(known)}.")
        for name in data:
            if name not in known:
                raise BadInput(f"{cls.kind} knows no {name!r}{meant(str(name), known)}.", hint=_known(known))
        for name, one in known.items():
            if name not in data and one.default is MISSING:
                raise BadInput(f"{cls.kind} needs {name}.", hint=_known(known))
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in data.items()})


@dataclass(frozen=True)
class Publish(_Spec):
    """Publish a table so that ``models`` hold, by a recoder or a masking method."""

    kind: ClassVar[str] = "publish"
    table: str
    models: tuple[str, ...]
    """Such as ``k=5`` and ``l=3 on disease``; may be empty where ``method`` is a masking."""
    method: str = "generalize"
    suppress: str = "0"
    """The share of the rows that may be left out: 5%, 0.05 or 1/20."""
    quality: str = "granularity"
    title: str = ""


@dataclass(frozen=True)
class Synthesize(_Spec):
    """Make a table's synthetic twin, charged to the table: for an epsilon, with or without a delta, or a rho."""

    kind: ClassVar[str] = "synthesize"
    table: str
    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None
    by: str = "aim"
    columns: tuple[str, ...] = ()
    """Those it is to have; all if empty."""
    rows: int = 0
    """How many; 0: about as many as the table has."""
    bins: str = ""
    """Of columns with bounds: ``32``, or ``age:10,income:32``."""
    quantiles: tuple[str, ...] = ()
    """Columns whose bins hold about as many rows each."""
    person: tuple[str, ...] = ()
    """What is the same in all rows of a person; rows are linked then."""


@dataclass(frozen=True)
class Tabulate(_Spec):
    """Print tables of counts, or of the sums of ``value``, so that nobody's figure can be told."""

    kind: ClassVar[str] = "tabulate"
    table: str
    by: tuple[str, ...]
    """A text for each table: ``sex × ward``. Several are linked, and protected together."""
    value: str | None
    rules: tuple[str, ...]
    """Such as ``p=10`` and ``min=3``."""
    method: str = "suppress"
    title: str = ""


@dataclass(frozen=True)
class Hide(_Spec):
    """Change a table's transactions until a miner finds none of the secrets. It protects nobody's privacy."""

    kind: ClassVar[str] = "hide"
    untold: ClassVar[tuple[str, ...]] = ("support", "confidence", "itemsets", "rules", "keep", "margin")
    table: str
    support: str
    """From which on the miner finds something: a share such as 2%, or a number of transactions."""
    confidence: str | None = None
    """The same for rules; 60%."""
    itemsets: tuple[str, ...] = ()
    """Secrets, such as ``ward=north, disease=flu``."""
    rules: tuple[str, ...] = ()
    """Secrets, such as ``ward=north => disease=flu``."""
    columns: tuple[str, ...] = ()
    """Those that items are made of; all but identifiers if empty."""
    method: str = "exact"
    keep: tuple[str, ...] = ()
    """Itemsets that must stay frequent."""
    margin: str = "0"
    """How far below the thresholds secrets are put, as a share of them."""
    title: str = ""


@dataclass(frozen=True)
class Attack(_Spec):
    """Attack a release that lies on the shelf."""

    kind: ClassVar[str] = "attack"
    release: str
    only: tuple[str, ...] = ()
    """The names of attacks; all that are for such a release if empty."""
    population: int = 0
    """How many people the table is a random sample of; 0: it is none, or nobody knows."""


@dataclass(frozen=True)
class Compare(_Spec):
    """Put maskings of a table on a risk–utility map."""

    kind: ClassVar[str] = "compare"
    table: str
    loss: str = "pil"
    methods: tuple[str, ...] = ()
    """Masking methods; a short menu if empty."""


@dataclass(frozen=True)
class Combine(_Spec):
    """Take part in a session the manifest of which is in the workspace."""

    kind: ClassVar[str] = "combine"
    session: str
    """The manifest's name, without .toml."""
    brings: str
    """A table of the workspace, or a file beside the manifest."""


Spec: TypeAlias = Publish | Synthesize | Tabulate | Hide | Attack | Compare | Combine
SPECS: Mapping[str, type[Spec]] = {
    one.kind: one for one in (Publish, Synthesize, Tabulate, Hide, Attack, Compare, Combine)
}


def read_spec(kind: str, data: object) -> Spec:
    """A spec of a kind, from plain data."""
    if kind not in SPECS:
        raise BadInput(f"There is no job of the kind {kind!r}{meant(kind, SPECS)}.", hint=_known(SPECS))
    return SPECS[kind].from_dict(data)


def _known(names: Mapping[str, object]) -> str:
    return f"Known are {', '.join(names)}."


def _require(name: str, kind: str, value: object) -> None:
    """An error unless a field's value is of its kind, and not longer than anybody needs."""
    if kind == "int":
        if type(value) is not int or not 0 <= value <= _MOST_PEOPLE:
            raise BadInput(f"{name} is a whole number from 0 to {_MOST_PEOPLE:,}.")
    elif kind.startswith("tuple"):
        if not isinstance(value, tuple) or len(value) > _MOST:
            raise BadInput(f"{name} is a list of at most {_MOST} texts.")
        for one in value:
            _require_text(name, one)
    elif value is not None or "None" not in kind:
        _require_text(name, value)


def _require_text(name: str, value: object) -> None:
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise BadInput(f"{name} is text, in one line of at most {_LONGEST:,} characters.")
