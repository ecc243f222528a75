"""What a release keeps as JSON: exact both ways, and read back strictly.

JSON knows text, true, false, null, lists, objects and numbers. Other values a release may hold are written
as an object with one key that starts with ``$``: ``{"$fraction": "1/3"}``. Only the tags below are read,
so data never names code; whatever has no tag is refused rather than rounded or turned into text.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from types import UnionType
from typing import Any, get_args

from discreet.errors import BadInput


def _fraction(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


_WRITE: dict[type, tuple[str, Callable[[Any], str]]] = {
    Fraction: ("$fraction", str),
    Decimal: ("$decimal", str),
    dt.datetime: ("$datetime", dt.datetime.isoformat),
    dt.date: ("$date", dt.date.isoformat),
}
_READ: dict[str, Callable[[str], object]] = {
    "$fraction": _fraction,
    "$decimal": Decimal,
    "$datetime": dt.datetime.fromisoformat,
    "$date": dt.date.fromisoformat,
}
_TUPLE = "$tuple"


def dumps(value: object) -> str:
    """``value`` as JSON text from which ``loads`` makes an equal value of the same types, or an error."""
    try:
        text = json.dumps(_tagged(value, "the value"), indent=2, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("Text with half a surrogate pair cannot be written.") from None
    except (ValueError, RecursionError):  # thousands of digits, a list inside itself
        raise BadInput("The value is too long or too deep to be written as JSON.") from None
    return text + "\n"


def loads(text: str) -> Any:
    """The value ``dumps`` wrote."""
    try:
        return json.loads(text, object_pairs_hook=_untagged, parse_constant=_no_constant)
    except (ValueError, ZeroDivisionError, InvalidOperation, RecursionError) as error:
        raise BadInput(f"This is not JSON as discreet writes it: {error}.") from None


def fields(data: object, what: str, **kinds: type | UnionType) -> dict[str, Any]:
    """The fields of a JSON object that must have exactly these, each of its kind."""
    if not isinstance(data, Mapping):
        raise BadInput(f"{what} must be an object with {', '.join(kinds)}.")
    if wrong := set(data) ^ set(kinds):
        name = min(wrong)
        raise BadInput(f"{what} has {'an unknown' if name in data else 'no'} field {name!r}.")
    for name, kind in kinds.items():
        value = data[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and bool not in (kind, *get_args(kind))):
            raise BadInput(f"{what}: {name} is not what it should be ({_called(kind)}).")
    return dict(data)


def texts(data: list[object], what: str) -> tuple[str, ...]:
    """A JSON list of texts."""
    if not all(isinstance(item, str) for item in data):
        raise BadInput(f"{what} must be a list of texts.")
    return tuple(str(item) for item in data)


def _tagged(value: object, where: str) -> object:
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if isinstance(value, float) and kind is float and math.isfinite(value):
        return value
    if kind in _WRITE and not _says_more(value):
        tag, write = _WRITE[kind]
        return {tag: write(value)}
    if isinstance(value, list | tuple) and kind in (list, tuple):
        items = [_tagged(item, f"{where}[{index}]") for index, item in enumerate(value)]
        return items if kind is list else {_TUPLE: items}
    if isinstance(value, dict) and kind is dict:
        for key in value:
            if type(key) is not str or key.startswith("$"):
                raise BadInput(f"{where} has the key {key!r}; keys must be text and not start with $.")
        return {key: _tagged(item, f"{where}[{key!r}]") for key, item in value.items()}
    shown = f"the number {value}" if kind is float else f"a {kind.__module__}.{kind.__qualname__}"
    raise BadInput(
        f"{where} is {shown}, which cannot be written exactly.",
        hint="Use text, int, float, bool, None, Decimal, Fraction, date, datetime (with an offset, not a "
        "named zone), or lists, tuples and dicts of these.",
    )


def _untagged(pairs: list[tuple[str, Any]]) -> object:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key comes twice")
    if not any(key.startswith("$") for key in made):
        return made
    [(tag, item), *others] = pairs
    if tag == _TUPLE and isinstance(item, list) and not others:
        return tuple(item)
    if tag in _READ and isinstance(item, str) and not others:
        return _READ[tag](item)
    raise ValueError(f"{tag!r} is not a tag it knows, or not used as it should be")


def _says_more(value: object) -> bool:
    """Whether a time is more than its text would say: a zone by name, the second of two equal hours."""
    if not isinstance(value, dt.datetime):
        return False
    return value.fold == 1 or not (value.tzinfo is None or type(value.tzinfo) is dt.timezone)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def _called(kind: type | UnionType) -> str:
    return str(kind) if isinstance(kind, UnionType) else kind.__name__
