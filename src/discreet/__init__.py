"""discreet: one door for sensitive data.

    import discreet as dc

    table = dc.read("patients.parquet", card="patients.toml")
    print(dc.describe(table))

The names below are the whole public interface. Each is loaded when it is first used, so that importing
discreet costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet._version import __version__

if TYPE_CHECKING:
    from discreet import errors, samples
    from discreet.core import hierarchy
    from discreet.core.card import Card, Column, Role
    from discreet.core.cardfile import dump_cards, load_card, load_cards
    from discreet.core.describe import Description, describe
    from discreet.core.draft import Draft
    from discreet.core.kind import Kind
    from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
    from discreet.core.picture import Picture
    from discreet.core.recipe import Recipe
    from discreet.core.release import Receipt, Release
    from discreet.core.statement import Claim, Evidence, Secrecy, Statement, parallel, sequential
    from discreet.core.table import Table
    from discreet.core.validate import Violation, require_valid, violations
    from discreet.curator.curator import Curator
    from discreet.engines.duckdb import DuckDB
    from discreet.engines.postgres import Postgres
    from discreet.engines.read import draft, read
    from discreet.engines.spark import Spark

_HOMES = {
    "core.card": ("Card", "Column", "Role"),
    "core.cardfile": ("dump_cards", "load_card", "load_cards"),
    "core.describe": ("Description", "describe"),
    "core.draft": ("Draft",),
    "core.kind": ("Kind",),
    "core.loss": ("Approximate", "Concentrated", "Pure", "Renyi"),
    "core.picture": ("Picture",),
    "core.recipe": ("Recipe",),
    "core.release": ("Receipt", "Release"),
    "core.statement": ("Claim", "Evidence", "Secrecy", "Statement", "parallel", "sequential"),
    "core.table": ("Table",),
    "core.validate": ("Violation", "require_valid", "violations"),
    "curator.curator": ("Curator",),
    "engines.duckdb": ("DuckDB",),
    "engines.postgres": ("Postgres",),
    "engines.read": ("draft", "read"),
    "engines.spark": ("Spark",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = {"errors": "errors", "hierarchy": "core.hierarchy", "samples": "samples"}

__all__ = [
    "Approximate",
    "Card",
    "Claim",
    "Column",
    "Concentrated",
    "Curator",
    "Description",
    "Draft",
    "DuckDB",
    "Evidence",
    "Kind",
    "Picture",
    "Postgres",
    "Pure",
    "Receipt",
    "Recipe",
    "Release",
    "Renyi",
    "Role",
    "Secrecy",
    "Spark",
    "Statement",
    "Table",
    "Violation",
    "__version__",
    "describe",
    "draft",
    "dump_cards",
    "errors",
    "hierarchy",
    "load_card",
    "load_cards",
    "parallel",
    "read",
    "require_valid",
    "samples",
    "sequential",
    "violations",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found = import_module(f"discreet.{_ROOMS[name]}")
    elif name in _HOME:
        found = getattr(import_module(f"discreet.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"discreet has no {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
