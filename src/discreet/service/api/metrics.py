"""Prometheus metrics: how much is asked, how it ends, how long it takes, and what is left of the budgets.

They are this process's own, but for budgets and jobs, which are looked up when someone asks.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter as Tally
from collections.abc import Iterator
from fractions import Fraction

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily

from discreet.core.exact import sqrt_lower
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.curator.people.person import Person, Role
from discreet.errors import AccessError, Refused
from discreet.service.operations.operations import Operations

CONTENT = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "WEBSOCKET"})
_READER = Person("metrics", Role.AUDITOR, dt.datetime.fromtimestamp(0, dt.UTC), disabled=False, must_change=False)
"""Anyone who reads the metrics sees what an auditor may see, of it sums alone."""
_JOBS = 1000
_LARGEST = Fraction(10**9)


class Metrics:
    """The figures of one service."""

    def __init__(self, desk: Operations) -> None:
        self._desk = desk
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests", "Requests.", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "discreet_request_seconds", "How long they took.", ("route",), buckets=_BUCKETS, registry=self._registry
        )
        self._answers = Counter("discreet_answers", "Answers given.", ("free",), registry=self._registry)
        self._refusals = Counter("discreet_refusals", "Requests refused.", ("error",), registry=self._registry)
        ProcessCollector(registry=self._registry)
        self._registry.register(self)
        desk.watch(self._answered)

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def refused(self, error: Exception) -> None:
        """Count what someone was told, by its kind, if it is a refusal and no mistake of theirs or ours."""
        if isinstance(error, Refused | AccessError):
            self._refusals.labels(type(error).__name__).inc()

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self._registry)

    def _answered(self, free: bool) -> None:
        self._answers.labels("yes" if free else "no").inc()

    def describe(self) -> list[GaugeMetricFamily]:
        """What ``collect`` gives, unfilled: nothing is looked up when the service starts."""
        return [_left_family(), _jobs_family()]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Budgets of tables, and jobs, as they are now."""
        left = _left_family()
        for view in self._desk.budgets.accounts(_READER):
            if view.analyst is None:
                left.add_metric([view.table], float(min(_epsilon(view.left), _LARGEST)))
        yield left
        jobs = _jobs_family()
        for state, count in Tally(job.state for job in self._desk.jobs(_READER, most=_JOBS)).items():
            jobs.add_metric([state], count)
        yield jobs


def _left_family() -> GaugeMetricFamily:
    return GaugeMetricFamily("discreet_budget_left_epsilon", "Privacy budget left, per question.", labels=["table"])


def _jobs_family() -> GaugeMetricFamily:
    return GaugeMetricFamily("discreet_jobs", f"The last {_JOBS:,} jobs.", labels=["state"])


def _epsilon(left: Loss) -> Fraction:
    """The largest ε that fits what is left."""
    match left:
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon):
            return epsilon
        case Concentrated(rho=rho):
            return sqrt_lower(2 * rho)
        case _:
            return min(epsilon for _, epsilon in left.curve)
