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
    from discreet import errors, samples, utility
    from discreet.core import hierarchy
    from discreet.core.card import Card, Column, Role
    from discreet.core.cardfile import dump_cards, load_card, load_cards
    from discreet.core.describe import Description, describe
    from discreet.core.draft import Draft
    from discreet.core.kind import Kind
    from discreet.core.loss import Approximate, Concentrated, Pure, Renyi
    from discreet.core.method import Method
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
    from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
    from discreet.models.check import Verdicts, check
    from discreet.models.closeness import TCloseness
    from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
    from discreet.models.k_anonymity import KAnonymity, KMap
    from discreet.models.model import Model, Verdict
    from discreet.models.presence import DeltaPresence
    from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk, ProsecutorRisk
    from discreet.models.uniqueness import PopulationUniqueness
    from discreet.service.client import connect
    from discreet.utility import quality
    from discreet.verbs import collect, combine, prove
    from discreet.verbs.ask.bounds import Bounds
    from discreet.verbs.ask.continual import SquareRootCounter, TreeCounter
    from discreet.verbs.ask.distribution import Distribution
    from discreet.verbs.attack.attack import attack
    from discreet.verbs.hide.hiding import hide
    from discreet.verbs.learn.clusters import Clusters
    from discreet.verbs.learn.evidence import Generators, verify_integral
    from discreet.verbs.learn.learn import Learn
    from discreet.verbs.learn.linear import LinearModel
    from discreet.verbs.learn.models import read_model
    from discreet.verbs.learn.statistics import Statistics
    from discreet.verbs.learn.tree_training import DecisionTree
    from discreet.verbs.publish.advice import Advice, advise
    from discreet.verbs.publish.cells import SuppressCells
    from discreet.verbs.publish.compare import compare
    from discreet.verbs.publish.dummies import AddDummies
    from discreet.verbs.publish.generalize import Generalize
    from discreet.verbs.publish.local import LocalRecode
    from discreet.verbs.publish.mask.coding import Code
    from discreet.verbs.publish.mask.ipso import Ipso
    from discreet.verbs.publish.mask.microaggregate import Microaggregate
    from discreet.verbs.publish.mask.multiply import Multiply
    from discreet.verbs.publish.mask.noise import Noise
    from discreet.verbs.publish.mask.pram import Pram
    from discreet.verbs.publish.mask.resample import Resample
    from discreet.verbs.publish.mask.rounding import Round
    from discreet.verbs.publish.mask.shuffle import Shuffle
    from discreet.verbs.publish.mask.swap import DataSwap, RankSwap
    from discreet.verbs.publish.mask.uniques import SuppressUniques
    from discreet.verbs.publish.mondrian import Mondrian
    from discreet.verbs.publish.publish import publish
    from discreet.verbs.publish.riskmap import RiskMap
    from discreet.verbs.publish.safepub import SafePub
    from discreet.verbs.synthesize.non_private.cart import Cart
    from discreet.verbs.synthesize.non_private.copies import Combined, Copies, combine_copies
    from discreet.verbs.synthesize.non_private.copula import Copula
    from discreet.verbs.synthesize.non_private.redrawn import Redrawn
    from discreet.verbs.synthesize.synthesize import Synthesize
    from discreet.verbs.tabulate.intruder.seen import audit
    from discreet.verbs.tabulate.printing.tabulated import Tabulated
    from discreet.verbs.tabulate.private.macro_table import MacroTable
    from discreet.verbs.tabulate.tables.crosstable import CrossTable
    from discreet.verbs.tabulate.tables.dimension import Dimension
    from discreet.verbs.tabulate.tables.read_table import read_table
    from discreet.verbs.tabulate.tabulate import tabulate

