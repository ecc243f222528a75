"""The sparse vector technique: many questions "is it above the threshold?", of which few are, for one price."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock

from discreet.core.exact import Number, exact, positive, probability, whole
from discreet.core.loss import Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.laplace import DiscreteLaplace


@dataclass(frozen=True)
class SparseVector:
    """Says of a stream of whole figures whether each is above a threshold, until ``positives`` of them were.

    Why this is private: the threshold gets noise of scale Δ / ε₁ once, every figure noise of scale 2cΔ / ε₂ (c
    positives; cΔ / ε₂ if a unit moves all figures the same way). Raise the threshold's noise by Δ, which costs
    ε₁: every "below" stays below, however many there are. Then every "above" needs its own noise raised by 2Δ
    (Δ), which costs ε₂ / c, and there are c of them. The integers can be shifted like the line. A figure given
    out costs ε₃ / c from noise of its own; the noise that was compared is never told. Together Pure(ε₁ + ε₂ +
    ε₃) (Lyu, Su, Li 2017, Algorithm 7, Theorems 4 and 5; several published variants that leave out c, or tell
    the compared noise, are not private).
    """

    threshold_epsilon: Fraction
    compare_epsilon: Fraction
    answer_epsilon: Fraction = Fraction(0)
    """What the figures given out cost; 0: none is."""
    positives: int = 1
    sensitivity: Fraction = Fraction(1)
    monotone: bool = False

    def __post_init__(self) -> None:
        for name in ("threshold_epsilon", "compare_epsilon", "sensitivity"):
            object.__setattr__(self, name, positive(getattr(self, name), name.replace("_", " ")))
        object.__setattr__(self, "answer_epsilon", exact(self.answer_epsilon, "answer epsilon"))
        whole(self.positives, "The number of positives")

    @classmethod
    def for_loss(
        cls, loss: Pure, *, positives: int = 1, sensitivity: Number = 1, monotone: bool = False, answers: bool = False
    ) -> SparseVector:
        """The split that compares best: ε₂ : ε₁ as (2c)^⅔ : 1, c^⅔ if monotone; with answers, half is theirs."""
        epsilon = positive(loss.epsilon, "epsilon")
        shifts = whole(positives, "The number of positives") * (1 if monotone else 2)
        compared = epsilon / 2 if answers else epsilon
        threshold = compared / (1 + Fraction(round(1024 * shifts ** (2 / 3)), 1024))
        return cls(
            threshold_epsilon=threshold,
            compare_epsilon=compared - threshold,
            answer_epsilon=epsilon - compared,
            positives=positives,
            sensitivity=positive(sensitivity, "sensitivity"),
            monotone=monotone,
        )

    def loss(self) -> Pure:
        """What a whole session loses, however many figures it is asked about."""
        return Pure(self.threshold_epsilon + self.compare_epsilon + self.answer_epsilon)

    def start(self, threshold: int, entropy: Entropy = SYSTEM) -> Session:
        """A session with a public threshold."""
        return Session(self, threshold, entropy)

    def error(self, beta: Number, figures: int) -> int:
        """With probability 1 - beta, of this many figures none further than this from the threshold is told wrongly."""
        half = probability(beta, "beta") / 2
        each = half / whole(figures, "The number of figures")
        return self.threshold_noise.error(half) + self.compare_noise.error(each)

    @property
    def threshold_noise(self) -> DiscreteLaplace:
        """What is added to the threshold, once."""
        return DiscreteLaplace(self.sensitivity / self.threshold_epsilon)

    @property
    def compare_noise(self) -> DiscreteLaplace:
        """What is added to every figure that is compared."""
        shifts = self.positives * (1 if self.monotone else 2)
        return DiscreteLaplace(shifts * self.sensitivity / self.compare_epsilon)

    @property
    def answer_noise(self) -> DiscreteLaplace:
        """What is added to a figure that is given out."""
        if not self.answer_epsilon:
            raise BadInput("This sparse vector releases no figures.", hint="Set its answer epsilon.")
        return DiscreteLaplace(self.positives * self.sensitivity / self.answer_epsilon)


class Session:
    """One run of the sparse vector technique. Threads may share it; a forked process may not."""

    def __init__(self, parameters: SparseVector, threshold: int, entropy: Entropy) -> None:
        self._parameters = parameters
        self._entropy = entropy
        self._threshold = parameters.threshold_noise.add(threshold, entropy)
        self._left = parameters.positives
        self._lock = Lock()
        self._process = os.getpid()

    @property
    def left(self) -> int:
        """How many more positives will be told."""
        return self._left

    def above(self, figure: int) -> bool:
        """Whether ``figure``, with noise, reaches the threshold, with noise."""
        with self._lock:
            if self._process != os.getpid():
                raise NoPromise("A sparse vector session was copied to another process, which could spend it twice.")
            if not self._left:
                raise NoPromise(
                    f"This sparse vector session has released all its {self._parameters.positives} positives.",
                    hint="Start another session, at its price.",
                )
            reached = self._parameters.compare_noise.add(figure, self._entropy) >= self._threshold
            self._left -= reached
            return reached

    def end(self) -> None:
        """Tell no more positives."""
        with self._lock:
            self._left = 0

    def answer(self, figure: int) -> int | None:
        """``figure`` with noise of its own if it is above the threshold, else ``None``."""
        noise = self._parameters.answer_noise
        return noise.add(figure, self._entropy) if self.above(figure) else None
