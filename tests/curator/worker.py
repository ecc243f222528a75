"""A process that asks: `worker.py FOLDER ask N` asks N questions of its own; `… die WHERE` is killed on the way."""

import os
import signal
import sys
from dataclasses import replace

from tests.curator.clinics import COUNT

from discreet.core import release_file
from discreet.curator.curator import Curator
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetExceeded


class Deadly(DuckDB):
    """An engine on which the data is never reached."""

    def fetch(self, query, **how):
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder, what, which):
    with Curator(folder) as curator:
        if what == "ask":
            for number in range(20):
                try:
                    curator.ask(f"SELECT COUNT(*) AS n FROM visits WHERE street <> '{which} {number}'", epsilon="0.1")
                except BudgetExceeded:
                    print("refused")
                else:
                    print("answered")
            return
        if which == "charge":
            curator.price(COUNT, epsilon="0.5")
            curator.workspace._opened["visits"] = replace(curator.workspace._opened["visits"], engine=Deadly())
            curator._plans = type(curator._plans)()
        else:
            release_file.flush_name = lambda place: os.kill(os.getpid(), signal.SIGKILL)  # it is there, and not sealed
        curator.ask(COUNT, epsilon="0.5")


main(*sys.argv[1:])
