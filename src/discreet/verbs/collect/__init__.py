"""Statistics from people who never hand over their data: each answer is randomised on the respondent's own device.

    r = collect.OUE(["rock", "jazz", "folk"], epsilon=1)
    reports = r.randomize(answers)      # on the devices
    print(r.estimate(reports))          # by the collector

Each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.verbs.collect.auditing import Audited, audit
    from discreet.verbs.collect.choice import Choice, choose
    from discreet.verbs.collect.domain import Domain
    from discreet.verbs.collect.estimate import Estimate
    from discreet.verbs.collect.frequency.coins import Coins
    from discreet.verbs.collect.frequency.direct import GRR
    from discreet.verbs.collect.frequency.hadamard import Hadamard
    from discreet.verbs.collect.frequency.hashing import BLH, OLH
    from discreet.verbs.collect.frequency.projective import PGR
    from discreet.verbs.collect.frequency.sketch import CMS, HCMS
    from discreet.verbs.collect.frequency.subset import SubsetSelection
    from discreet.verbs.collect.frequency.unary import OUE, SUE
    from discreet.verbs.collect.heavy.pem import PEM
    from discreet.verbs.collect.heavy.tree import Tree
    from discreet.verbs.collect.numbers.distribution import distribution
    from discreet.verbs.collect.numbers.duchi import Duchi
    from discreet.verbs.collect.numbers.grid import Grid
    from discreet.verbs.collect.numbers.hybrid import Hybrid
    from discreet.verbs.collect.numbers.laplace import Laplace
    from discreet.verbs.collect.numbers.means import most_accurate
    from discreet.verbs.collect.numbers.ranges import Ranges
    from discreet.verbs.collect.numbers.window import Piecewise, SquareWave
    from discreet.verbs.collect.places.planar import PlanarLaplace
    from discreet.verbs.collect.places.region import Region
    from discreet.verbs.collect.places.remap import Remap
    from discreet.verbs.collect.places.trajectory import Day, PredictiveDay
    from discreet.verbs.collect.poison import alarms, bearable
    from discreet.verbs.collect.several.fake import Fake
    from discreet.verbs.collect.several.keyvalue_grr import KeyValueGRR
    from discreet.verbs.collect.several.keyvalue_ue import KeyValueUE
    from discreet.verbs.collect.several.marginals import Marginals
    from discreet.verbs.collect.several.split import Sampled, Split
    from discreet.verbs.collect.shuffle import shuffled
    from discreet.verbs.collect.tally import Tally
    from discreet.verbs.collect.time.buckets import DBitFlip
    from discreet.verbs.collect.time.device import Device
    from discreet.verbs.collect.time.direct import LGRR
    from discreet.verbs.collect.time.hashing import LOLOHA
    from discreet.verbs.collect.time.unary import LOSUE, RAPPOR

_HOMES = {
    "auditing": ("Audited", "audit"),
    "choice": ("Choice", "choose"),
    "domain": ("Domain",),
    "estimate": ("Estimate",),
    "frequency.coins": ("Coins",),
    "frequency.direct": ("GRR",),
    "frequency.hadamard": ("Hadamard",),
    "frequency.hashing": ("BLH", "OLH"),
    "frequency.projective": ("PGR",),
    "frequency.sketch": ("CMS", "HCMS"),
    "frequency.subset": ("SubsetSelection",),
    "frequency.unary": ("OUE", "SUE"),
    "heavy.pem": ("PEM",),
    "heavy.tree": ("Tree",),
    "numbers.distribution": ("distribution",),
    "numbers.duchi": ("Duchi",),
    "numbers.grid": ("Grid",),
    "numbers.hybrid": ("Hybrid",),
    "numbers.laplace": ("Laplace",),
    "numbers.means": ("most_accurate",),
    "numbers.ranges": ("Ranges",),
    "numbers.window": ("Piecewise", "SquareWave"),
    "places.planar": ("PlanarLaplace",),
    "places.region": ("Region",),
    "places.remap": ("Remap",),
    "places.trajectory": ("Day", "PredictiveDay"),
    "poison": ("alarms", "bearable"),
    "several.fake": ("Fake",),
    "several.keyvalue_grr": ("KeyValueGRR",),
    "several.keyvalue_ue": ("KeyValueUE",),
    "several.marginals": ("Marginals",),
    "several.split": ("Sampled", "Split"),
    "shuffle": ("shuffled",),
    "tally": ("Tally",),
    "time.buckets": ("DBitFlip",),
    "time.device": ("Device",),
    "time.direct": ("LGRR",),
    "time.hashing": ("LOLOHA",),
    "time.unary": ("LOSUE", "RAPPOR"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BLH",
    "CMS",
    "GRR",
    "HCMS",
    "LGRR",
    "LOLOHA",
    "LOSUE",
    "OLH",
    "OUE",
    "PEM",
    "PGR",
    "RAPPOR",
    "SUE",
    "Audited",
    "Choice",
    "Coins",
    "DBitFlip",
    "Day",
    "Device",
    "Domain",
    "Duchi",
    "Estimate",
    "Fake",
    "Grid",
    "Hadamard",
    "Hybrid",
    "KeyValueGRR",
    "KeyValueUE",
    "Laplace",
    "Marginals",
    "Piecewise",
    "PlanarLaplace",
    "PredictiveDay",
    "Ranges",
    "Region",
    "Remap",
    "Sampled",
    "Split",
    "SquareWave",
    "SubsetSelection",
    "Tally",
    "Tree",
    "alarms",
    "audit",
    "bearable",
    "choose",
    "distribution",
    "most_accurate",
    "shuffled",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"discreet.collect has no {name!r}")
    return getattr(import_module(f"discreet.collect.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
