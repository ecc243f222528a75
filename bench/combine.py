"""Secure sums between processes: ours over TLS, beside MPyC over TLS and Flower's SecAgg+.

One process a party on this machine, each connection with TLS and certificates on both sides. What counts is the CPU
seconds of all parties together, from after their imports (so with connecting, handshakes, journals and transcripts),
and the bytes that all of them gave to their sockets. Flower's server and clients are functions called in one process,
without a network, as its simulation would; so it is compared in CPU seconds with everything that ours does besides.

The sum is of 100,000 integers among 3, 5 and 10 parties. Ours is *masks*, where one party adds up and tells the
total, once with bounds of 0 to a million (three or four bytes an element are enough) and once with integers of 60
bits. Every party that is not the adder sends its vector once and gets the total once, so the least is 2·(n-1)·d
elements; the floor of n·d·8 bytes is compared with the first. Then one integer among 10 parties, each telling all,
and 100 parties.

``--peer-python`` names an interpreter that has the peers (``mpyc flwr gmpy2``). Without it, only ours is measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.harness import contest, options, report, result, take_part

OURS, FULL, MPYC, FLOWER = "discreet", "discreet, 60 bits", "MPyC", "Flower SecAgg+"
LENGTH, SIZES, CROWD = 100_000, (3, 5, 10), 100
MOST = {OURS: 10**6, FULL: 1 << 60}
MPYC_GOAL, FLOWER_GOAL, BYTES_GOAL, ONE_GOAL = 0.1, 1.0, 1.1, 0.2
SEED, READY = 9, "ready\n"


# -- parties: each in a process of its own, which is ready when everything is imported


def together(name: str, parties: int, python: str, **told: Any) -> dict[str, Any]:
    """Let all parties begin when all are ready: CPU seconds and bytes of all, and their answer."""
    command = [python, "-m", "bench.combine", "--contestant", f"{name} party", "--arguments"]
    children = [
        subprocess.Popen(
            [*command, json.dumps({"place": place, "parties": parties, **told})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for place in range(parties)
    ]
    for child in children:
        assert child.stdout and child.stdout.readline() == READY, f"{name} failed"
    for child in children:
        assert child.stdin
        child.stdin.write(READY)
        child.stdin.flush()
    said = []
    for child in children:
        out, _ = child.communicate()
        if child.returncode:
            for other in children:
                other.kill()
        assert not child.returncode, f"a party of {name} failed"
        said.append(json.loads(out))
    answers = {json.dumps(one["answer"]["answer"]) for one in said}
    assert len(answers) == 1, f"parties disagree: {answers}"
    sent, met = sum(one["answer"]["sent"] for one in said), sum(one["answer"].get("met", 0) for one in said)
    return {"cpu": sum(one["cpu"] for one in said), "met": met, "sent": sent, "answer": answers.pop()}


def wait_ready() -> None:
    """Wait until all others are."""
    print(READY, end="", flush=True)
    sys.stdin.readline()


def discreet_party(place: int, parties: int, folder: str, length: int, most: int) -> Callable[[], object]:
    from discreet.core.families import SUM_PROTOCOLS
    from discreet.verbs.combine.crypto import NumericCrypto
    from discreet.verbs.combine.group import ModularGroup
    from discreet.verbs.combine.net.driver import Progress, run
    from discreet.verbs.combine.net.manifest import load
    from discreet.verbs.combine.protocols.protocol import Party

    session, name = load(Path(folder) / "sum.toml"), f"party{place}"
    terms, group = session.terms, ModularGroup.fitting(parties * (most - 1))
    values = group.vector(_values(place, length, most))
    warm = NumericCrypto(bytes(32), bytes(32))  # what is imported when it is needed first
    warm.public(warm.secret("warm"))
    socket.getaddrinfo("127.0.0.1", 0)
    sent, began = _counting(), 0.0

    def play(crypto: NumericCrypto) -> Any:
        me = Party(name, terms.parties, group, length, crypto, "sum 1/", 0, terms.adder)
        return SUM_PROTOCOLS.parse("masks").play(me, values)

    met: list[float] = []

    def progress(now: Progress) -> None:
        if now.step != "parties" and not met:
            met.append(time.process_time() - began)

    def work() -> object:
        nonlocal began
        began = time.process_time()
        total = asyncio.run(run(session, _identity(name), play, Path(folder) / name, progress=progress))
        return {"sent": sent[0], "answer": _answer(total.vector), "met": met[0]}

    wait_ready()
    return work


def mpyc_party(
    place: int, parties: int, folder: str, *, length: int, most: int, ports: list[int]
) -> Callable[[], object]:
    import gmpy2  # type: ignore[import-untyped]  # noqa: F401
    import numpy as np

    os.chdir(folder)
    sys.argv = ["sum", f"-I{place}", *(f"-P127.0.0.1:{port}" for port in ports), "--ssl", "--no-log"]
    from mpyc.runtime import mpc  # type: ignore[import-not-found]

    kind, values = mpc.SecInt(64), _values(place, length, most)

    async def add() -> Any:
        await mpc.start()
        total = await mpc.output(sum(mpc.input(kind.array(values.astype(object)))))
        sent = sum(peer.protocol.nbytes_sent for peer in mpc.parties if peer.pid != place)
        await mpc.shutdown()
        return {"sent": sent, "answer": _answer(np.asarray(total))}

    wait_ready()
    return lambda: mpc.run(add())


def _counting() -> list[int]:
    """How many bytes this process sends over connections that end from now on, as the system counts them."""
    import ssl

    sent, original = [0], ssl.SSLSocket.close

    def close(self: ssl.SSLSocket) -> None:
        if self.fileno() >= 0:
            [count] = struct.unpack_from("=Q", self.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), _BYTES_SENT)
            sent[0] += count
        original(self)

    ssl.SSLSocket.close = close  # type: ignore[method-assign]
    return sent


_BYTES_SENT = 200
"""Where Linux says in ``tcp_info`` how many bytes were sent."""


def _identity(name: str) -> Any:
    """A key that everybody in this benchmark knows."""
    from discreet.verbs.combine.net.keys import Identity

    return Identity(name, name.encode().ljust(32, b"."))


def _ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


def _values(place: int, length: int, most: int) -> Any:
    import numpy as np

    return np.random.default_rng([SEED, place]).integers(0, most, length, dtype=np.uint64)


def _answer(vector: Any) -> list[int]:
    return [int(vector[0]), int(vector[-1]), sum(int(one) for one in vector[::1000])]


# -- contestants


def discreet(parties: int, length: int, most: int, adder: bool, python: str) -> Callable[[], object]:
    from discreet.verbs.combine.net.manifest import Endpoint, Manifest, dump
    from discreet.verbs.combine.terms import Terms

    names = tuple(f"party{place}" for place in range(parties))

    def work() -> object:
        places = zip(names, _ports(parties), strict=True)
        listed = tuple(Endpoint(name, f"127.0.0.1:{at}", _identity(name).public) for name, at in places)
        with tempfile.TemporaryDirectory() as folder:
            session = Manifest(Terms(names, adder=names[0] if adder else ""), listed)
            (Path(folder) / "sum.toml").write_text(dump(session))
            return together(OURS, parties, sys.executable, folder=folder, length=length, most=most)

    return work


def mpyc(parties: int, length: int, most: int, adder: bool, python: str) -> Callable[[], object]:
    def work() -> object:
        with tempfile.TemporaryDirectory() as folder:
            _authority(Path(folder) / ".config", parties)
            told = {"folder": folder, "length": length, "most": most, "ports": _ports(parties)}
            return together(MPYC, parties, python, **told)

    return work


def flower(parties: int, length: int, most: int, adder: bool, python: str) -> Callable[[], object]:
    _go_on_in(python)
    import numpy as np
    from flwr.common import bytes_to_ndarray, ndarrays_to_parameters  # type: ignore[import-not-found]
    from flwr.common.secure_aggregation import ndarrays_arithmetic as arrays  # type: ignore[import-not-found]
    from flwr.common.secure_aggregation.crypto.shamir import combine_shares  # type: ignore[import-not-found]
    from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen  # type: ignore[import-not-found]

    its: Any = sys.modules[
        "flwr.client.mod.secure_aggregation.secaggplus_mod"
    ]  # its package has a function of that name
    key, mod = its.Key, 1 << 32
    setup = {
        key.SAMPLE_NUMBER: parties, key.SHARE_NUMBER: parties, key.THRESHOLD: parties // 2 + 1,
        key.CLIPPING_RANGE: 8.0, key.TARGET_RANGE: 1 << 22, key.MOD_RANGE: mod, key.MAX_WEIGHT: 1.0,
    }  # fmt: skip
    values = [ndarrays_to_parameters([_values(place, length, most) / most]) for place in range(parties)]

    def work() -> object:
        began = time.process_time()
        states = [its.SecAggPlusState() for _ in range(parties)]
        for place, state in enumerate(states):
            state.nid = place
        keys = {}
        for state in states:
            told = its._setup(state, setup)
            keys[str(state.nid)] = [told[key.PUBLIC_KEY_1], told[key.PUBLIC_KEY_2]]
        boxes: dict[int, list[tuple[int, bytes]]] = {place: [] for place in range(parties)}
        for state in states:
            told = its._share_keys(state, keys)
            for to, sealed in zip(told[key.DESTINATION_LIST], told[key.CIPHERTEXT_LIST], strict=True):
                boxes[to].append((state.nid, sealed))
        total, sent = [np.zeros((), np.int64), np.zeros(length, np.int64)], 0
        for state, value in zip(states, values, strict=True):
            got = {
                key.SOURCE_LIST: [of for of, _ in boxes[state.nid]],
                key.CIPHERTEXT_LIST: [one for _, one in boxes[state.nid]],
            }
            masked = its._collect_masked_vectors(state, got, 1, value)[key.MASKED_PARAMETERS]
            sent += sum(map(len, masked)) + sum(len(one) for _, one in boxes[state.nid])
            total = arrays.parameters_addition(total, [bytes_to_ndarray(one) for one in masked])
        seeds: dict[int, list[bytes]] = {place: [] for place in range(parties)}
        active = {key.ACTIVE_NODE_ID_LIST: list(range(parties)), key.DEAD_NODE_ID_LIST: []}
        for state in states:
            told = its._unmask(state, active)
            for of, share in zip(told[key.NODE_ID_LIST], told[key.SHARE_LIST], strict=True):
                seeds[of].append(share)
        shapes = [one.shape for one in total]
        for shares in seeds.values():
            total = arrays.parameters_subtraction(total, pseudo_rand_gen(combine_shares(shares), mod, shapes))
        total = arrays.parameters_mod(total, mod)
        return {"cpu": time.process_time() - began, "met": 0, "sent": sent, "answer": None}

    return work


def _go_on_in(python: str) -> None:
    """Go on as the same script in the peers' interpreter."""
    if sys.executable != python:
        os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606


