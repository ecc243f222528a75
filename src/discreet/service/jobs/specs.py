"""Specifications of jobs: plain data that is checked before anything is begun.

``SPECS`` has them by kind; the API's requests are made from these declarations (``api/schemas.py``). What they name in
words (models, methods, rules) is written as for the commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeAlias

from discreet.core.catalogue import Family
from discreet.core.families import (
    ATTACKS,
    CELL_RULES,
    HIDING,
    LEARNERS,
    MASKING,
    MODELS,
    PEOPLE,
    PRIVATE_LEARNERS,
    PRIVATE_SYNTHESIS,
    QUALITIES,
    RECODERS,
    SYNTHESIZERS,
    TABLE_METHODS,
)
from discreet.core.text import meant
from discreet.errors import BadInput

LONGEST = 1000
"""Characters of a text."""
LONGEST_METHOD = 20_000
"""Characters of a method that names the columns of a wide table."""
MOST_TEXTS = 100
"""Texts of a list."""
_DESPITE = "Reason to release it even if it exposes people together with earlier releases; the statement quotes it."
LONGEST_PROGRAM = 20_000
"""Characters of a program to prove."""
MOST_SECONDS = 300
"""Largest time limit of a proof, seconds of processor time."""
LARGEST = 10**11
"""Largest number: of people, or of rows."""


@dataclass(frozen=True)
class _Spec:
    """What all kinds have in common: their fields are texts, lists of texts, and whole numbers, and short."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    untold: ClassVar[tuple[str, ...]] = ()
    """The fields that are for stewards alone."""

    def __post_init__(self) -> None:
        for one in fields(self):
            longest, lines = one.metadata.get("longest", LONGEST), one.metadata.get("lines", False)
            _require(one.name, str(one.type), getattr(self, one.name), longest, lines=lines)

    def about(self) -> dict[str, str]:
        """What it is about, for the audit log: names, and nothing that someone wrote freely."""
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
                raise BadInput(f"{cls.kind} has no field {name!r}{meant(str(name), known)}.", hint=_known(known))
        for name, one in known.items():
            if name not in data and one.default is MISSING:
                raise BadInput(f"{cls.kind} needs {name}.", hint=_known(known))
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in data.items()})


def _given(sentence: str = "", *, families: tuple[Family, ...] = (), example: object = None, **more: Any) -> Any:
    """A field with what the API says of it; ``families`` are the catalogue's whose names may be given.

    A text is one line, unless it may have several ``lines``.
    """
    described = {"sentence": sentence, "families": families, "example": example, "pattern": more.pop("pattern", None)}
    limits = {"longest": more.pop("longest", LONGEST), "lines": more.pop("lines", False)}
    return field(metadata=described | limits, **more)


@dataclass(frozen=True)
class Publish(_Spec):
    """Release a table's rows so that privacy models hold. No one but stewards has the release until it is shared."""

    kind: ClassVar[str] = "publish"
    summary: ClassVar[str] = "Publish a table"
    table: str
    models: tuple[str, ...] = _given(families=(MODELS,), example=["k=5", "l=2 on disease"])
    """May be empty where ``method`` is a masking."""
    method: str = _given(families=(RECODERS, MASKING, SYNTHESIZERS), default="generalize")
    suppress: str = _given("Maximum share of rows to suppress: 5%, 0.05 or 1/20.", example="5%", default="0")
    quality: str = _given(families=(QUALITIES,), default="granularity")
    people: str = _given(
        "Treatment of people with several rows; other tables have the workspace's names.",
        families=(PEOPLE,),
        example="linked with patients",
        default="",
    )
    title: str = ""
    despite: str = _given(_DESPITE, default="")


@dataclass(frozen=True)
class Synthesize(_Spec):
    """Make a table's synthetic stand-in, for a privacy loss.

    It is charged to the table, and to no analyst. Questions that a budget does not cover are then answered on it.
    """

    kind: ClassVar[str] = "synthesize"
    summary: ClassVar[str] = "Make a table's synthetic stand-in"
    table: str
    method: str = _given(
        "Privacy loss and synthesizer, as for `discreet synthesize`.",
        families=(PRIVATE_SYNTHESIS,),
        example="epsilon=1 delta=1e-9 by=mst on sex, ward",
        longest=LONGEST_METHOD,
    )


@dataclass(frozen=True)
class Tabulate(_Spec):
    """Publish tables of counts, or of the sums of ``value``, with sensitive cells protected."""

    kind: ClassVar[str] = "tabulate"
    summary: ClassVar[str] = "Publish tables of counts or sums"
    table: str
    by: tuple[str, ...] = _given("Dimensions of each table; several are linked.", example=["sex × ward"])
    value: str | None = _given("Column to sum; null to count rows.")
    rules: tuple[str, ...] = _given(families=(CELL_RULES,), example=["min=3"])
    method: str = _given(families=(TABLE_METHODS,), default="suppress")
    title: str = ""
    despite: str = _given(_DESPITE, default="")


