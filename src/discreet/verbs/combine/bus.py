"""In-memory message bus: all parties of a session in one process, for simulation, tests and symbolic runs.

The schedule is deterministic: parties move in the order of the manifest, each as far as it can. When no one can move,
a party that waits for one that has dropped out is told that it is late, as a deadline does between hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from discreet.errors import Aborted
from discreet.verbs.combine.effects import Body, Broadcast, Effect, Gather, Play, Receive, Send

T = TypeVar("T")


@dataclass(frozen=True)
class Message:
    """The ``number``-th message of a session, from one party to others."""

    number: int
    of: str
    to: tuple[str, ...]
    kind: str
    body: Body
    sealed: bool = False
    """Whether only its receiver can read it."""


@dataclass(frozen=True)
class BusRun(Generic[T]):
    """Outcome of a run: each party's result or abort, and all messages in their order."""

    results: dict[str, T]
    aborted: dict[str, Aborted]
    messages: tuple[Message, ...]

    def view(self, party: str) -> tuple[Message, ...]:
        """Messages that this party sent or received: its view."""
        return tuple(message for message in self.messages if party == message.of or party in message.to)


def play(plays: Mapping[str, Play[T]], *, leaves: Callable[[str, Effect], bool] | None = None) -> BusRun[T]:
    """Run all parties to their end. ``leaves`` says whether a party drops out just before one of its effects."""
    scheduler = _Scheduler(dict(plays), leaves or (lambda party, effect: False))
    while scheduler.move():
        pass
    return BusRun(scheduler.results, scheduler.aborted, tuple(scheduler.messages))


@dataclass
class _Scheduler(Generic[T]):
    """Running parties, what each waits for, and undelivered messages."""

    playing: dict[str, Play[T]]
    leaves: Callable[[str, Effect], bool]
    waits: dict[str, Receive | Gather] = field(default_factory=dict)
    box: dict[tuple[str, str, str], Message] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)
    aborted: dict[str, Aborted] = field(default_factory=dict)

    def move(self) -> bool:
        """Run every party as far as possible; if none could move, tell one that waits who is late.

        That is the first that waits only for parties that dropped out: one that waits for a running party is patient.
        """
        moved = False
        for party in list(self.playing):
            while party in self.playing and self._ready(party):
                self._go_on(party)
                moved = True
        if self.playing and not moved:
            hopeless = (party for party in self.playing if not set(self._late(party)) & set(self.playing))
            self._give_up(next(hopeless, next(iter(self.playing))))
        return bool(self.playing)

    def _ready(self, party: str) -> bool:
        waited = self.waits.get(party)
        return waited is None or all((party, other, waited.kind) in self.box for other in _senders(waited))

    def _go_on(self, party: str) -> None:
        """Deliver what a party waits for; its session ends if a message that must be broadcast was sent to it alone."""
        waited = self.waits.pop(party, None)
        if waited is None:
            self._step(party, None)
            return
        places = ((party, other, waited.kind) for other in _senders(waited))
        messages = {place[1]: self.box.pop(place) for place in places if place in self.box}
        if waited.broadcast and (alone := [other for other, message in messages.items() if message.sealed]):
            reason = f"{', '.join(alone)} sent {waited.kind!r} to {party} alone, but it must go to all parties."
            self._end(party, Aborted(reason, culprits=alone))
            return
        bodies = {other: message.body for other, message in messages.items()}
        self._step(party, bodies if isinstance(waited, Gather) else bodies[waited.of])

    def _give_up(self, party: str) -> None:
        waited, late = self.waits[party], self._late(party)
        if isinstance(waited, Gather) and len(waited.of) - len(late) >= waited.least:
            self._go_on(party)
        else:
            self._end(party, Aborted.missing(late, waited.kind))

    def _late(self, party: str) -> tuple[str, ...]:
        """Parties that have not yet sent what this party waits for."""
        waited = self.waits[party]
        return tuple(other for other in _senders(waited) if (party, other, waited.kind) not in self.box)

    def _step(self, party: str, received: Any) -> None:
        try:
            effect = self.playing[party].send(received)
        except StopIteration as ended:
            self.results[party] = ended.value
            del self.playing[party]
            return
        except Aborted as error:
            self._end(party, error)
            return
        if self.leaves(party, effect):
            self.playing.pop(party).close()
            return
        match effect:
            case Receive() | Gather():
                self.waits[party] = effect
            case Send(to=to, kind=kind, body=body):
                self._post(Message(len(self.messages) + 1, party, (to,), kind, body, sealed=True))
            case Broadcast(to=many, kind=kind, body=body):
                self._post(Message(len(self.messages) + 1, party, many, kind, body))

    def _post(self, message: Message) -> None:
        self.messages.append(message)
        for other in message.to:
            self.box[other, message.of, message.kind] = message

    def _end(self, party: str, error: Aborted) -> None:
        self.aborted[party] = error
        self.playing.pop(party).close()
        self.waits.pop(party, None)


def _senders(waited: Receive | Gather) -> tuple[str, ...]:
    return waited.of if isinstance(waited, Gather) else (waited.of,)
