"""Ways to hide as people write them: ``swa window=1000``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.spelled import made_of
from discreet.verbs.hide.methods.atallah import Atallah
from discreet.verbs.hide.methods.blocking import Blocking
from discreet.verbs.hide.methods.border import BBA, MaxMin
from discreet.verbs.hide.methods.confidence import LowerConsequent, LowerRule, RaiseAntecedent
from discreet.verbs.hide.methods.exact import Exact
from discreet.verbs.hide.methods.fia import IGA, MaxFIA, MinFIA
from discreet.verbs.hide.methods.swa import SWA
from discreet.verbs.hide.problem import HidingMethod

FORMS: Mapping[str, tuple[str, Any]] = {
    "exact": ("exact (least=lost or changed; seconds=60)", Exact),
    "atallah": ("atallah", Atallah),
    "maxfia": ("maxfia", MaxFIA),
    "minfia": ("minfia", MinFIA),
    "iga": ("iga", IGA),
    "swa": ("swa (window=10000)", SWA),
    "bba": ("bba", BBA),
    "maxmin": ("maxmin", MaxMin),
    "lower-rule": ("lower-rule", LowerRule),
    "lower-consequent": ("lower-consequent (rules only)", LowerConsequent),
    "raise-antecedent": ("raise-antecedent (rules only)", RaiseAntecedent),
    "blocking": ("blocking (decoys=true or false)", Blocking),
}


def parse_method(text: str) -> HidingMethod:
    """The method that ``text`` names, such as ``exact seconds=10``."""
    made: HidingMethod = made_of(text, FORMS)
    return made
