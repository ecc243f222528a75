"""Cards in TOML: one file, one or several tables, every problem reported at once with its line.

[tables.patients]
unit = "patient_id"
rows_per_unit = 1

[tables.patients.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 110]
hierarchy = { type = "intervals", widths = [5, 10, 20] }

[hierarchies.diagnosis]          # shared: a column says hierarchy = "diagnosis"
type = "taxonomy"
file = "diagnosis.csv"
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

from discreet.core import toml
from discreet.core.card import Card, Column, ExposurePolicy, Role, fits
from discreet.core.catalogue import Entry, parameters_of
from discreet.core.edit_rules import named
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.hierarchy import Hierarchy
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind, Scalar
from discreet.core.text import meant
from discreet.core.text_format import FileLayout, TextFormat, chosen, declared, json_schema, toml_types
from discreet.errors import BadInput, CardError, DataError, HierarchyError, NotFound, Problem

FORMAT = 1
_Fields: TypeAlias = Mapping[str, tuple[type, ...]]
FILE_FIELDS: _Fields = {"discreet": (int,), "tables": (dict,), "hierarchies": (dict,), "exposure": (dict,)}
TABLE_FIELDS: _Fields = {
    "unit": (str,),
    "rows_per_unit": (int,),
    "groups_per_unit": (int,),
    "at_least": (int,),
    "public": (bool,),
    "impossible": (list,),
    "rows_are_people": (bool,),
    "population": (str,),
    "stable": (list,),
    "note": (str,),
    "file": (dict,),
    **toml_types(TextFormat),
    "columns": (dict,),
}
COLUMN_FIELDS: _Fields = {
    "kind": (str,),
    "role": (str,),
    "bounds": (list,),
    "categories": (list,),
    "required": (bool,),
    "may_leave": (bool,),
    "max_length": (int,),
    **toml_types(TextFormat),
    "hierarchy": (str, dict),
    "from_data": (list,),
    "note": (str,),
}
_NAMES = {str: "text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
_Choice = TypeVar("_Choice", bound=Enum)


def load_card(path: str | Path, table: str | None = None, *, default: str | None = None) -> Card:
    """The card of one table. A file with a single table needs no name; with several, ``default`` is tried."""
    cards = load_cards(path)
    if table is None and len(cards) == 1:
        return next(iter(cards.values()))
    if (table or default) in cards:
        return cards[table or default or ""]
    asked = f"has no table {table!r}; it describes" if table else "describes several tables:"
    raise NotFound(f"{path} {asked} {', '.join(cards)}.", hint="Choose one with table=… (--table on the command line).")


def load_cards(path: str | Path) -> dict[str, Card]:
    """The cards of all tables in a file, by name."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no card {path}.", hint=f"Draft it: discreet card draft DATA -o {path.name}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The card {path} cannot be read: {error}.") from error
    return parse_cards(text, source=str(path), folder=path.parent)


def load_policy(path: str | Path) -> ExposurePolicy:
    """What the file of a card says that a release may give away together with earlier ones: its ``[exposure]``."""
    return ExposurePolicy.from_dict(tomllib.loads(Path(path).read_text(encoding="utf-8")).get("exposure", {}))


def parse_cards(text: str, *, source: str = "The card", folder: Path | None = None) -> dict[str, Card]:
    """The cards in a TOML text. ``folder`` is where taxonomy files are looked for; ``None`` allows none."""
    try:
        said = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise CardError(source, [Problem((), f"not valid TOML: {error}")]) from error
    reader = _Reader(text, folder)
    cards = reader.file(said)
    if reader.problems:
        raise CardError(source, reader.problems)
    return cards


def dump_cards(cards: Iterable[Card], comments: Mapping[toml.Path, Sequence[str]] | None = None) -> str:
    """The cards as TOML; reading it back gives equal cards."""
    return toml.dump(card_fields(cards), comments)


def card_fields(cards: Iterable[Card]) -> dict[str, Any]:
    """The cards as plain data, as their file has it."""
    return {"discreet": FORMAT, "tables": {card.name: _table_fields(card) for card in cards}}


