"""Families of the catalogue: what one of them is, and the packages whose modules declare members."""

from __future__ import annotations

from discreet.core.catalogue import Family

MODELS = Family("models", "privacy model", ("discreet.models",), command="check")
MASKING = Family("masking", "masking method", ("discreet.verbs.publish.mask",), command="publish")
RECODERS = Family("recoders", "recoding method", ("discreet.verbs.publish",), command="publish")
QUALITIES = Family("qualities", "quality measure", ("discreet.utility.quality",), command="publish")
FAMILIES = (MODELS, RECODERS, MASKING, QUALITIES)
