"""Made-up decisions about credit, in which women do worse."""

from __future__ import annotations

import numpy as np


def credits(rows: int, *, red: bool = False) -> list[tuple[str, ...]]:
    """Transactions with sex, place, job and decision; ``red``: the place all but tells the sex."""
    rng = np.random.default_rng(7)
    made = []
    for _ in range(rows):
        female = rng.random() < 0.4
        place = int(rng.random() < ((0.95 if female else 0.05) if red else 0.5))
        job = int(rng.random() < 0.6)
        bad = rng.random() < (0.6 if female else 0.25) - 0.1 * job
        made.append(
            (("sex=m", "sex=f")[female], f"zip={place}", f"job={job}", ("credit=good", "credit=bad")[bool(bad)])
        )
    return made
