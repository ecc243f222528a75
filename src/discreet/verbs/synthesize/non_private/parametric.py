"""A few laws that numbers are spread by, each fitted by its likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.verbs.publish.mask.values import Array
from discreet.verbs.synthesize.non_private.latent import quantiles


@dataclass(frozen=True)
class Law:
    """A law and its two parameters: mean and deviation (of the logarithm, for the log-normal), or least and mean."""

    name: str
    first: float
    second: float

    def at(self, shares: Array) -> Array:
        """The values below which these shares lie."""
        if self.name == "exponential":
            return np.asarray(self.first - (self.second - self.first) * np.log1p(-shares))
        normal = self.first + self.second * quantiles(shares)
        return np.asarray(np.exp(normal) if self.name == "log-normal" else normal)


def likeliest(values: Array) -> Law:
    """The law under which these values are likeliest; of a constant a normal law without spread."""
    mean, deviation, least = float(values.mean()), float(values.std()), float(values.min())
    if deviation == 0.0:
        return Law("normal", mean, 0.0)
    found = {Law("normal", mean, deviation): -np.log(deviation) - 0.5 - 0.5 * np.log(2 * np.pi)}
    if least >= 0:
        found[Law("exponential", 0.0, mean)] = -np.log(mean) - 1
    if least > 0:
        logs = np.log(values)
        center, width = float(logs.mean()), float(logs.std())
        found[Law("log-normal", center, width)] = -np.log(width) - center - 0.5 - 0.5 * np.log(2 * np.pi)
    return max(found, key=lambda law: found[law])
