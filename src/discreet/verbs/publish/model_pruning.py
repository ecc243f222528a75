"""Privacy models as a lattice search uses them: which classes they suppress, and which nodes they rule out untried.

A model *absorbs* if a class that satisfies it still does when any rows are added to it. What such a model suppresses
at some levels it suppresses at all finer ones, where classes are parts of those. Being monotone is less: merging
classes which all satisfy a model may never break it, while a class merged with one that does not may well (entropy
diversity, t-closeness). So monotone models prune a search only where nothing may be suppressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

import numpy as np
import numpy.typing as npt

from discreet.models.classes import Classes
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import Model, parts_of, settled
from discreet.models.risk import JournalistRisk, ProsecutorRisk

Booleans = npt.NDArray[np.bool_]


class PruningRules:
    """The models that must hold, sorted by how a search can use them."""

    def __init__(
        self, models: Iterable[Model], limit: int, quality: Sequence[str] = (), *, several: bool = False
    ) -> None:
        """``limit``: how many rows may be suppressed; ``quality``: the columns the quality measure looks at.

        Where people have ``several`` rows, and so several values, models of values do not absorb: somebody who has two
        of the values of a class makes both more frequent.
        """
        self.models = parts_of(models)
        self.smallest = max((_smallest(model) for model in self.models), default=1)
        absorbing = LDiversity | KMap | PSensitivity | JournalistRisk
        self.absorbing = tuple(model for model in self.models if isinstance(model, absorbing) and not several)
        counting = KAnonymity | ProsecutorRisk  # these look at the size of a class alone, and absorb
        self.others = tuple(m for m in self.models if not isinstance(m, counting) and m not in self.absorbing)
        self.pruning = tuple(m for m in self.others if m.monotone) if limit == 0 else ()
        """Models that hold nowhere in a box if they do not hold at its coarser end."""
        watched = self.models if limit == 0 else self.absorbing
        self.watched = tuple(sorted({*quality, *(name for model in watched for name in model.sensitive)}))
        """The columns whose spread is needed all the way, and not only to judge a node."""
        self.sensitive = tuple(sorted({*quality, *(name for model in self.models for name in model.sensitive)}))

    def absorbed(self, classes: Classes) -> Booleans:
        """Which classes stay for all absorbing models; none of them depends on another class."""
        kept: Booleans = classes.sizes >= self.smallest
        for model in self.absorbing:
            kept &= ~model.breaking(classes)
        return kept

    def settled(self, classes: Classes) -> Booleans:
        """Which classes stay for all models. Classes without rows (of a population) are none."""
        if classes.population is None:
            return settled(classes, self.models)
        real = classes.sizes > 0
        kept = np.zeros(len(real), dtype=np.bool_)
        kept[real] = settled(classes.keeping(real), self.models)
        return kept

    def hopeless(self, classes: Classes, kept: Booleans) -> bool:
        """Whether a model is broken that cannot hold at finer levels then, when nothing may be suppressed.

        What is not ``kept`` has no rows (it is of a population).
        """
        if not self.pruning:
            return False
        classes = classes if kept.all() else classes.keeping(kept)
        return any(model.breaking(classes).any() for model in self.pruning)


def _smallest(model: Model) -> int:
    """The number of rows below which a class breaks the model, as far as that is known."""
    match model:
        case KAnonymity(k=k):
            return k
        case ProsecutorRisk(threshold=threshold):
            return ceil(1 / threshold)
        case AlphaK(k=k):
            return k
        case PSensitivity(k=k, p=p):
            return max(k, p)
        case LDiversity(l=l):
            return l
        case EntropyLDiversity(l=l):
            return ceil(l)
        case RecursiveLDiversity(l=l):
            return l
    return 1
