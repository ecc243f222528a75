"""Methods as people write them: ``round base=5``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.spelled import made_of
from discreet.verbs.tabulate.method import TableMethod
from discreet.verbs.tabulate.methods.perturb import Adjust, Round
from discreet.verbs.tabulate.methods.rows import CellKeys, Multiply, SwapRecords
from discreet.verbs.tabulate.methods.suppress import Suppress

FORMS: Mapping[str, tuple[str, Any]] = {
    "suppress": ("suppress (how=optimal, modular or fast; weight=value, cells, log or respondents)", Suppress),
    "round": ("round base=5 (how=controlled, random or conventional)", Round),
    "adjust": ("adjust (norm=l1 or l2; keep-totals)", Adjust),
    "cell-key": ("cell-key most=5 variance=2 (never=2)", CellKeys),
    "factors": ("factors least=10% most=25% (law=ramp or uniform)", Multiply),
    "swap": ("swap areas=region risk=age,sex (match=size k=3 rate=5%)", SwapRecords),
}


def parse_method(text: str) -> TableMethod:
    """The method that ``text`` names, such as ``round base=5``."""
    made: TableMethod = made_of(text, FORMS)
    return made
