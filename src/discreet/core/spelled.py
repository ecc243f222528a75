"""Methods as people write them on a command line: ``noise alpha=0.1``, ``round base=5``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

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
    """An error unless what is said are fields of the dataclass ``kind``, or in ``also``, and all it needs is said."""
    known = {option.name: option for option in fields(kind)}
    for option in said:
        if option not in known and option not in also:
            raise BadInput(f"{option!r} means nothing to {name}.", hint=f"Write: {example}")
    for option, about in known.items():
        if about.default is MISSING and about.default_factory is MISSING and option not in said:
            raise BadInput(f"{name} needs {option}.", hint=f"Write: {example}")


def _value(text: str) -> int | float | str:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
