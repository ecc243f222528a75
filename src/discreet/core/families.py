"""Families of the catalogue: what one of them is, and the packages whose modules declare members."""

from __future__ import annotations

from discreet.core.catalogue import Family

MODELS = Family("models", "privacy model", ("discreet.models",), command="check")
MASKING = Family("masking", "masking method", ("discreet.verbs.publish.mask",), command="publish")
RECODERS = Family("recoders", "recoding method", ("discreet.verbs.publish",), command="publish")
QUALITIES = Family("qualities", "quality measure", ("discreet.utility.quality",), command="publish")
SYNTHESIZERS = Family(
    "synthesizers",
    "synthesizer",
    ("discreet.verbs.synthesize.non_private",),
    command="publish",
    prefix=("synthesize",),
    wrapper="discreet.verbs.synthesize.non_private.copies.Copies",
)
PRIVATE_SYNTHESIS = Family(
    "private_synthesis",
    "private synthesizer",
    ("discreet.verbs.synthesize.synthesize",),
    command="publish",
    default="synthesize",
)
LEARNERS = Family(
    "learners",
    "learner",
    ("discreet.verbs.learn",),
    command="publish",
    prefix=("learn",),
    wrapper="discreet.verbs.learn.learn.Learn",
)
TABLE_METHODS = Family("table_methods", "table method", ("discreet.verbs.tabulate.methods",), command="tabulate")
CELL_RULES = Family("cell_rules", "cell rule", ("discreet.verbs.tabulate.rule",), command="tabulate")
HIDING = Family("hiding", "hiding method", ("discreet.verbs.hide.methods",), command="hide")
FAMILIES = (
    MODELS,
    RECODERS,
    MASKING,
    QUALITIES,
    SYNTHESIZERS,
    PRIVATE_SYNTHESIS,
    LEARNERS,
    TABLE_METHODS,
    CELL_RULES,
    HIDING,
)
