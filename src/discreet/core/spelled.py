"""Methods as people write them on a command line: ``noise alpha=0.1``, ``round base=5``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields
from sys import float_info
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from discreet.core.text import meant
from discreet.errors import BadInput


def spelled(text: str) -> tuple[str, dict[str, Any]]:
    """The name, in small letters, and what is said behind it; a word without a value is true."""
    name, *words = re.sub(r"\s*=\s*", "=", " ".join(text.split())).split() or [""]
    said: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        said[key.replace("-", "_").lower()] = _value(value) if equals else True
    return name.lower(), said


def require_options(name: str, kind: Any, said: Mapping[str, Any], example: str, *also: str) -> None:
    """An error unless what is said are fields of the dataclass ``kind``, or in ``also``, each of the field's type, and
    all it needs is said."""
    known = {option.name: option for option in fields(kind)}
    types = get_type_hints(kind)
    for option, value in said.items():
        if option not in known and option not in also:
            raise BadInput(f"{option!r} means nothing to {name}.", hint=f"Write: {example}")
        if option in known and not _fits(value, types[option]):
            wanted = " or ".join(dict.fromkeys(_described(types[option])))
            shown = option.replace("_", "-")
            if value is True:
                raise BadInput(f"{name}: {shown} needs a value: {wanted}.", hint=f"Write: {example}")
            with suppress(TypeError, ValueError, ArithmeticError, AttributeError):
                kind(**said)  # its own words, if it has any, say more
            raise BadInput(f"{name}: {shown} is {wanted}, not {value!r}.", hint=f"Write: {example}")
    for option, about in known.items():
        if about.default is MISSING and about.default_factory is MISSING and option not in said:
            raise BadInput(f"{name} needs {option}.", hint=f"Write: {example}")


def made_of(text: str, forms: Mapping[str, tuple[str, Any]]) -> Any:
    """What ``text`` names among ``forms``, each an example and the dataclass it makes."""
    name, said = spelled(text)
    if name not in forms:
        listed = "\n  ".join(example for example, _ in forms.values())
        raise BadInput(f"There is no method {text!r}{meant(name, forms)}.", hint=f"\nKnown are:\n  {listed}")
    example, kind = forms[name]
    require_options(name, kind, said, example)
    return kind(**said)


def _value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _fits(value: object, kind: Any) -> bool:
    """Whether a field of this type takes the value. One that is for each column takes a value for all of them."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if origin is Literal:
        return value in get_args(kind)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) or _fits(value, get_args(kind)[1])
    if kind in (int, float):
        numbers = (int,) if kind is int else (int, float)
        return type(value) in numbers and abs(value) <= float_info.max  # type: ignore[arg-type]  # not for NaN
    if kind is str:
        return isinstance(value, str | int | float) and type(value) is not bool  # a name may be of digits alone
    return isinstance(value, origin or kind) and not (origin is not None and isinstance(value, str))


def _described(kind: Any) -> list[str]:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return [words for one in get_args(kind) for words in _described(one) if one is not NoneType]
    if origin is Literal:
        return [str(one) for one in get_args(kind)]
    if origin is not None and issubclass(origin, Mapping):
        return _described(get_args(kind)[1])
    words = {bool: "yes or no (true or false)", int: "a whole number", float: "a number", str: "a word"}
    return [words.get(kind, "something that is said in Python")]
