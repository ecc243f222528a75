"""Models with a privacy loss, read back from what was released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import BadInput
from discreet.verbs.learn.clusters import Centres
from discreet.verbs.learn.private.components import Components
from discreet.verbs.learn.private.model import AdditiveModel
from discreet.verbs.learn.tree import Tree

_MODELS: Mapping[str, Any] = {one.kind: one for one in (AdditiveModel, Centres, Components, Tree)}


def is_private_model(payload: object) -> bool:
    """Whether this is the payload of a learner with a privacy loss."""
    return isinstance(payload, Mapping) and "learner" in payload and "model" in payload


def load_model(payload: Mapping[str, Any]) -> Any:
    """The model in the payload of a learner with a privacy loss: it predicts, prints and draws itself."""
    model = payload.get("model")
    kind = model.get("kind") if isinstance(model, Mapping) else None
    if kind not in _MODELS:
        raise BadInput("This is not a model that discreet released.", hint="Give a release, its payload or its folder.")
    return _MODELS[str(kind)].from_dict(model)