@dataclass(frozen=True)
class Hide(_Spec):
    """Change a table's transactions until a miner finds none of the secrets. It protects no one's privacy."""

    kind: ClassVar[str] = "hide"
    summary: ClassVar[str] = "Hide itemsets and rules from data mining"
    untold: ClassVar[tuple[str, ...]] = ("support", "confidence", "itemsets", "rules", "keep", "margin")
    table: str
    support: str = _given("Minimum support of the miner: a share, or a number of transactions.", example="2%")
    confidence: str | None = _given("Minimum confidence of the miner, for rules.", example="60%", default=None)
    itemsets: tuple[str, ...] = _given("Secrets.", example=["ward=north, disease=flu"], default=())
    rules: tuple[str, ...] = _given("Secrets.", example=["ward=north => disease=flu"], default=())
    columns: tuple[str, ...] = _given("Columns that items are made of; all but identifiers if empty.", default=())
    method: str = _given(families=(HIDING,), default="exact")
    keep: tuple[str, ...] = _given("Itemsets that must stay frequent.", default=())
    margin: str = _given("Safety margin below the thresholds, as a share of them.", example="10%", default="0")
    title: str = ""
    despite: str = _given(_DESPITE, default="")


@dataclass(frozen=True)
class Learn(_Spec):
    """Learn a model of a table: for a privacy loss, or one that many different sets of people give (integral privacy).

    A loss is charged to the table, and to no analyst; the same again is free.
    """

    kind: ClassVar[str] = "learn"
    summary: ClassVar[str] = "Learn a model of a table"
    table: str
    method: str = _given(
        families=(PRIVATE_LEARNERS, LEARNERS),
        example="additive target=outcome epsilon=1 delta=1e-9",
        longest=LONGEST_METHOD,
    )
    title: str = ""
    despite: str = _given(_DESPITE, default="")


@dataclass(frozen=True)
class Attack(_Spec):
    """Attack a release: what would an intruder learn from it? What is found is for stewards alone."""

    kind: ClassVar[str] = "attack"
    summary: ClassVar[str] = "Attack a release"
    release: str = _given(pattern=r"^([0-9a-f]{64}|[0-9a-z-]{8,40})$", example="20260101-visits-0a1b2c3d")
    only: tuple[str, ...] = _given("All applicable ones if empty.", families=(ATTACKS,), default=())
    population: int = _given("Number of people the table is a random sample of; 0 if unknown.", default=0)


@dataclass(frozen=True)
class Compare(_Spec):
    """Put maskings of a table on a risk–utility map."""

    kind: ClassVar[str] = "compare"
    summary: ClassVar[str] = "Compare maskings of a table"
    table: str
    loss: str = "pil"
    methods: tuple[str, ...] = _given("A short list if empty.", families=(MASKING,), default=())


@dataclass(frozen=True)
class Combine(_Spec):
    """Take part in a session whose manifest is in the workspace."""

    kind: ClassVar[str] = "combine"
    summary: ClassVar[str] = "Take part in a session"
    session: str
    """The manifest's name, without .toml."""
    brings: str
    """A table of the workspace, or a file beside the manifest."""


@dataclass(frozen=True)
class Prove(_Spec):
    """Prove that a program is differentially private, or find two neighbours that break its claim.

    The program is parsed and never run.
    """

    kind: ClassVar[str] = "prove"
    summary: ClassVar[str] = "Prove or refute the privacy claim of a program"
    program: str = _given(
        "The program's text; of several programs in it the last is meant.",
        example="adjacent any\nclaim 1\nnothing(x : private bool) : bool\n  return true\n",
        longest=LONGEST_PROGRAM,
        lines=True,
    )
    language: str = _given("dp, or python with marked functions.", pattern="^(dp|python)$", default="dp")
    seconds: int = _given(f"Time limit of the search, 1 to {MOST_SECONDS} seconds of processor time.", default=20)


Spec: TypeAlias = Publish | Synthesize | Tabulate | Hide | Learn | Attack | Compare | Combine | Prove
SPECS: Mapping[str, type[Spec]] = {
    one.kind: one for one in (Publish, Synthesize, Tabulate, Hide, Learn, Attack, Compare, Combine, Prove)
}


def read_spec(kind: str, data: object) -> Spec:
    """A spec of a kind, from plain data."""
    if kind not in SPECS:
        raise BadInput(f"There is no job of the kind {kind!r}{meant(kind, SPECS)}.", hint=_known(SPECS))
    return SPECS[kind].from_dict(data)


def _known(names: Mapping[str, object]) -> str:
    return f"Choose from {', '.join(names)}."


def _require(name: str, kind: str, value: object, longest: int, *, lines: bool) -> None:
    """An error unless a field's value is of its kind, and not longer than anyone needs."""
    if kind == "int":
        if type(value) is not int or not 0 <= value <= LARGEST:
            raise BadInput(f"{name} must be a whole number from 0 to {LARGEST:,}.")
    elif kind.startswith("tuple"):
        if not isinstance(value, tuple) or len(value) > MOST_TEXTS:
            raise BadInput(f"{name} must be a list of at most {MOST_TEXTS} texts.")
        for one in value:
            _require_text(name, one, longest)
    elif value is not None or "None" not in kind:
        _require_text(name, value, longest, lines=lines)


def _require_text(name: str, value: object, longest: int, *, lines: bool = False) -> None:
    short = isinstance(value, str) and len(value) <= longest
    parts = value.split("\n") if lines and isinstance(value, str) else [value]
    if not short or not all(isinstance(one, str) and one.isprintable() for one in parts):
        form = "text in lines, without tabs," if lines else "text, in one line"
        raise BadInput(f"{name} is {form} of at most {longest:,} characters.")
