"""Selection of marginals to measure: several methods to spend one allowance.

Each method is a function ``select(meter, known)`` that spends what the meter has left on marginals, and gives them for
the engine of ``graph`` to fit, together with the ``known`` ones: every column for itself, which was measured beforehand
(``FIRST`` of the allowance) to merge what is rare. None of them sees the data. Whatever they learn of it comes from the
meter, which adds the noise, draws the choices and keeps the account; so their privacy is the meter's, whatever they do
with its answers.
"""

from __future__ import annotations

from fractions import Fraction

FIRST = Fraction(1, 5)
"""The part of the allowance for measuring every column for itself, before any selection begins.

With less, more values are rare and are merged; with more, little is left for what columns have to do with each other.
Of a tenth, a fifth and a third, a fifth did best or nearly so for trees of pairs on seven tables: Adult in two codings,
diamonds, wages, mushrooms, and two with a thousand rows. For ``aim`` a tenth and a fifth did alike on Adult.
"""
