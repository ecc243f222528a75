"""Families of the catalogue: what one of them is, and the packages whose modules declare members."""

from __future__ import annotations

from discreet.core.catalogue import Entry, Family

MODELS = Family("models", "privacy model", ("discreet.models",), commands=("check", "publish"))
MASKING = Family("masking", "masking method", ("discreet.verbs.publish.mask",), commands=("publish", "compare"))
RECODERS = Family("recoders", "recoding method", ("discreet.verbs.publish",), commands=("publish",))
QUALITIES = Family("qualities", "quality measure", ("discreet.utility.quality",), commands=("publish",))
PEOPLE = Family(
    "people", "treatment of people with several rows", ("discreet.verbs.publish.people",), commands=("publish",)
)
SYNTHESIZERS = Family(
    "synthesizers",
    "synthesizer",
    ("discreet.verbs.synthesize.non_private",),
    commands=("synthesize",),
    prefix=("synthesize",),
    wrapper="discreet.verbs.synthesize.non_private.copies.Copies",
)
PRIVATE_SYNTHESIS = Family(
    "private_synthesis",
    "private synthesizer",
    ("discreet.verbs.synthesize.private",),
    commands=("synthesize",),
    default="synthesize",
)
LEARNERS = Family(
    "learners",
    "learner",
    ("discreet.verbs.learn",),
    commands=("learn",),
    prefix=("learn",),
    wrapper="discreet.verbs.learn.learner.Learn",
)
PRIVATE_LEARNERS = Family(
    "private_learners",
    "private learner",
    ("discreet.verbs.learn.private",),
    commands=("learn",),
    prefix=("learn",),
)
TABLE_METHODS = Family(
    "table_methods",
    "table method",
    ("discreet.verbs.tabulate.suppress", "discreet.verbs.tabulate.perturb"),
    commands=("tabulate",),
)
CELL_RULES = Family("cell_rules", "cell rule", ("discreet.verbs.tabulate.rules",), commands=("tabulate",))
HIERARCHIES = Family("hierarchies", "hierarchy", ("discreet.core.hierarchy",), attribute="type", in_cards=True)
COMBINE_FUNCTIONS = Family(
    "combine_functions", "function", ("discreet.verbs.combine.functions",), commands=("combine",)
)
VERTICAL_FUNCTIONS = Family(
    "vertical_functions",
    "function across columns",
    ("discreet.verbs.combine.vertical.functions",),
    commands=("combine",),
)
SUM_PROTOCOLS = Family("sum_protocols", "protocol", ("discreet.verbs.combine.protocols",), commands=("combine",))
FREQUENCY_ORACLES = Family(
    "frequency_oracles",
    "frequency oracle",
    ("discreet.verbs.collect.frequency", "discreet.verbs.collect.longitudinal"),
    commands=("collect",),
)
MEAN_PROTOCOLS = Family("mean_protocols", "mean protocol", ("discreet.verbs.collect.numbers",), commands=("collect",))
ATTACKS = Family("attacks", "attack", ("discreet.verbs.attack",), commands=("attack",))
HIDING = Family("hiding", "hiding method", ("discreet.verbs.hide.methods",), commands=("hide",))
FAMILIES = (
    MODELS,
    RECODERS,
    MASKING,
    PEOPLE,
    QUALITIES,
    SYNTHESIZERS,
    PRIVATE_SYNTHESIS,
    LEARNERS,
    PRIVATE_LEARNERS,
    TABLE_METHODS,
    CELL_RULES,
    HIDING,
    ATTACKS,
    FREQUENCY_ORACLES,
    MEAN_PROTOCOLS,
    COMBINE_FUNCTIONS,
    VERTICAL_FUNCTIONS,
    SUM_PROTOCOLS,
    HIERARCHIES,
)


def find(name: str) -> tuple[Entry, ...]:
    """All members of this name, of whatever family."""
    return tuple(family.entry(name) for family in FAMILIES if name in family.names())