def _table_fields(card: Card) -> dict[str, Any]:
    return {
        "unit": card.unit,
        "rows_per_unit": card.rows_per_unit,
        "groups_per_unit": card.groups_per_unit,
        "at_least": card.at_least,
        "public": card.public or None,
        "impossible": card.impossible or None,
        "rows_are_people": card.rows_are_people or None,
        "population": card.population,
        "stable": card.stable or None,
        "note": card.note or None,
        **declared(card.text),
        "file": declared(card.file) or None,
        "columns": {column.name: _column_fields(column) for column in card.columns},
    }


def _column_fields(column: Column) -> dict[str, Any]:
    return {
        "kind": column.kind.value,
        "role": column.role.value,
        "bounds": column.bounds,
        "categories": column.categories,
        "required": column.required or None,
        "may_leave": column.may_leave or None,
        "max_length": column.max_length,
        **declared(column.text),
        "from_data": column.from_data or None,
        "note": column.note or None,
        "hierarchy": to_fields(column.hierarchy) if column.hierarchy else None,
    }


class _Reader:
    """Turns what TOML said into cards, collecting problems instead of stopping at the first."""

    def __init__(self, text: str, folder: Path | None) -> None:
        self._text = text
        self._folder = folder
        self._shared: dict[str, Hierarchy | None] = {}
        self.problems: list[Problem] = []

    def file(self, said: dict[str, Any]) -> dict[str, Card]:
        said = self._fields(said, FILE_FIELDS, ())
        if said.get("discreet", FORMAT) != FORMAT:
            self._problem(("discreet",), f"this is format {said['discreet']}; format {FORMAT} is understood here")
        if not said.get("tables"):
            self._problem(("tables",), "no table is described; start with [tables.NAME]")
        try:
            ExposurePolicy.from_dict(said.get("exposure", {}))
        except BadInput as error:
            self._problem(("exposure",), f"{error.message} {error.hint}".strip())
        for name, fields in said.get("hierarchies", {}).items():
            self._shared[name] = self._hierarchy(fields, ("hierarchies", name))
        cards = (self._table(name, fields) for name, fields in said.get("tables", {}).items())
        return {card.name: card for card in cards if card is not None}

    def _table(self, name: str, fields: Any) -> Card | None:
        path = ("tables", name)
        fields = self._fields(fields, TABLE_FIELDS, path)
        columns = [
            self._column(key, value, (*path, "columns", key)) for key, value in fields.get("columns", {}).items()
        ]
        good = tuple(column for column in columns if column is not None)
        impossible = self._impossible(fields.get("impossible", []), [*fields.get("columns", ())], (*path, "impossible"))
        try:
            card = Card(
                name,
                good,
                fields.get("unit"),
                fields.get("rows_per_unit"),
                groups_per_unit=fields.get("groups_per_unit"),
                at_least=fields.get("at_least"),
                public=fields.get("public", False),
                impossible=impossible,
                rows_are_people=fields.get("rows_are_people", False),
                population=fields.get("population"),
                stable=tuple(map(str, fields.get("stable", ()))),
                note=fields.get("note", ""),
                text=chosen(TextFormat, fields),
                file=chosen(FileLayout, self._fields(fields.get("file", {}), toml_types(FileLayout), (*path, "file"))),
            )
            if len(good) == len(columns) and (problems := card.stable_problems()):
                raise CardError(name, problems)
            return card
        except CardError as error:
            broken = len(good) < len(columns)
            for problem in error.problems:  # a unit that is missing only because its column is broken is no news
                if not (broken and problem.path in (("unit",), ("columns",))):
                    self._problem((*path, *problem.path), problem.what)
        return None

    def _impossible(self, said: list[Any], columns: list[str], path: toml.Path) -> tuple[str, ...]:
        """The conditions that can be read and name columns of the table."""
        good = []
        for text in said:
            try:
                missing = [name for name in named(str(text)) if name.casefold() not in map(str.casefold, columns)]
            except BadInput as error:
                self._problem(path, str(error))
                continue
            if missing:
                self._problem(path, f"{text!r}: there is no column {missing[0]!r}{meant(missing[0], columns)}")
            else:
                good.append(str(text))
        return tuple(good)

    def _column(self, name: str, fields: Any, path: toml.Path) -> Column | None:
        fields = self._fields(fields, COLUMN_FIELDS, path)
        kind = self._choice(Kind, fields.get("kind"), (*path, "kind"))
        role = self._choice(Role, fields.get("role", "other"), (*path, "role"))
        column = Column(
            name,
            kind or _guess(fields),
            role or Role.OTHER,
            bounds=_values(kind, fields.get("bounds")),
            categories=_values(kind, fields.get("categories")),
            hierarchy=self._hierarchy_of(fields.get("hierarchy"), (*path, "hierarchy")),
            from_data=tuple(map(str, fields.get("from_data", ()))),
            note=fields.get("note", ""),
            required=fields.get("required", False),
            may_leave=fields.get("may_leave", False),
            max_length=fields.get("max_length"),
            text=chosen(TextFormat, fields),
        )
        if kind is not None and role is not None:
            return column
        for problem in column.problems():  # as far as they can be told without kind or role
            if problem.path[-1] == "bounds":
                self._problem((*path, "bounds"), problem.what)
        return None

    def _hierarchy_of(self, said: Any, path: toml.Path) -> Hierarchy | None:
        if isinstance(said, str):
            if said not in self._shared:
                self._problem(path, f"there is no [hierarchies.{said}]")
            return self._shared.get(said)
        return self._hierarchy(said, path) if said is not None else None

    def _hierarchy(self, fields: Any, path: toml.Path) -> Hierarchy | None:
        try:
            if isinstance(fields, dict):
                return from_fields(fields, folder=self._folder)
            self._problem(path, f"must be a table, got {fields!r}")
        except (HierarchyError, NotFound, DataError) as error:
            self._problem(path, str(error))
        return None

    def _fields(self, said: Any, allowed: _Fields, path: toml.Path) -> dict[str, Any]:
        """The fields of a table that are known and of the right type; what is not is reported."""
        if not isinstance(said, dict):
            self._problem(path, f"must be a table, got {said!r}")
            return {}
        good = {}
        for key, value in said.items():
            if key not in allowed:
                near = get_close_matches(key, allowed, 1)
                known = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(allowed)}"
                self._problem((*path, key), f"unknown field; {known}")
            elif not isinstance(value, allowed[key]) or (isinstance(value, bool) and bool not in allowed[key]):
                types = " or ".join(_NAMES[type_] for type_ in allowed[key])
                self._problem((*path, key), f"must be {types}, got {value!r}")
            else:
                good[key] = value
        return good

    def _choice(self, choices: type[_Choice], said: Any, path: toml.Path) -> _Choice | None:
        try:
            return choices(said)
        except ValueError:
            known = [str(choice.value) for choice in choices]
            what = "is missing" if said is None else f"{said!r} is not known"
            self._problem(path, f"{what}{meant(str(said), known)}; it is one of {', '.join(known)}")
        return None

    def _problem(self, path: toml.Path, what: str) -> None:
        lines = self._lines
        line = next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)
        self.problems.append(Problem(path, what, line))

    @cached_property
    def _lines(self) -> dict[toml.Path, int]:
        return toml.lines_of(self._text)


