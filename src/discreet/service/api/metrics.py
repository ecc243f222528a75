"""Prometheus metrics: how much is asked, how it ends, how long it takes, what is left of the budgets, and how it is.

They are this process's own, but for budgets and jobs, which are looked up when someone asks; while the database does
not say, they are left out, and the rest is told all the same.

How long rows were worked on for depends on them. So it is told in the steps in which answers are released (``turns``),
and no one who may ask learns more from it than from their own clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily

from discreet.core.exact import sqrt_lower
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.errors import AccessError, Refused
from discreet.service.condition import DatabaseState
from discreet.service.operations.operations import Operations
from discreet.service.turns import Turns, released_after

CONTENT = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "WEBSOCKET"})
_LARGEST = Fraction(10**9)
_ROWS = "rows"
"""The step in which rows are worked on."""


class Metrics:
    """The figures of one service."""

    def __init__(self, desk: Operations) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests", "Requests.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "discreet_request_seconds", "How long they took.", ("route",), buckets=_BUCKETS, registry=self._registry
        )
        self._steps = Histogram(
            "discreet_step_seconds",
            "How long each step on the way to an answer took: wait, plan, charge, rows (rounded up), keep.",
            ("step",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._answers = Counter("discreet_answers", "Answers given.", ("kind", "free"), registry=self._registry)
        self._refusals = Counter("discreet_refusals", "Requests refused.", ("error",), registry=self._registry)
        ProcessCollector(registry=self._registry)
        desk.watch(self._answered, self.took)

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def refused(self, error: Exception) -> None:
        """Count what someone was told, by its kind, if it is a refusal and no mistake of theirs or ours."""
        if isinstance(error, Refused | AccessError):
            self._refusals.labels(type(error).__name__).inc()

    def took(self, step: str, seconds: float) -> None:
        """Count a step on the way to an answer."""
        self._steps.labels(step).observe(released_after(seconds) if step == _ROWS else seconds)

    def text(self, now: Now) -> bytes:
        """All of them, as Prometheus reads them."""
        state = CollectorRegistry()
        state.register(now)
        return generate_latest(self._registry) + generate_latest(state)

    def _answered(self, kind: str, free: bool) -> None:
        self._answers.labels(kind, "yes" if free else "no").inc()


@dataclass(frozen=True, eq=False)
class Now:
    """How the service is just now, as metrics."""

    problems: Mapping[str, str]
    """What is wrong, by what is needed; empty words if nothing is."""
    found: DatabaseState | None
    """What the databases say; ``None`` if they do not."""
    turns: Turns
    names: bool
    """Whether the budgets of analysts are told, with their names, besides those of tables."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All of them, as the library takes them."""
        ready = _gauge("discreet_ready", "Whether what the service needs is well.", "check")
        for check, problem in self.problems.items():
            ready.add_metric([check], 0 if problem else 1)
        yield ready
        questions = _gauge("discreet_questions", "Questions, running and waiting.", "state")
        questions.add_metric(["running"], self.turns.running)
        questions.add_metric(["waiting"], self.turns.in_line)
        yield questions
        if self.found is None:
            return
        left = _gauge("discreet_budget_left_epsilon", "Privacy budget left, per question.", "table", "analyst")
        spent = _gauge(
            "discreet_budget_spent_epsilon", "Privacy budget spent: in this period, in all.", "table", "analyst", "in"
        )
        for view in self.found.accounts:
            if self.names or view.analyst is None:
                whose = [view.table, view.analyst or ""]
                left.add_metric(whose, _figure(view.left))
                if view.spent_ever is not None:
                    spent.add_metric([*whose, "period"], _figure(view.spent))
                spent.add_metric([*whose, "total"], _figure(view.spent_ever or view.spent))
        yield left
        yield spent
        jobs = _gauge("discreet_jobs", "Jobs, by state.", "state")
        for state, count in self.found.jobs.items():
            jobs.add_metric([state], count)
        yield jobs


def _gauge(name: str, says: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, labels=labels)


def _figure(loss: Loss) -> float:
    return float(min(_epsilon(loss), _LARGEST))


def _epsilon(left: Loss) -> Fraction:
    """The largest ε that fits what is left."""
    match left:
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon):
            return epsilon
        case Concentrated(rho=rho):
            return sqrt_lower(2 * rho)
        case _:
            return min(epsilon for _, epsilon in left.curve)
