"""Across columns: finding the people two holders share, beside OpenMined's PSI; products of their columns, beside MPyC.

All parties' CPU seconds together. Ours runs in one process, over messages in memory; OpenMined's likewise; MPyC's three
parties are three processes on loopback, without TLS, from when they are connected. What comes out is compared. The
peers may live in an interpreter of their own (--peer-python) with openmined-psi, mpyc, gmpy2 and numpy; what is missing
is not measured. The goals are for the larger size.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench.harness import RESULT, options, report, result, take_part

PSI_GOAL, PRODUCTS_GOAL = 1, 10
PARTIES = ("north", "south", "west")
WIDTH = 10
PRIME = 2**61 - 1
PARTS = {"OpenMined": "private_set_intersection", "MPyC": "mpyc.numpy"}


def people(count: int) -> tuple[list[str], list[str]]:
    """Two holders' keys, of which they share half."""
    return [f"person {number}" for number in range(count)], [f"person {2 * number}" for number in range(count)]


def columns(rows: int) -> tuple[Any, Any]:
    import numpy as np

    draws = np.random.default_rng(1)
    return draws.integers(0, 1000, (rows, WIDTH)), draws.integers(0, 1000, (rows, WIDTH))


def crypto(name: str) -> Any:
    from discreet.verbs.combine.crypto import NumericCrypto

    return NumericCrypto(name.encode().ljust(32), b"bench")


def our_people(count: int) -> Callable[[], object]:
    from discreet.verbs.combine import bus
    from discreet.verbs.combine.vertical import psi

    held = dict(zip(PARTIES, people(count), strict=False))

    def work() -> object:
        plays = {
            name: psi.intersect(
                psi.IntersectionParty(name, tuple(held), crypto(name), count), psi.key_digests(mine, count)
            )
            for name, mine in held.items()
        }
        return len(bus.play(plays).results["north"])

    return work


def openmined(count: int) -> Callable[[], object]:
    import private_set_intersection.python as psi

    first, second = people(count)

    def work() -> object:
        client, server = psi.client.CreateWithNewKey(True), psi.server.CreateWithNewKey(True)
        setup = server.CreateSetupMessage(1e-9, count, second, psi.DataStructure.RAW)
        return len(client.GetIntersection(setup, server.ProcessRequest(client.CreateRequest(first))))

    return work


def our_products(count: int) -> Callable[[], object]:
    from discreet.verbs.combine import bus
    from discreet.verbs.combine.vertical.products import ProductParty, product_group, products

    held = dict(zip(PARTIES, columns(count), strict=False))

    def work() -> object:
        group = product_group(count, [1000])
        plays = {}
        for name in PARTIES:
            mine = group.vector(held[name].reshape(-1)).reshape(count, WIDTH) if name in held else None
            plays[name] = products(
                ProductParty(name, PARTIES, dict.fromkeys(held, WIDTH), count, group, crypto(name)), mine
            )
        return int(bus.play(plays).results["west"]["north", "south"].sum())

    return work


def mpyc_party(count: int, party: int, port: int) -> Callable[[], object]:
    sys.argv = ["party", "-M3", f"-I{party}", "-B", str(port)]  # read when it is imported
    from mpyc.runtime import mpc

    field = mpc.SecFld(PRIME)
    mpc.run(mpc.start())
    first, second = (matrix.astype(object) for matrix in columns(count))

    async def work() -> int:
        left = mpc.input(field.array(first), senders=0)
        right = mpc.input(field.array(second), senders=1)
        found = await mpc.output(mpc.np_matmul(mpc.np_transpose(left), right))
        total = sum(int(entry) for row in found.tolist() for entry in row)
        await mpc.shutdown()
        return total

    return lambda: mpc.run(work())


CONTESTANTS: dict[str, Callable[..., Callable[[], object]]] = {
    "people": our_people,
    "OpenMined": openmined,
    "products": our_products,
    "MPyC party": mpyc_party,
}


def start(python: str, name: str, **arguments: int) -> subprocess.Popen[str]:
    command = [python, "-m", "bench.join", "--contestant", name, "--arguments", json.dumps(arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def taken(*runs: subprocess.Popen[str]) -> tuple[float, object]:
    """CPU seconds of all, and what came out."""
    told = [json.loads(run.communicate()[0].splitlines()[-1]) for run in runs]
    assert len({one["answer"] for one in told}) == 1
    return sum(one["cpu"] for one in told), told[0]["answer"]


def free_ports() -> int:
    """The first of three ports in a row that nobody uses."""
    for port in range(17_000, 30_000, 3):
        try:
            for number in range(3):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port + number))
        except OSError:
            continue
        return port
    raise SystemExit("There are no free ports.")


def peer(python: str, name: str, count: int) -> tuple[float, object] | None:
    known = subprocess.run([python, "-c", f"import {PARTS[name]}"], stderr=subprocess.DEVNULL, check=False)
    if known.returncode:
        return None
    if name == "OpenMined":
        return taken(start(python, name, count=count))
    port = free_ports()
    return taken(*(start(python, "MPyC party", count=count, party=party, port=port) for party in range(3)))


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter that has the peers")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    sizes = (1_000, 10_000) if chosen.quick else (10_000, 100_000)
    rows, faster = [], {}
    for ours, other in (("people", "OpenMined"), ("products", "MPyC")):
        for count in sizes:
            mine, answer = taken(start(sys.executable, ours, count=count))
            theirs = peer(chosen.peer_python, other, count)
            assert theirs is None or theirs[1] == answer, f"{ours} and {other} disagree"
            times = theirs[0] / mine if theirs else None
            if times:
                faster[ours] = times
            what = f"{count:,} keys" if ours == "people" else f"{WIDTH} + {WIDTH} columns, {count:,} rows"
            rows.append(
                [what, f"{mine:.2f}", f"{theirs[0]:.2f} {other}" if theirs else "-", f"{times:.1f}" if times else "-"]
            )
    report(rows, ["CPU seconds of all parties", "ours", "peer", "times faster"])
    if len(faster) < 2:
        print("Not measured: what --peer-python lacks of openmined-psi, mpyc, gmpy2 and numpy.")
        print(RESULT + json.dumps({"times_faster": {"value": None, "goal": PRODUCTS_GOAL, "met": None}}))
        return
    result(
        people_times_faster=(faster["people"], PSI_GOAL, False),
        products_times_faster=(faster["products"], PRODUCTS_GOAL, False),
    )


if __name__ == "__main__":
    main()