def _authority(folder: Path, parties: int) -> None:
    """Certificates as MPyC wants them: of one authority, with a party's number for a name."""
    import datetime as dt

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    folder.mkdir()
    begin = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    root, top = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "root")])

    def certificate(name: x509.Name, key: Any, own: bool, *also: str) -> bytes:
        made = x509.CertificateBuilder(
            top, name, key.public_key(), x509.random_serial_number(), begin, begin.replace(2100)
        )
        made = made.add_extension(x509.BasicConstraints(own, None), critical=True)
        if also:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in also]), critical=False)
        return made.sign(root, hashes.SHA256()).public_bytes(Encoding.PEM)

    (folder / "mpyc_ca.crt").write_bytes(certificate(top, root, True))
    for place in range(parties):
        key, called = ec.generate_private_key(ec.SECP256R1()), f"MPyC party {place}"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
        (folder / f"party_{place}.crt").write_bytes(certificate(name, key, False, called))
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / f"party_{place}.key").write_bytes(pem)


CONTESTANTS: dict[str, Callable[..., Callable[[], object]]] = {
    OURS: discreet,
    FULL: discreet,
    MPYC: mpyc,
    FLOWER: flower,
    f"{OURS} party": discreet_party,
    f"{MPYC} party": mpyc_party,
}