def _guess(fields: Mapping[str, Any]) -> Kind:
    """The kind the bounds are of, for a column that does not say (or not rightly) what it is."""
    return next((kind for kind in Kind if all(fits(v, kind) for v in fields.get("bounds", ()))), Kind.TEXT)


def _values(kind: Kind | None, values: list[Any] | None) -> Any:
    """A list of TOML values as Python values of a kind."""
    return None if values is None else tuple(_as(kind, value) for value in values)


def _as(kind: Kind | None, value: Any) -> Scalar:
    """A TOML value as the Python value of its kind; what does not fit is left for the card to refuse."""
    if kind is Kind.REAL and isinstance(value, int | Decimal) and not isinstance(value, bool):
        return float(value)
    if kind is Kind.DECIMAL and isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    scalar: Scalar = value
    return scalar


# -- hierarchies from tables of a card, and back


def from_fields(table: Mapping[str, object], *, folder: Path | None) -> Hierarchy:
    """The hierarchy a card's table declares. Files it names are looked for in ``folder``."""
    name = table.get("type")
    types = HIERARCHIES.names()
    if not isinstance(name, str) or name not in types:
        given = "is missing" if name is None else f"{name!r} is not known"
        raise HierarchyError(
            f"The type of the hierarchy {given}{meant(str(name), types)}: it is one of {', '.join(types)}."
        )
    given_fields = {field: value for field, value in table.items() if field != "type"}
    kind = HIERARCHIES.entry(name).kind
    required, optional = ((), ("tree", "file", "other")) if name == "taxonomy" else _field_names(kind)
    allowed = (*required, *optional)
    problems = [
        f"{field!r} is not one of its fields{meant(field, allowed)}" for field in given_fields if field not in allowed
    ]
    problems += [f"{field} is missing" for field in required if field not in given_fields]
    known = {field: value for field, value in given_fields.items() if field in allowed}
    hierarchy: Hierarchy | None = None
    if all(field in known for field in required):
        try:
            hierarchy = _taxonomy(known, folder) if name == "taxonomy" else kind(**known)
        except HierarchyError as error:
            if not problems:
                raise
            problems.append(str(error).removeprefix(f"{name}: ").rstrip("."))
    if problems or hierarchy is None:
        raise HierarchyError(f"{name}: {'; '.join(problems)}.", hint=f"Its fields are {', '.join(allowed)}.")
    return hierarchy


