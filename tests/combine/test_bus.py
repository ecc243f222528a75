"""The bus in memory: who is late, who leaves, and that nothing hangs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.verbs.combine.bus import play
from discreet.verbs.combine.effects import Broadcast, Effect, Gather, Play, Receive, Send


def script(*steps: Effect) -> Play[list[Any]]:
    """Do these; gives what came."""
    got = []
    for step in steps:
        got.append((yield step))
    return got


def ends(*steps: Effect, leaves: Sequence[str] = ()) -> dict[str, Any]:
    """What north gets when south and east play the other side, or leave at once."""
    others = {name: script(Broadcast(("north",), "word", {"text": name})) for name in ("south", "east")}
    played = play({"north": script(*steps), **others}, leaves=lambda party, effect: party in leaves)
    return {**played.results, **played.aborted}


def test_messages_arrive() -> None:
    assert ends(Receive("south", "word"))["north"] == [{"text": "south"}]
    both = {"south": {"text": "south"}, "east": {"text": "east"}}
    assert ends(Gather(("south", "east"), "word", 2))["north"] == [both]


def test_who_is_late() -> None:
    assert ends(Gather(("south", "east"), "word", 1), leaves=["south"])["north"] == [{"east": {"text": "east"}}]
    aborted = ends(Gather(("south", "east"), "word", 2), leaves=["south"])["north"]
    assert aborted.culprits == ("south",) and "word" in aborted.message
    assert ends(Receive("east", "word"), leaves=["east"])["north"].culprits == ("east",)
    assert ends(Receive("south", "another word"))["north"].culprits == ("south",)


def test_all_wait_for_each_other() -> None:
    played = play({"north": script(Receive("south", "a")), "south": script(Receive("north", "b"))})
    assert set(played.aborted) == {"north", "south"}


def test_a_slow_party_is_waited_for() -> None:
    """North leaves; south waits for north, and east for south: east is patient."""
    played = play(
        {
            "east": script(Gather(("south", "north"), "b", 1)),
            "south": script(Gather(("north",), "a", 0), Send("east", "b", {"text": "late"})),
            "north": script(Send("south", "a", {})),
        },
        leaves=lambda party, effect: party == "north",
    )
    assert played.results["east"] == [{"south": {"text": "late"}}]


def test_what_was_seen() -> None:
    played = play(
        {
            "north": script(Send("south", "a", {"n": "1"}), Broadcast(("south", "east"), "b", {})),
            "south": script(Receive("north", "a")),
            "east": script(Receive("north", "b")),
        }
    )
    assert [message.number for message in played.messages] == [1, 2]
    assert [message.kind for message in played.view("east")] == ["b"]
    assert [message.kind for message in played.view("south")] == ["a", "b"]
    assert [message.kind for message in played.view("north")] == ["a", "b"]
