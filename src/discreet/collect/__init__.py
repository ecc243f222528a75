"""Statistics from people who never hand over their data: each answer is randomised on the respondent's own device.

    r = discreet.collect.OUE(["rock", "jazz", "folk"], epsilon=1)
    reports = r.randomize(answers)      # on the devices
    print(r.estimate(reports))          # by the collector

Each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.collect.auditing import Audited, audit
    from discreet.collect.choice import Choice, choose
    from discreet.collect.domain import Domain
    from discreet.collect.estimate import Estimate
    from discreet.collect.frequency.coins import Coins
    from discreet.collect.frequency.direct import GRR
    from discreet.collect.frequency.hadamard import Hadamard
    from discreet.collect.frequency.hashing import BLH, OLH
    from discreet.collect.frequency.projective import PGR
    from discreet.collect.frequency.sketch import CMS, HCMS
    from discreet.collect.frequency.subset import SubsetSelection
    from discreet.collect.frequency.unary import OUE, SUE
    from discreet.collect.heavy.pem import PEM
    from discreet.collect.heavy.tree import Tree
    from discreet.collect.numbers.distribution import distribution
    from discreet.collect.numbers.duchi import Duchi
    from discreet.collect.numbers.grid import Grid
    from discreet.collect.numbers.hybrid import Hybrid
    from discreet.collect.numbers.laplace import Laplace
    from discreet.collect.numbers.means import most_accurate
    from discreet.collect.numbers.ranges import Ranges
    from discreet.collect.numbers.window import Piecewise, SquareWave
    from discreet.collect.places.planar import PlanarLaplace
    from discreet.collect.places.region import Region
    from discreet.collect.places.remap import Remap
    from discreet.collect.places.trajectory import Day, PredictiveDay
    from discreet.collect.poison import alarms, bearable
    from discreet.collect.several.fake import Fake
    from discreet.collect.several.keyvalue_grr import KeyValueGRR
    from discreet.collect.several.keyvalue_ue import KeyValueUE
    from discreet.collect.several.marginals import Marginals
    from discreet.collect.several.split import Sampled, Split
    from discreet.collect.shuffle import shuffled
    from discreet.collect.tally import Tally
    from discreet.collect.time.buckets import DBitFlip
    from discreet.collect.time.device import Device
    from discreet.collect.time.direct import LGRR
    from discreet.collect.time.hashing import LOLOHA
    from discreet.collect.time.unary import LOSUE, RAPPOR

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