_HOMES = {
    "ask.bounds": ("Bounds",),
    "ask.continual": ("SquareRootCounter", "TreeCounter"),
    "ask.distribution": ("Distribution",),
    "core.card": ("Card", "Column", "Role"),
    "core.cardfile": ("dump_cards", "load_card", "load_cards"),
    "core.describe": ("Description", "describe"),
    "core.draft": ("Draft",),
    "core.kind": ("Kind",),
    "core.loss": ("Approximate", "Concentrated", "Pure", "Renyi"),
    "core.method": ("Method",),
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
    "models.check": ("Verdicts", "check"),
    "models.closeness": ("TCloseness",),
    "models.crowd": ("KAnonymity", "KMap"),
    "models.diversity": ("AlphaK", "EntropyLDiversity", "LDiversity", "PSensitivity", "RecursiveLDiversity"),
    "models.likeness": ("BetaLikeness", "DeltaDisclosure"),
    "models.model": ("Model", "Verdict"),
    "models.presence": ("DeltaPresence",),
    "models.risk": ("AverageRisk", "JournalistRisk", "MarketerRisk", "ProsecutorRisk"),
    "models.uniqueness": ("PopulationUniqueness",),
    "publish.advice": ("Advice", "advise"),
    "publish.cells": ("SuppressCells",),
    "publish.compare": ("compare",),
    "publish.dummies": ("AddDummies",),
    "publish.generalize": ("Generalize",),
    "publish.integral.clusters": ("Clusters",),
    "publish.integral.evidence": ("Generators", "verify_integral"),
    "publish.integral.learn": ("Learn",),
    "publish.integral.linear": ("LinearModel",),
    "publish.integral.models": ("read_model",),
    "publish.integral.statistics": ("Statistics",),
    "publish.integral.growing": ("DecisionTree",),
    "publish.local": ("LocalRecode",),
    "publish.mask.coding": ("Code",),
    "publish.mask.ipso": ("Ipso",),
    "publish.mask.microaggregate": ("Microaggregate",),
    "publish.mask.multiply": ("Multiply",),
    "publish.mask.noise": ("Noise",),
    "publish.mask.pram": ("Pram",),
    "publish.mask.resample": ("Resample",),
    "publish.mask.rounding": ("Round",),
    "publish.mask.shuffle": ("Shuffle",),
    "publish.mask.swap": ("DataSwap", "RankSwap"),
    "publish.mask.uniques": ("SuppressUniques",),
    "publish.mondrian": ("Mondrian",),
    "publish.riskmap": ("RiskMap",),
    "publish.safepub": ("SafePub",),
    "publish.synthetic.plain.cart": ("Cart",),
    "publish.synthetic.plain.copies": ("Combined", "Copies", "combine_copies"),
    "publish.synthetic.plain.copula": ("Copula",),
    "publish.synthetic.plain.redrawn": ("Redrawn",),
    "publish.synthetic.synthesize": ("Synthesize",),
    "service.client": ("connect",),
    "tabulate.tables.crosstable": ("CrossTable",),
    "tabulate.tables.dimension": ("Dimension",),
    "tabulate.tables.given": ("read_table",),
    "tabulate.private.macro_table": ("MacroTable",),
    "tabulate.intruder.seen": ("audit",),
    "tabulate.printing.tabulated": ("Tabulated",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = {
    "attack": "attack",  # the room is the verb, too
    "collect": "collect",
    "combine": "combine",
    "errors": "errors",
    "hide": "hide",
    "hierarchy": "core.hierarchy",
    "prove": "prove",
    "publish": "publish",  # and so is this one
    "quality": "utility.quality",
    "samples": "samples",
    "tabulate": "tabulate",  # and this
    "utility": "utility",
}

__all__ = [
    "AddDummies",
    "Advice",
    "AlphaK",
    "Approximate",
    "AverageRisk",
    "BetaLikeness",
    "Bounds",
    "Card",
    "Cart",
    "Claim",
    "Clusters",
    "Code",
    "Column",
    "Combined",
    "Concentrated",
    "Copies",
    "Copula",
    "CrossTable",
    "Curator",
    "DataSwap",
    "DecisionTree",
    "DeltaDisclosure",
    "DeltaPresence",
    "Description",
    "Dimension",
    "Distribution",
    "Draft",
    "DuckDB",
    "EntropyLDiversity",
    "Evidence",
    "Generalize",
    "Generators",
    "Ipso",
    "JournalistRisk",
    "KAnonymity",
    "KMap",
    "Kind",
    "LDiversity",
    "Learn",
    "LinearModel",
    "LocalRecode",
    "MacroTable",
    "MarketerRisk",
    "Method",
    "Microaggregate",
    "Model",
    "Mondrian",
    "Multiply",
    "Noise",
    "PSensitivity",
    "Picture",
    "PopulationUniqueness",
    "Postgres",
    "Pram",
    "ProsecutorRisk",
    "Pure",
    "RankSwap",
    "Receipt",
    "Recipe",
    "RecursiveLDiversity",
    "Redrawn",
    "Release",
    "Renyi",
    "Resample",
    "RiskMap",
    "Role",
    "Round",
    "SafePub",
    "Secrecy",
    "Shuffle",
    "Spark",
    "SquareRootCounter",
    "Statement",
    "Statistics",
    "SuppressCells",
    "SuppressUniques",
    "Synthesize",
    "TCloseness",
    "Table",
    "Tabulated",
    "TreeCounter",
    "Verdict",
    "Verdicts",
    "Violation",
    "__version__",
    "advise",
    "attack",
    "audit",
    "check",
    "collect",
    "combine",
    "combine_copies",
    "compare",
    "connect",
    "describe",
    "draft",
    "dump_cards",
    "errors",
    "hide",
    "hierarchy",
    "load_card",
    "load_cards",
    "parallel",
    "prove",
    "publish",
    "quality",
    "read",
    "read_model",
    "read_table",
    "require_valid",
    "samples",
    "sequential",
    "tabulate",
    "utility",
    "verify_integral",
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
