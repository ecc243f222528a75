"""Hosts in network namespaces, joined by a switch in this process that delays, loses and cuts what it passes on."""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import random
import selectors
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

_NEW_DEVICE = 0x400454CA
"""TUNSETIFF."""
_PACKETS = 0x1001
"""IFF_TUN and IFF_NO_PI: packets alone, without a header of the device's."""
_NETWORK = 0x40000000
"""CLONE_NEWNET."""
_SUBNET = "10.213.9."


class Hosts:
    """Names of hosts, their addresses, and the state of the links between them."""

    def __init__(self, names, *, delay=0.0, loss=0.0, seed=1):
        self.addresses = {name: f"{_SUBNET}{place}" for place, name in enumerate(names, 1)}
        self.delay, self.loss = delay, loss
        self.passed = self.lost = 0
        self.apart: set[frozenset[str]] = set()
        """Pairs of hosts between which nothing passes."""
        self._chance = random.Random(seed)  # noqa: S311
        self._ports: dict[str, int] = {}

    def run(self, name, *command):
        """The command as it is started on this host."""
        return ("ip", "netns", "exec", f"dc-{name}", *command)

    def enter(self, name):
        """Have the sockets that this thread makes from now on be of this host."""
        with Path(f"/run/netns/dc-{name}").open() as there:
            if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), _NETWORK):
                raise OSError(ctypes.get_errno(), "setns")

    @contextmanager
    def cut(self, one, other):
        """Nothing passes between these two while the block runs."""
        pair = frozenset((one, other))
        self.apart.add(pair)
        try:
            yield
        finally:
            self.apart.discard(pair)

    def open(self, stack):
        for place, (name, address) in enumerate(self.addresses.items()):
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            stack.callback(os.close, device)
            fcntl.ioctl(device, _NEW_DEVICE, struct.pack("16sH22x", f"dctun{place}".encode(), _PACKETS))
            self._ports[address] = device
            stack.callback(_try, f"ip netns delete dc-{name}")
            for command in (
                f"ip netns add dc-{name}",
                f"ip link set dctun{place} netns dc-{name}",
                f"ip -n dc-{name} addr add {address}/24 dev dctun{place}",
                f"ip -n dc-{name} link set dctun{place} up",
                f"ip -n dc-{name} link set lo up",
            ):
                if problem := _try(command):
                    raise OSError(f"{command}: {problem}")
        done, asked = os.pipe()
        thread = threading.Thread(target=self._switch, args=(done,), daemon=True)
        thread.start()
        stack.callback(os.close, done)
        stack.callback(thread.join)
        stack.callback(os.close, asked)

    def _switch(self, done):
        names = {address: name for name, address in self.addresses.items()}
        waiting: list[tuple[float, int, int, bytes]] = []
        with selectors.DefaultSelector() as ready:
            for device in (done, *self._ports.values()):
                ready.register(device, selectors.EVENT_READ)
            while True:
                pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
                for key, _ in ready.select(pause):
                    if key.fd == done:
                        return
                    packet = os.read(key.fd, 1 << 16)
                    source, target = (".".join(map(str, packet[at : at + 4])) for at in (12, 16))
                    if target not in self._ports or source not in names:
                        continue  # IPv6, or to everybody
                    if frozenset((names[source], names[target])) in self.apart or self._chance.random() < self.loss:
                        self.lost += 1
                        continue
                    self.passed += 1
                    due = time.monotonic() + self.delay * self._chance.uniform(0.8, 1.2)
                    heapq.heappush(waiting, (due, self.passed, self._ports[target], packet))
                while waiting and waiting[0][0] <= time.monotonic():
                    _, _, device, packet = heapq.heappop(waiting)
                    try:
                        os.write(device, packet)
                    except OSError:  # its queue is full: lost, as on any link
                        self.lost += 1


@contextmanager
def hosts(*names, delay=0.0, loss=0.0):
    """Hosts of these names, each with an address of its own; skips where namespaces cannot be made."""
    made = Hosts(names, delay=delay, loss=loss)
    with ExitStack() as stack:
        try:
            made.open(stack)
        except OSError as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        yield made


def _try(command):
    """What went wrong."""
    if not Path("/proc/self/ns/net").exists():
        return "no namespaces"
    made = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    return made.stderr.strip() if made.returncode else ""