# -- the contests


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with the peers")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    python, turns = _peer(chosen.peer_python), 1 if chosen.quick else 3
    lines, figures = [], {}
    for parties in SIZES[:2] if chosen.quick else SIZES:
        found = _taken(
            [OURS, FULL, *([MPYC, FLOWER] if python else [])],
            turns,
            parties=parties,
            length=LENGTH,
            adder=True,
            python=python,
        )
        floor = parties * LENGTH * 8
        for name, (cpu, sent, after) in found.items():
            row = [f"{LENGTH:,} among {parties}", name, f"{cpu:.3f}", f"{after:.3f}"]
            lines.append([*row, f"{sent / 1e6:.1f}", f"{sent / floor:.2f}"])
        ours = found[OURS]
        figures[f"bytes_of_floor_{parties}"] = (ours[1] / floor, BYTES_GOAL, True)
        if python:
            figures[f"cpu_of_mpyc_{parties}"] = (max(ours[0], found[FULL][0]) / found[MPYC][0], MPYC_GOAL, True)
            figures[f"cpu_of_flower_{parties}"] = (max(ours[0], found[FULL][0]) / found[FLOWER][0], FLOWER_GOAL, True)
            after = max(ours[2], found[FULL][2]) / found[FLOWER][0]
            figures[f"cpu_of_flower_{parties}_once_connected"] = (after, FLOWER_GOAL, True)
    cpu, sent, after = _taken([OURS], turns + 2, parties=SIZES[-1], length=1, adder=False, python="")[OURS]
    lines.append([f"1 among {SIZES[-1]}", OURS, f"{cpu:.3f}", f"{after:.3f}", f"{sent / 1e6:.1f}", ""])
    figures["one_integer_cpu"] = (cpu, ONE_GOAL, True)
    figures["one_integer_cpu_once_connected"] = (after, ONE_GOAL, True)
    if not chosen.quick:
        cpu, sent, after = _taken([OURS], 1, parties=CROWD, length=1, adder=False, python="")[OURS]
        lines.append([f"1 among {CROWD}", OURS, f"{cpu:.3f}", f"{after:.3f}", f"{sent / 1e6:.1f}", ""])
        figures["crowd_missing"] = (0, 0, True)
    report(lines, ["integers", "", "CPU s, all parties", "once connected", "MB sent by all", "of n·d·8"])
    result(**figures)


def _taken(names: list[str], turns: int, **told: Any) -> dict[str, tuple[float, float, float]]:
    """The best of several turns of everybody: CPU seconds, bytes, and CPU seconds after all were connected."""
    best: dict[str, tuple[float, float, float]] = {}
    for _ in range(turns):
        for name in names:
            one = contest("combine", [name], {**told, "most": MOST.get(name, MOST[OURS])}, turns=1)[name]
            answer: Any = one.answer
            found = (float(answer["cpu"]), float(answer["sent"]), answer["cpu"] - answer["met"])
            best[name] = min(best.get(name, found), found)
    return best


def _peer(python: str | None) -> str:
    """The path that an interpreter with the peers knows itself under."""
    if python is None:
        return ""
    command = [
        python,
        "-c",
        "import sys, flwr, gmpy2, importlib.metadata as m; m.version('mpyc'); print(sys.executable)",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
