"""The verb: randomise answers by local differential privacy, or take reports, and estimate from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from discreet.core.exact import Number
from discreet.core.families import MEAN_PROTOCOLS
from discreet.core.release import Release
from discreet.core.statement import Statement
from discreet.errors import BadInput, NoPromise
from discreet.releases.method import Made
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency_oracle import FrequencyEstimate, FrequencyOracle
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.multidimensional.marginals import MarginalEstimate
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.poisoning import detect_poisoning, poisoning_tolerance
from discreet.verbs.collect.protocol import LocalProtocol, audit
from discreet.verbs.collect.protocol_choice import choose, choose_mean_protocol, frequency_oracle
from discreet.verbs.collect.release import make_release, respondent_statement
from discreet.verbs.collect.report_arrays import Reports


def collect(
    answers: Any = None,
    protocol: str | LocalProtocol[Any] = "auto",
    *,
    reports: Reports | None = None,
    values: Domain | NumberGrid | int | Iterable[Any] | None = None,
    epsilon: Number | None = None,
    confidence: float = 0.95,
    postprocess: str | None = None,
    title: str = "Collected answers",
) -> Release[pa.Table]:
    """Estimate from answers that are randomised here, or from reports that devices have randomised.

    With ``answers`` (a list or an array; a table for several questions) this process plays all devices, for trying a
    protocol out and for teaching: the statement says so. With ``reports`` it is the collector.

    ``protocol`` is a protocol object, or the name of one (``"grr"``, ``"olh"``, ``"duchi"``, …) that is made for
    ``values`` (the possible answers, or a ``NumberGrid`` for a mean) and ``epsilon``; ``"auto"`` chooses the most
    accurate. ``postprocess`` is a named step for shares, such as ``"norm-sub"``, which may bias them.

    The release has the estimates with error bars that hold with ``confidence``, and a statement of local differential
    privacy, whose epsilon is audited on the exact report distribution.
    """
    if (answers is None) == (reports is None):
        raise BadInput("Give either answers or reports.", hint="Answers are randomised here; reports already are.")
    if isinstance(answers, Iterable) and not hasattr(answers, "__len__"):
        answers = list(answers)
    made, reason = _protocol(protocol, values, epsilon, None if answers is None else len(answers))
    checked = audit(made)
    if not checked.holds:
        raise NoPromise(f"{made.name} fails its loss audit. {checked}")
    received = made.randomize(answers) if reports is None else reports
    estimate = made.estimate(received, confidence=confidence)
    if isinstance(estimate, MarginalEstimate):
        raise BadInput("Marginals have several tables.", hint="Call the protocol's estimate, and table on its result.")
    notes = [reason, f"Audit: {checked}"]
    if isinstance(made, FrequencyOracle):
        if not isinstance(made, DBitFlip):
            notes.append(f"Forged reports: {poisoning_tolerance(estimate)}")
        if reports is not None:
            notes += [f"Alarm: {alarm}" for alarm in detect_poisoning(made, reports)]
    if postprocess is not None:
        if not isinstance(estimate, FrequencyEstimate):
            raise BadInput(f"{postprocess} is for shares of values, which {made.name} does not estimate.")
        estimate = estimate.postprocess(postprocess)
        notes.append(
            f"Shares were post-processed by {postprocess}, and may be biased; error bars are from before that."
        )
    parameters: dict[str, Any] = {
        "protocol": made.name,
        "epsilon": str(made.epsilon),
        "parameters": dict(made.parameters),
    }
    parameters |= {"reports": len(received), "confidence": confidence, "postprocess": postprocess}
    pictures = (estimate.picture(),) if isinstance(estimate, FrequencyEstimate) else ()
    figures = Made(_table(estimate), parameters, tuple(notes), pictures=pictures, title=title)
    return make_release(_statement(made, randomized_here=reports is None), figures)


def _protocol(
    protocol: str | LocalProtocol[Any], values: Any, epsilon: Number | None, people: int | None
) -> tuple[LocalProtocol[Any], str]:
    """The protocol to use, and the reason for it."""
    if not isinstance(protocol, str):
        if values is not None or epsilon is not None:
            raise BadInput("A protocol object already has values and epsilon.", hint="Leave values and epsilon out.")
        if not isinstance(protocol, LocalProtocol):
            raise BadInput("protocol must be a name, or a protocol object of discreet.verbs.collect.")
        return protocol, f"{protocol.name}: chosen by the caller."
    if values is None or epsilon is None:
        raise BadInput("No values or no epsilon given.", hint='Such as values=["no", "yes"], epsilon=1.')
    if protocol == "auto":
        if people is None:
            raise BadInput("Reports need the protocol that made them.", hint="Name it: protocol=…")
        if isinstance(values, NumberGrid):
            mean_protocol = choose_mean_protocol(values, epsilon)
            return mean_protocol, f"{mean_protocol.name}: the smallest worst-case error."
        choice = choose(values, epsilon, people)
        return choice.oracle, choice.reason
    reason = f"{protocol}: chosen by the caller."
    if isinstance(values, NumberGrid):
        known = {entry.name: entry.kind for entry in MEAN_PROTOCOLS.entries()}
        if protocol not in known:
            message = f"A mean cannot be collected by the protocol {protocol!r}."
            raise BadInput(message, hint=f"Choose from {', '.join(known)}.")
        return known[protocol](values, epsilon), reason
    if protocol == "coins":
        raise BadInput("Two coins have a fixed epsilon.", hint="Give protocol=collect.Coins() and no epsilon.")
    return frequency_oracle(protocol)(values, epsilon), reason


def _statement(protocol: LocalProtocol[Any], *, randomized_here: bool) -> Statement:
    if randomized_here:
        seen = "Answers were randomised here and not on the respondents' devices: the person who ran this saw them."
        return respondent_statement(protocol.loss, ["Each person is in the answers once."], [seen])
    return respondent_statement(
        protocol.loss,
        [
            "Each device ran this protocol, with random bits that no one else knows.",
            "Each person answered once: answering twice doubles the loss.",
        ],
    )


def _table(estimate: Any) -> pa.Table:
    """Estimates and error bars as a table; of several questions, one after the other."""
    if not isinstance(estimate, dict):
        table: pa.Table = estimate.table()
        return table
    return pa.concat_tables(_named(name, shares.table()) for name, shares in estimate.items())


def _named(question: str, table: pa.Table) -> pa.Table:
    texts = pa.array([str(value) for value in table.column("value").to_pylist()])
    named = table.set_column(table.column_names.index("value"), "value", texts)
    return named.add_column(0, "question", pa.array([question] * table.num_rows))
