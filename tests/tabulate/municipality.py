"""The municipality tables: people and salaries by municipality and profession."""

import numpy as np

from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension, summed
from discreet.verbs.tabulate.tables.respondents import alone

SIDES = (
    Dimension.flat("municipality", ["M1", "M2", "M3"]),
    Dimension.flat("profession", [f"P{number}" for number in range(1, 6)]),
)
COUNTS = summed(SIDES, np.array([[2, 15, 30, 20, 10], [72, 20, 1, 30, 10], [38, 38, 15, 40, 5]]))
SALARIES = summed(SIDES, np.array([[360, 450, 720, 400, 360], [1440, 540, 22, 570, 320], [722, 1178, 375, 800, 363]]))


def people():
    """The table of counts."""
    return CrossTable(SIDES, COUNTS)


def salaries():
    """The table of salaries, with the one contribution that is known: 350 in M3, P5."""
    largest = np.zeros((4, 6, 1), np.int64)
    largest[3, 5] = 350
    known = Contributions(COUNTS, largest, alone(people(), COUNTS))
    return CrossTable(SIDES, SALARIES, "salary", 0, known)
