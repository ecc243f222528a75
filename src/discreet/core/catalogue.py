"""The catalogue: every method, model, rule, attack, hierarchy and protocol is declared once, beside its code.

    @declare(MASKING, "noise", example="noise alpha=0.1", paper="Kim 1986")
    class Noise:
        \"\"\"Normal noise with a variance in proportion to the column's own.\"\"\"

        alpha: float = parameter("Standard deviation of the noise, as a share of the column's.", above=0)
        columns: Sequence[str] = parameter("Columns to mask.", default=(), clause="on")

A declaration is a frozen dataclass whose fields say what they mean and which values they take. From it follow the text
that people write (``noise alpha=0.1 on age``), ``--help``, the schemas of the service, the console's forms, the page
docs/catalogue.md and the contract tests. Members of a family are found by looking for declarations in the sources of
its packages: adding one takes one file (docs/architecture.md shows how).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, cached_property, lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, get_type_hints

from discreet.core.parameter import Parameter, Readers
from discreet.core.text import meant
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.card import Card

T = TypeVar("T", bound=type)
Options = Mapping[str, Any]
_DECLARATION = "declaration"


def parameter(
    sentence: str,
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    compare: bool = True,
    kw_only: Any = MISSING,
    **limits: Any,
) -> Any:
    """A field of a declaration: what it means and, as ``limits``, which values it takes (see ``Parameter``)."""
    made: dict[str, Any] = {"default": default} if default_factory is MISSING else {"default_factory": default_factory}
    return field(compare=compare, kw_only=kw_only, metadata={_DECLARATION: {"sentence": sentence, **limits}}, **made)


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, field))
def declare(
    family: Family, name: str, *, example: str = "", init: bool = True, kw_only: bool = False, **about: Any
) -> Callable[[T], T]:
    """Make a class a frozen dataclass and a member of a family; ``about`` are fields of ``Entry``."""

    def declared(kind: T) -> T:
        if family.attribute not in vars(kind):
            setattr(kind, family.attribute, name)
        made: T = dataclass(frozen=True, init=init, kw_only=kw_only)(kind)  # type: ignore[assignment]
        register(family, name, made, example=example, **about)
        return made

    return declared


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, field))
def parameterized(*, init: bool = True) -> Callable[[T], T]:
    """Make a class a frozen dataclass whose subclasses share the parameters that it declares."""
    return dataclass(frozen=True, init=init)  # type: ignore[return-value]  # it gives the same class back


def register(family: Family, name: str, kind: Any, **about: Any) -> None:
    """Add a declared class to one more family."""
    own = str(getattr(kind, "example", "")).partition(";")[0]
    about["example"] = about.get("example") or own or " ".join((*family.prefix, name))
    family.members[name] = Entry(family, name, kind, **about)


@cache
def parameters_of(kind: Any) -> tuple[Parameter, ...]:
    """The parameters that a class declares."""
    declared = {one.name for one in fields(kind) if _DECLARATION in one.metadata}
    types: dict[str, Any] = {}
    for parent in reversed(kind.__mro__):  # only what is declared: other annotations may not be there at run time
        own = {name: text for name, text in vars(parent).get("__annotations__", {}).items() if name in declared}
        types |= get_type_hints(type("Declared", (), {"__annotations__": own, "__module__": parent.__module__}))
    return tuple(
        Parameter(
            one.name,
            type=types[one.name],
            default=one.default if one.default_factory is MISSING else one.default_factory(),
            **one.metadata[_DECLARATION],
        )
        for one in fields(kind)
        if _DECLARATION in one.metadata
    )


def check_parameters(made: Any, /, **given: Any) -> None:
    """Check the parameters of a declared object, or set those ``given``: each is of its type and within its range.

    Numbers that privacy depends on become exact rationals, and whole numbers Python's own.
    """
    kind: Any = type(made)
    known = parameters_of(kind)
    for one in known if not given else [each for each in known if each.name in given]:
        value = given[one.name] if given else getattr(made, one.name)
        object.__setattr__(made, one.name, one.check(value))


class Checked:
    """Base of declared classes whose parameters are checked when an object is made, and nothing else."""

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True)
class Entry:
    """One member of a family, as it was declared."""

    family: Family
    name: str
    kind: Any
    example: str
    """A text that names it, with all that it needs."""
    spelled: str = ""
    """How it is written, if not by name: ``{t}`` is a parameter, ``[…]`` may be left out."""
    paper: str = ""
    extra: str = ""
    """The extra of the package that it needs."""
    rank: int = 50
    """Its place in lists: small ones come first, the default of a family has 0."""
    make: Callable[[Any], Any] | None = None
    """Function that turns an object of its class into the member, if the object is not the member itself."""
    preset: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Parameters that its name sets."""

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return " ".join((self.kind.__doc__ or "").strip().partition("\n\n")[0].split()).replace("``", "")

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters and those of every member of its family."""
        taken = signature(self.kind).parameters.keys() - self.preset.keys()
        own = [one for one in parameters_of(self.kind) if one.name in taken]
        return (*own, *self.family.shared())

    @cached_property
    def usage(self) -> str:
        """How it is written: an example, with optional parts in brackets."""
        if self.spelled:
            return self._spelled_usage()
        if self.family.in_cards:
            return self.example
        said = f" {self.example} "
        others = [one for one in self.parameters if one.usage and not re.search(rf"\s{one.word}[=\s]", said)]
        return " ".join((self.example, *(one.usage if one.required else f"[{one.usage}]" for one in others)))

    def schema(self) -> dict[str, Any]:
        """JSON schema of its parameters."""
        return {
            "title": self.name,
            "description": self.summary,
            "type": "object",
            "properties": {one.name: one.schema() for one in self.parameters if one.usage},
            "required": [one.name for one in self.parameters if one.required and one.usage],
            "additionalProperties": False,
            "examples": [self.example],
        }

    def help(self) -> list[str]:
        """Lines that explain it: what it is, how it is written, its parameters and its paper."""
        lines = [f"{self.title} ({self.family.noun})", f"  {self.summary}", f"  Write: {self.usage}"]
        lines += [f"    {one.word}: {one.described}. {one.sentence}" for one in self.parameters if one.usage]
        lines += [f"  Paper: {self.paper}."] if self.paper else []
        return lines + ([f"  Needs the extra discreet[{self.extra}]."] if self.extra else [])

    def said(self, text: str) -> dict[str, Any]:
        """Values of the parameters in ``text`` (without the name), as texts; ``None`` for a flag."""
        return self._templated(text) if self.spelled else self._arguments(text)

    def spell(self, values: Mapping[str, str | bool]) -> str:
        """The text that gives these values (flags as booleans); empty values and defaults are left out."""
        if self.spelled:
            given = {name: name if value is True else value for name, value in values.items() if value}
            optional = re.compile(r"\[([^\[\]]*)\]")
            kept = optional.sub(
                lambda part: part[1] if {*re.findall(r"\{(\w+)\}", part[1])} & {*given} else "", self.spelled
            )
            return re.sub(r"\{(\w+)\}", lambda part: str(given.get(part[1], "")), kept)
        parts = [] if self.family.default == self.name else [self.title]
        clauses = []
        for one in self.parameters:
            value = values.get(one.name, "")
            if one.is_flag and value not in ("", one.default is True):
                parts.append(one.word if value else f"{one.word}=false")
            elif one.clause and value:
                clauses.append(f"{one.clause} {value}")
            elif value and not one.is_flag and value != one.default:
                parts.append(f"{one.word}={value}")
        return " ".join((*parts, *clauses)) if parts else " ".join((self.name, *clauses))

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        about = {"name": self.name, "summary": self.summary, "usage": self.usage, "example": self.example}
        return {**about, "paper": self.paper, "extra": self.extra, "parameters": self.schema()}

    def parse(
        self, text: str, card: Card | None = None, readers: Readers | None = None, options: Options | None = None
    ) -> Any:
        """The object that ``text`` and ``options`` describe."""
        return self.build(self.read(text, card, readers, options), card)

    def build(self, values: Mapping[str, Any], card: Card | None = None) -> Any:
        """The object with these parameters; an error if one is missing."""
        values = dict(values)
        for one in self.parameters:
            if one.name not in values and one.column == "sensitive" and card is not None:
                values[one.name] = self._only_sensitive(card)
            if (one.required or one.spoken) and one.name not in values:
                raise self._wrong(f"{self.title} needs {one.word}: {one.described}.")
        shared = {one.name: values.pop(one.name) for one in self.family.shared() if one.name in values}
        try:
            made = self.kind(**self.preset, **values)
            made = self.make(made) if self.make else made
            return import_declaration(self.family.wrapper)(made, **shared) if shared else made
        except BadInput as error:
            if error.hint or type(error) is not BadInput:
                raise
            raise self._wrong(error.message) from None

    def read(
        self, text: str, card: Card | None = None, readers: Readers | None = None, options: Options | None = None
    ) -> dict[str, Any]:
        """The parameters in ``text`` and ``options``, each as its type; an option may be of its type already."""
        said = {**self.said(text), **(options or {})}
        known = {one.name: one for one in self.parameters if one.usage}
        values = {}
        for name, value in said.items():
            if name not in known:
                near = meant(name, known)
                raise self._wrong(f"{name.replace('_', '-')!r} is not a parameter of {self.title}{near}.")
            try:
                is_text = value is None or isinstance(value, str)
                values[name] = known[name].read(value, card, readers or {}) if is_text else value
            except (ValueError, ArithmeticError):
                got = "nothing" if value is None else repr(value)
                told = f"{self.title}: {known[name].word} must be {known[name].described}, got {got}."
                raise self._wrong(told) from None
        return values

    @property
    def title(self) -> str:
        """Its name, with the prefix of its family."""
        return " ".join((*self.family.prefix, self.name))

    def matches(self, text: str) -> bool:
        """Whether a text is written like its template."""
        return re.fullmatch(self._pattern, text, re.IGNORECASE) is not None

    def _wrong(self, message: str) -> BadInput:
        return BadInput(message, hint=f"Write: {self.usage}")

    def _only_sensitive(self, card: Card) -> str:
        names = [column.name for column in card.columns if column.role.value == "sensitive"]
        if len(names) == 1:
            return names[0]
        which = f"declares {', '.join(names)}" if names else "declares no sensitive column"
        raise self._wrong(f"On which column? The card of {card.name} {which}.")

    def _arguments(self, text: str) -> dict[str, Any]:
        """The arguments behind the name: ``key=value``, flags, and clauses such as ``on COLUMNS``."""
        flags = "|".join(re.escape(one.word) for one in self.parameters if one.is_flag)
        clauses = {one.clause: one.name for one in self.parameters if one.clause}
        words, found = f" {text} ", {}
        if clauses:
            stop = rf"(?=\s(?:{'|'.join(clauses)})[\s=]|\s[\w-]+=|\s(?:{flags or '(?!)'})\s|\s*$)"
            pattern = rf"\s({'|'.join(clauses)})[\s=]\s*(.+?){stop}"
            for match in re.finditer(pattern, words, re.IGNORECASE):
                found[clauses[match[1].lower()]] = match[2]
            words = re.sub(pattern, " ", words, flags=re.IGNORECASE)
        words = re.sub(r",\s+", ",", re.sub(r",\s+(?=[\w-]+=)", " ", words))  # the commas of a list stay
        for word in words.split():
            key, equals, value = word.partition("=")
            found[key.replace("-", "_").lower()] = value if equals else None
        return found

    @cached_property
    def _pattern(self) -> str:
        known = {one.name: one for one in self.parameters}

        def part(match: re.Match[str]) -> str:
            if match[0] in "[]":
                return "(?:" if match[0] == "[" else ")?"
            if match[1] is None:
                return re.escape(match[0])
            one = known[match[1]]
            value = re.escape(one.word) if one.is_flag else ".+" if one.is_long else r"[^\s=]+?"
            return rf"(?P<{one.name}>{value})"

        return re.sub(r"\{(\w+)\}|[\[\]]|[^\[\]{]+", part, self.spelled)

    def _templated(self, text: str) -> dict[str, Any]:
        match = re.fullmatch(self._pattern, text, re.IGNORECASE)
        if match is None:
            raise self._wrong(f"{text!r} does not follow the syntax of {self.title}.")
        flags = {one.name for one in self.parameters if one.is_flag}
        return {name: None if name in flags else said for name, said in match.groupdict().items() if said is not None}

    def _spelled_usage(self) -> str:
        match = re.fullmatch(self._pattern, self.example, re.IGNORECASE)
        values = match.groupdict() if match else {}
        known = {one.name: one for one in self.parameters}
        text = re.sub(r"\[([^\[\]{}]*)\]", lambda part: "" if " " in part[1] else part[1], self.spelled)
        text = re.sub(r"\{(\w+)\}", lambda part: values.get(part[1]) or known[part[1]].placeholder, text)
        return re.sub(r"\[(\s*)(.*?)(\s*)\]", r"\1[\2]\3", text)


@dataclass(frozen=True)
class Family:
    """Methods of one kind, found by their declarations in the sources of ``packages``."""

    name: str
    """Its constant in lower case: ``MASKING`` is ``masking``."""
    noun: str
    """Noun for one member."""
    packages: tuple[str, ...]
    commands: tuple[str, ...] = ()
    """The commands that take them."""
    prefix: tuple[str, ...] = ()
    """Words that stand before a name."""
    default: str = ""
    """The member that a text without a name means."""
    attribute: str = "name"
    """Attribute of a class that holds its name."""
    in_cards: bool = False
    """Whether members are written as tables of a card (TOML) instead of as texts."""
    wrapper: str = ""
    """Class, with its module, that wraps every member and adds parameters of its own."""
    members: dict[str, Entry] = field(default_factory=dict, repr=False, compare=False)

    @property
    def title(self) -> str:
        """Name of the family for people, such as "Masking methods"."""
        noun, of, rest = self.noun.partition(" of ")
        noun, across, more = (noun, of, rest) if of else noun.partition(" across ")
        many = f"{noun.removesuffix('y')}ies" if noun.endswith("hy") else f"{noun}s"
        return f"{many[0].upper()}{many[1:]}{across}{more}"

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        entries = [entry.to_dict() for entry in self.entries()]
        return {"name": self.name, "title": self.title, "commands": list(self.commands), "entries": entries}

    def shared(self) -> tuple[Parameter, ...]:
        """The parameters that every member takes."""
        return parameters_of(import_declaration(self.wrapper)) if self.wrapper else ()

    def names(self) -> tuple[str, ...]:
        """The names of all members; nothing is imported."""
        return tuple(declarations(self.name.upper(), self.packages))

    def entries(self) -> tuple[Entry, ...]:
        """All members, the default first."""
        homes = declarations(self.name.upper(), self.packages)
        for name, module in homes.items():
            if name not in self.members:
                import_declaration(module)
        return tuple(sorted((self.members[name] for name in homes), key=lambda one: (one.rank, one.name)))

    def entry(self, name: str) -> Entry:
        """The member of this name; an error if there is none."""
        homes = declarations(self.name.upper(), self.packages)
        if name not in homes:
            raise self._unknown(name, name)
        if name not in self.members:
            import_declaration(homes[name])
        return self.members[name]

    def has(self, text: str) -> bool:
        """Whether ``text`` begins with the name of a member."""
        words = f"{' '.join(text.lower().split())} "
        return any(words.startswith(f"{' '.join((*self.prefix, name.lower()))} ") for name in self.names())

    def parse(
        self, text: str, card: Card | None = None, readers: Readers | None = None, options: Options | None = None
    ) -> Any:
        """The object that ``text`` and ``options`` describe; columns are those of ``card``."""
        entry, rest = self.find(text)
        return entry.parse(rest, card, readers, options)

    def value(self, name: str, text: str, card: Card | None = None) -> Any:
        """The value that ``text`` gives for a parameter of the default member."""
        return self.entry(self.default).read("", card, options={name: text})[name]

    def find(self, text: str) -> tuple[Entry, str]:
        """The member that ``text`` names, and the rest of the text; an error lists all members."""
        words = re.sub(r"\s*=\s*", "=", " ".join(text.split()))
        start = " ".join(self.prefix)
        if start and words.lower().startswith(start):
            words = words[len(start) :].lstrip()
        lower, name = f"{words.lower()} ", words.partition(" ")[0]
        for known in sorted(self.names(), key=len, reverse=True):
            if lower.startswith(f"{known.lower()} ") and not self.entry(known).spelled:
                return self.entry(known), words[len(known) :].lstrip()
        if self.default and (not name or "=" in name):
            return self.entry(self.default), words
        for entry in self.entries():
            if entry.spelled and entry.matches(words):
                return entry, words
        raise self._unknown(text, name.lower().partition("=")[0])

    def _unknown(self, text: str, name: str) -> BadInput:
        entries = self.entries()
        near = meant(name, [one.spelled.partition("=")[0] if one.spelled else one.name for one in entries])
        listed = "\n  ".join(one.usage for one in entries)
        return BadInput(f"There is no {self.noun} {text!r}{near}.", hint=f"\nAvailable:\n  {listed}")


def declarations(family: str, packages: Sequence[str]) -> Mapping[str, str]:
    """Names that the modules of packages declare in a family, each with its module; nothing is imported.

    A declaration is ``declare(FAMILY, "name", …`` or ``register(FAMILY, "name", …`` in a module's source. Folders that
    were added to a package's ``__path__`` count.
    """
    found: dict[str, str] = {}
    for package in packages:
        for folder in getattr(import_module(package), "__path__", [None]):
            found |= _find_declarations(family, package, folder)
    return found


def import_declaration(name: str) -> Any:
    """A module that ``declarations`` found, or a class in a module."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last) if last[:1].isupper() else import_module(name)


@lru_cache(maxsize=256)
def _find_declarations(family: str, package: str, folder: str | None) -> dict[str, str]:
    """Names declared in a folder of a package or, without a folder, in the module itself."""
    pattern = re.compile(rf'^@?(?:declare|register)\(\s*{family},\s*"([^"]+)"', re.MULTILINE)
    if folder is None:
        source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
        return dict.fromkeys(pattern.findall(source), package)
    found: dict[str, str] = {}
    for file in sorted(Path(folder).rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        module = ".".join((package, *parts)).removesuffix(".__init__")
        found |= dict.fromkeys(pattern.findall(file.read_text(encoding="utf-8")), module)
    return found