def to_fields(hierarchy: Hierarchy) -> dict[str, Any]:
    """What a card says of a hierarchy; ``from_fields`` reads it back."""
    other = {} if hierarchy.other is None else {"other": hierarchy.other}
    return {"type": hierarchy.type, **hierarchy.fields(), **other}


def _taxonomy(known: Mapping[str, Any], folder: Path | None) -> Hierarchy:
    other = known.get("other")
    if ("tree" in known) == ("file" in known):
        raise HierarchyError("taxonomy: declare either a tree or a file.")
    if "tree" in known:
        return Taxonomy.from_tree(known["tree"], other)
    file = known["file"]
    if not isinstance(file, str) or not file:
        raise HierarchyError(f"taxonomy: file must be the name of a file, got {file!r}.")
    if folder is None:
        raise HierarchyError(
            f"taxonomy: file {file!r} cannot be found: this card was not read from a folder.",
            hint="Read the card from its file, or declare the tree in the card.",
        )
    try:
        return Taxonomy.from_csv(folder / file, other)
    except NotFound:
        raise HierarchyError(f"taxonomy: there is no file {file!r} in the card's folder.") from None


def _field_names(hierarchy: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that must and those that may be declared."""
    declared = parameters_of(hierarchy)
    required = tuple(one.name for one in declared if one.required)
    return required, tuple(one.name for one in declared if not one.required)


# -- JSON schema of cards, for editors that complete and check TOML while it is typed

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer", "minimum": 1}
_TRUTH = {"type": "boolean"}
_JSON_TYPES = {int: "integer", float: "number", Decimal: "number", str: "string", bool: "boolean", dt.date: "string"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_POINT = {"type": ["number", "string"], "description": "A number, or a date."}


def card_schema() -> dict[str, Any]:
    """The schema, as data."""
    table = _object(
        {
            "unit": _said(
                _TEXT, "Column that identifies the person of each row; without it each row is a different person."
            ),
            "rows_per_unit": _said(_WHOLE, "Maximum number of rows per person."),
            "groups_per_unit": _said(_WHOLE, "Maximum number of groups of a query that a person counts in."),
            "at_least": _said(_WHOLE, "Number of rows that the table has at least: means of all rows get less noise."),
            "public": _said(_TRUTH, "Whether the table is public: not about people."),
            "impossible": _said(_list(_TEXT), "SQL conditions that no row can meet."),
            "rows_are_people": _said(_TRUTH, "Each row is a different person, even if identifiers repeat."),
            "population": _said(_TEXT, "Population: tables that share one are checked together."),
            "stable": _said(_list(_TEXT), "Columns whose value never changes for a unit."),
            "note": _said(_TEXT, "For people."),
            **{name: one for name, one in json_schema(TextFormat).items() if name != "labels"},
            "file": _said(_object(json_schema(FileLayout), []), "Where rows and columns are in the file."),
            "columns": {"type": "object", "minProperties": 1, "additionalProperties": _column_schema()},
        },
        required=["columns"],
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "discreet data card",
        **_object(
            {
                "discreet": _said({"const": FORMAT}, "The format of the card."),
                "tables": {"type": "object", "minProperties": 1, "additionalProperties": table},
                "hierarchies": {"type": "object", "additionalProperties": {"$ref": "#/$defs/hierarchy"}},
                "exposure": _said(
                    {"type": "object"}, "Limits on what a release may reveal together with earlier ones."
                ),
            },
            required=["tables"],
        ),
        "$defs": {"hierarchy": {"oneOf": [_hierarchy_schema(one) for one in HIERARCHIES.entries()]}},
    }


def _column_schema() -> dict[str, Any]:
    return _object(
        {
            "kind": _said({"enum": [kind.value for kind in Kind]}, "Type of the values."),
            "role": _said({"enum": [role.value for role in Role]}, "Disclosure role of the column."),
            "bounds": _said(
                {"type": "array", "items": _POINT, "minItems": 2, "maxItems": 2},
                "Lower and upper bound; values are clamped to them.",
            ),
            "categories": _said(
                {"type": "array", "items": _SCALAR, "minItems": 1, "uniqueItems": True}, "All possible values."
            ),
            "required": _said({"type": "boolean"}, "Rows without a value here are not counted."),
            "may_leave": _said({"type": "boolean"}, "Whether long text with many values may be released."),
            "max_length": _said(_WHOLE, "Maximum length of a text, characters; the rest is cut."),
            **json_schema(TextFormat),
            "hierarchy": {"oneOf": [_said(_TEXT, "A shared hierarchy, by name."), {"$ref": "#/$defs/hierarchy"}]},
            "from_data": _said(
                {"type": "array", "items": {"enum": ["bounds", "categories"]}},
                "Fields that were taken from the data: not private.",
            ),
            "note": _said(_TEXT, "For people."),
        },
        required=["kind"],
    )


def _hierarchy_schema(entry: Entry) -> dict[str, Any]:
    """What a card says of a hierarchy, as it is declared; a taxonomy is a tree or a file there."""
    properties: dict[str, Any] = {"type": {"const": entry.name}}
    if entry.name == "taxonomy":
        properties |= {"tree": {"type": ["object", "array"]}, "file": _TEXT}
    fields = [one for one in entry.parameters if one.name != "paths"]
    properties |= {one.name: _said(_value_schema(one.type, one.words, one.least), one.sentence) for one in fields}
    required = ["type", *(one.name for one in fields if one.required)]
    return _said(_object(properties, required), entry.summary)


def _value_schema(type_: Any, words: Sequence[str] = (), least: float | None = None) -> dict[str, Any]:
    """Schema of values of a declared type; what is neither a number, text, truth, date nor list of these is a range."""
    kinds = [one for one in (get_args(type_) if isinstance(type_, UnionType) else (type_,)) if one is not NoneType]
    if get_origin(kinds[0]) is Sequence:
        (item,) = get_args(kinds[0])
        return _list(_WHOLE if item is int else _value_schema(item, words, least))  # sizes and steps are positive
    words = words or [str(word) for one in kinds if get_origin(one) is Literal for word in get_args(one)]
    if words:
        return {"enum": [*words]}
    names = list(dict.fromkeys(_JSON_TYPES.get(one, "") for one in kinds))
    return _RANGE if "" in names else {"type": names} | ({} if least is None else {"minimum": least})


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


def _said(schema: dict[str, Any], what: str) -> dict[str, Any]:
    return {**schema, "description": what}


_RANGE = _object({"from": _POINT, "to": _POINT, "label": _TEXT}, required=[])
