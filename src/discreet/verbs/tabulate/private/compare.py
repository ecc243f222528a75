"""Errors of the same counts, asked table by table or made as one macro-table."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from discreet.budget.dp_statement import BETA, loss_of, rows_per_unit
from discreet.core.card import Card
from discreet.core.loss import Concentrated, Pure
from discreet.noise.deviation import Noise, Weighted, weighted_error
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.tabulate.private.macro_table import MacroTable, called


def compared(macro: MacroTable, card: Card) -> pa.Table:
    """For each table and each of its totals, the error of a cell if asked and if made, for the same loss in all.

    Asked: every table by a question of its own (``SELECT …, COUNT(*) … GROUP BY …``) for an equal part of the loss, and
    totals added up from the answer that has the fewest cells to add. Made: by ``macro``, before it is made whole.
    Deviations are root mean squares, to compare by. Error bars hold with 95 % confidence or more: that of a sum of
    noises is a bound, and longer than it need be, that of a single one is not. All of it follows from the card alone.
    """
    plan = macro.plan(card)
    precision = plan.counts.precision
    noise = _each(loss_of(macro.epsilon, macro.rho), len(plan.by), rows_per_unit(card))
    rows = []
    for columns in plan.workload.printed:
        cell = dict.fromkeys(columns, 1)
        summed = min(plan.workload.size(table - columns) for table in plan.workload.tables if columns <= table)
        rows.append(
            {
                "table": called(name for name in plan.sides if name in columns) or "all rows",
                "cells": plan.workload.size(columns),
                "asked_deviation": math.sqrt(summed * noise.variance),
                "made_deviation": math.sqrt(precision.variance(cell)),
                "asked_error": weighted_error([Weighted(noise, np.ones(1), np.full(1, summed))], BETA),
                "made_error": precision.error(cell, BETA),
            }
        )
    return pa.Table.from_pylist(rows)


def _each(loss: Pure | Concentrated, questions: int, rows_per_unit: int) -> Noise:
    """The noise of one of so many questions that lose ``loss`` together."""
    if isinstance(loss, Pure):
        return DiscreteLaplace.for_loss(Pure(loss.epsilon / questions), rows_per_unit)
    return DiscreteGaussian.for_loss(Concentrated(loss.rho / questions), rows_per_unit)
