"""Keeping a miner from finding an itemset or a rule; and finding rules that discriminate.

    clean = discreet.hide("baskets.csv", support="2%", confidence="60%", itemsets=["bread, wine"])

The room is also the verb (see ``core/verb.py``). Each name is loaded when it is first used.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.core.verb import make_callable

if TYPE_CHECKING:
    from discreet.verbs.hide.discrimination import Discrimination, Disparity, contrasted, discriminating
    from discreet.verbs.hide.discrimination_repair import Neutralised, neutralise
    from discreet.verbs.hide.hidden import Hidden, Holder
    from discreet.verbs.hide.hiding import Trial, compare
    from discreet.verbs.hide.measures import SideEffects, side_effects
    from discreet.verbs.hide.mining.borders import Borders, borders
    from discreet.verbs.hide.mining.frequent import Frequent, frequent
    from discreet.verbs.hide.mining.partition import frequent_in_blocks
    from discreet.verbs.hide.mining.rules import Rule, Rules, rules
    from discreet.verbs.hide.reading import blocks_of, read_transactions, tabular, write_transactions
    from discreet.verbs.hide.transactions import Transactions

_HOMES = {
    "discrimination": ("Discrimination", "Disparity", "contrasted", "discriminating"),
    "hidden": ("Hidden", "Holder"),
    "hiding": ("Trial", "compare"),
    "levelling": ("Neutralised", "neutralise"),
    "measures": ("SideEffects", "side_effects"),
    "mining.borders": ("Borders", "borders"),
    "mining.frequent": ("Frequent", "frequent"),
    "mining.partition": ("frequent_in_blocks",),
    "mining.rules": ("Rule", "Rules", "rules"),
    "reading": ("blocks_of", "read_transactions", "tabular", "write_transactions"),
    "transactions": ("Transactions",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Borders",
    "Discrimination",
    "Disparity",
    "Frequent",
    "Hidden",
    "Holder",
    "Neutralised",
    "Rule",
    "Rules",
    "SideEffects",
    "Transactions",
    "Trial",
    "blocks_of",
    "borders",
    "compare",
    "contrasted",
    "discriminating",
    "frequent",
    "frequent_in_blocks",
    "neutralise",
    "read_transactions",
    "rules",
    "side_effects",
    "tabular",
    "write_transactions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"discreet.hide has no {name!r}")
    return getattr(import_module(f"discreet.hide.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__


def _verb() -> Callable[..., Any]:
    from discreet.verbs.hide.hiding import hide

    return hide


make_callable(__name__, _verb)
