"""How a session goes on, ends and is taken up again, on a network in memory."""

import asyncio
import hashlib
import json
from dataclasses import replace

import pytest
from tests.combine.faults.network import LATENCY, Connector, Network, on_clock, packed, read
from tests.combine.net.sessions import NAMES, identity, manifest, part, total
from tests.loops import run as run_loop

from discreet.errors import Aborted, BadInput, Damaged
from discreet.verbs.combine.effects import Broadcast, Receive, Send
from discreet.verbs.combine.net.driver import run
from discreet.verbs.combine.net.frames import decode_body, encode_body, sign
from discreet.verbs.combine.net.journal import JOURNAL, SECRET, Journal
from discreet.verbs.combine.net.transcript_log import SEEN, TRANSCRIPT
from discreet.verbs.combine.net.transcript_log import read_transcript as lines
from discreet.verbs.combine.protocols.protocol import Total

PLACES = [f"127.0.0.1:{port}" for port in range(4001, 4005)]
SESSION = manifest(at=PLACES, deadline=4)


def played(folder, session=SESSION, names=NAMES, *, harm=None, stop=None, latency=None):
    """All of these parties play; how it ended for each. ``stop`` are those who are killed when all are there."""
    also = {"harm": harm} if harm else {}
    also |= {"latency": latency} if latency else {}

    async def play():
        network = Network(session, folder, **also)
        for name in names:
            network.start(name)
        if stop:
            await asyncio.sleep(3.5 * LATENCY)
            await network.kill(stop)
        return await network.outcomes()

    return on_clock(play)


def all_right(outcomes, names=NAMES):
    assert set(outcomes) == set(names)
    for outcome in outcomes.values():
        assert isinstance(outcome, Total), repr(outcome)
        assert (outcome.vector == total(names, 2)).all()


def test_done_and_run_again_it_gives_the_same_without_anybody(tmp_path):
    all_right(played(tmp_path))
    before = (tmp_path / "north" / TRANSCRIPT).read_bytes()
    again = played(tmp_path, names=("north",))["north"]
    assert (again.vector == total(NAMES, 2)).all()
    assert (tmp_path / "north" / TRANSCRIPT).read_bytes() == before


def test_another_input_another_manifest_or_another_party_is_refused_on_resuming(tmp_path):
    all_right(played(tmp_path))
    other = replace(SESSION, nonce="another nonce, as long")
    for session, name, brought, said in (
        (SESSION, "north", "other", "another input"),
        (other, "north", "None", "another manifest"),
        (SESSION, "south", "None", "another party"),
    ):
        with pytest.raises(BadInput, match=said):
            Journal(tmp_path / "north", session, name, brought)


def test_another_input_has_other_draws_and_may_be_brought_while_nobody_was_met(tmp_path):
    first = Journal(tmp_path, SESSION, "north", "one")
    first.close()
    second = Journal(tmp_path, SESSION, "north", "two")
    second.close()
    assert first.key == second.key
    assert first.secret != second.secret
    again = Journal(tmp_path, SESSION, "north", "two")
    again.record_late(1, ("south",))
    again.flush()
    again.close()
    assert again.secret == second.secret
    with pytest.raises(BadInput, match="another input"):
        Journal(tmp_path, SESSION, "north", "one")


def test_a_secret_without_its_journal_is_refused(tmp_path):
    Journal(tmp_path, SESSION, "north", "one").close()
    (tmp_path / JOURNAL).unlink()
    with pytest.raises(Damaged, match="lost its journal"):
        Journal(tmp_path, SESSION, "north", "one")


def test_a_crash_while_the_journal_is_begun_loses_nothing(tmp_path):
    first = Journal(tmp_path, SESSION, "north", "one")
    first.close()
    (tmp_path / SECRET).rename(tmp_path / "secret.new")
    again = Journal(tmp_path, SESSION, "north", "one")
    again.close()
    assert again.secret == first.secret
    (tmp_path / SECRET).rename(tmp_path / "secret.new")
    (tmp_path / JOURNAL).write_bytes(b"torn")
    Journal(tmp_path, SESSION, "north", "one").close()


def test_one_process_at_a_time(tmp_path):
    first = Journal(tmp_path, SESSION, "north", "")
    with pytest.raises(BadInput, match="Another process"):
        Journal(tmp_path, SESSION, "north", "")
    first.close()
    Journal(tmp_path, SESSION, "north", "").close()


def test_a_lost_secret_is_said(tmp_path):
    Journal(tmp_path, SESSION, "north", "").close()
    (tmp_path / SECRET).unlink()
    with pytest.raises(Damaged, match="lost its secret"):
        Journal(tmp_path, SESSION, "north", "")


@pytest.mark.parametrize("cut", [1, 5, 60, 200, 500])
def test_a_record_that_a_crash_left_unfinished_is_asked_for_again(cut, tmp_path):
    """South is killed on the way, and the end of its journal is torn off: it goes on all the same."""

    async def play():
        network = Network(SESSION, tmp_path)
        for name in NAMES:
            network.start(name)
        await asyncio.sleep(3.5 * LATENCY)
        await network.kill("south")
        journal = tmp_path / "south" / JOURNAL
        data = journal.read_bytes()
        assert len(data) > 1000
        journal.write_bytes(data[:-cut])
        network.start("south")
        return await network.outcomes()

    all_right(on_clock(play))


def test_a_session_that_ended_stays_ended(tmp_path):
    outcomes = played(tmp_path, stop="south")
    assert outcomes["north"].culprits == ("south",)
    again = played(tmp_path, names=("north",))["north"]
    assert isinstance(again, Aborted)
    assert again.message == outcomes["north"].message
    assert again.culprits == ("south",)


def test_who_waits_for_a_third_is_not_blamed(tmp_path):
    """On a ring south is dead; west waits for east, which waits for south: everybody names south."""
    outcomes = played(tmp_path, replace(SESSION, terms=replace(SESSION.terms, protocol="ring")), stop="south")
    assert {outcome.culprits for outcome in outcomes.values()} == {("south",)}


def test_nobody_comes(tmp_path):
    outcomes = played(tmp_path, names=NAMES[:3])
    for outcome in outcomes.values():
        assert outcome.culprits == ("west",)
        assert "within 20 seconds" in outcome.message
        assert "Run it again" in outcome.hint
    all_right(played(tmp_path))


def test_a_different_manifest_is_told_by_name(tmp_path):
    other = replace(SESSION, nonce="another nonce, as long")

    async def play():
        network = Network(SESSION, tmp_path)
        for name in NAMES:
            network.session = other if name == "east" else SESSION
            network.start(name)
        return await network.outcomes()

    for name, outcome in on_clock(play).items():
        assert isinstance(outcome, Aborted)
        if name != "east":
            assert "east" in outcome.culprits
            assert "another manifest" in outcome.message
            assert "rules" not in outcome.message


def harmed(kind, change):
    """Do something to what north sends to south of a kind."""

    def harm(of, to, data):
        found = read(data)
        return change(data, *found) if (of, to) == ("north", "south") and found and found[1].kind == kind else [data]

    return harm


def unsigned(data, place, header, signature, body):
    return [data[: -len(body) - 64] + bytes(64) + body]


def oversized(data, place, header, signature, body):
    raw = replace(header, size=10**12).pack()
    return [data[:5] + len(raw).to_bytes(4, "big") + raw + signature]


def of_another_session(data, place, header, signature, body):
    return [packed(place, sign(identity("north"), replace(header, session=bytes(32)), body))]


def for_others(data, place, header, signature, body):
    return [packed(place, sign(identity("north"), replace(header, to=("east",)), body))]


def for_some(data, place, header, signature, body):
    return [packed(place, sign(identity("north"), replace(header, to=("south",), number=40), body))]


def out_of_place(data, place, header, signature, body):
    return [packed(place, sign(identity("north"), replace(header, place=header.place + 1), body))]


def unsalted(data, place, header, signature, body):
    said = decode_body(body, 10_000)
    del said["salt"]
    return [packed(place, sign(identity("north"), header, encode_body(said, 10_000)))]


def no_body(data, place, header, signature, body):
    return [packed(place, sign(identity("north"), header, b"\x05nonsense"))]


def noise(data, place, header, signature, body):
    return [b"\x77" * 100]


def twice_differently(data, place, header, signature, body):
    return [data, packed(place, sign(identity("north"), replace(header, kind="sum 1/other"), body))]


def again_as_new(data, place, header, signature, body):
    return [data, packed(place + 1, sign(identity("north"), replace(header, number=header.number + 7), body))]


@pytest.mark.parametrize(
    "kind, change, said",
    [
        ("settled", unsigned, "not signed by north"),
        ("hello", unsigned, "not signed by north"),
        ("sum 1/piece", unsigned, "not signed by north"),
        ("sum 1/part", unsigned, "not signed by north"),
        ("sum 1/part", for_some, "encrypted for one, or sent to all"),
        ("sum 1/part", out_of_place, "left out something"),
        ("sum 1/part", unsalted, "no salt"),
        ("sum 1/part", oversized, "larger than the session allows"),
        ("sum 1/part", of_another_session, "another manifest"),
        ("sum 1/part", for_others, "addressed to others"),
        ("sum 1/part", no_body, "north broke the rules"),
        ("sum 1/part", noise, "received data is not a message"),
        ("sum 1/part", twice_differently, "contradict each other"),
        ("sum 1/part", again_as_new, "contradict each other"),
        ("hello", oversized, "larger than the session allows"),
    ],
)
def test_who_breaks_the_rules_is_named(kind, change, said, tmp_path):
    outcomes = played(tmp_path, harm=harmed(kind, change))
    assert said in outcomes["south"].message
    assert outcomes["south"].culprits == ("north",)
    for name in ("east", "west"):
        if isinstance(outcomes[name], Total):  # it had everything before south found out
            assert (outcomes[name].vector == total(NAMES, 2)).all()
        elif outcomes[name].culprits != ("north",):  # without proof nobody is named
            assert outcomes[name].culprits == ()
            assert "south ended the session. It says: north" in outcomes[name].message


def test_who_gives_no_key_to_seal_with_is_named(tmp_path):
    def harm(of, to, data):
        found = read(data)
        if of != "north" or not found or found[1].kind != "hello":
            return [data]
        said = decode_body(found[3], 10_000) | {"seal": bytes(32)}
        return [packed(found[0], sign(identity("north"), found[1], encode_body(said, 10_000)))]

    outcomes = played(tmp_path, harm=harm)
    for name in NAMES[1:]:
        assert isinstance(outcomes[name], Aborted)
        assert set(outcomes[name].culprits) <= {"north"}
    assert any("sent as its encryption key is not a key" in outcomes[name].message for name in NAMES[1:])


def together(folder, session, north, *, harm=None):
    """North plays something else than it should, the others as they should; how it ended for each."""

    async def play():
        network = Network(session, folder, **({"harm": harm} if harm else {}))
        for name in session.terms.parties[1:]:
            network.start(name)
        network.connector["north"] = Connector(network, "north")
        work = run(session, identity("north"), north, folder / "north", connector=network.connector["north"])
        network.tasks["north"] = asyncio.get_running_loop().create_task(work)
        return await network.outcomes()

    return on_clock(play)


def test_what_must_be_told_to_all_may_not_be_sent_to_each(tmp_path):
    def lying(crypto):
        honest, given = part(SESSION, "north", 2)(crypto), None
        while True:
            effect = honest.send(given)
            given = None
            if isinstance(effect, Broadcast):
                for name in effect.to:
                    yield Send(name, effect.kind, effect.body)
            else:
                given = yield effect

    outcomes = together(tmp_path, SESSION, lying)
    for name in NAMES[1:]:
        assert isinstance(outcomes[name], Aborted)
        assert set(outcomes[name].culprits) <= {"north"}
    assert any("must go to all parties" in outcome.message for outcome in outcomes.values())


def test_an_accusation_without_proof_is_not_passed_on(tmp_path):
    signed = {}

    def harm(of, to, data):
        found = read(data)
        if found and found[1].kind == "abort":
            signed[of] = decode_body(found[3], 10**6)["culprits"]
        return [data]

    def lying(crypto):
        raise Aborted("\x1b[2J send your key" + 10_000 * "x", culprits=("east", "nobody at all"))
        yield

    outcomes = together(tmp_path, SESSION, lying, harm=harm)
    for name in NAMES[1:]:
        assert outcomes[name].culprits == ()
        assert "north ended the session. It says:" in outcomes[name].message
        assert outcomes[name].message.isprintable()
        assert len(outcomes[name].message) < 600
        assert signed[name] == ()


def test_a_witness_that_says_it_heard_something_else_is_named_unless_it_proves_it(tmp_path):
    """South says that it heard something else of west: it lies, and west is not named."""

    def harm(of, to, data):
        found = read(data)
        if of != "south" or not found or found[1].kind != "settled":
            return [data]
        said = decode_body(found[3], 10**6)
        heard = said["heard"][:-1] + bytes([said["heard"][-1] ^ 1])
        return [packed(found[0], sign(identity("south"), found[1], encode_body(said | {"heard": heard}, 10**6)))]

    outcomes = played(tmp_path, harm=harm)
    for name in ("north", "east", "west"):
        assert outcomes[name].culprits == ("south",)


def test_a_message_that_only_one_was_told_convicts_its_sender(tmp_path):
    """North tells east something more, with a signature, and everything after it one place later."""
    extra = []

    def harm(of, to, data):
        found = read(data)
        if (of, to) != ("north", "east") or not found or found[1].kind in ("hello", "abort"):
            return [data]
        place, header, _, body = found
        if header.sealed:
            return [data]
        if not extra:
            extra.append(packed(place, sign(identity("north"), replace(header, number=90, kind="sum 1/more"), body)))
        later = packed(place + 1, sign(identity("north"), replace(header, place=header.place + 1), body))
        return [extra[0], later] if header.kind == "sum 1/part" else [later]

    outcomes = played(tmp_path, harm=harm)
    for name in NAMES[1:]:
        assert outcomes[name].culprits == ("north",)
        assert "contradict each other" in outcomes[name].message


@pytest.mark.slow
def test_many_parties_of_which_some_may_leave(tmp_path):
    names = tuple(f"p{place}" for place in range(66))
    places = [f"127.0.0.1:{4000 + place}" for place in range(66)]
    all_right(played(tmp_path, manifest(names, at=places, text="masks", threshold=65, deadline=4), names), names)


def test_the_same_twice_is_the_same(tmp_path):
    all_right(played(tmp_path, harm=lambda of, to, data: [data, data] if read(data) else [data]))


def test_what_would_be_said_differently_after_a_crash_is_not_said(tmp_path):
    """A play that does not repeat itself cannot go on."""
    session = manifest(("north", "south"), at=PLACES[:2])
    said = iter("ab")

    def play(crypto):
        yield Broadcast(("south",), "word", {"text": next(said)})
        yield Receive("south", "never")

    async def twice():
        network = Network(session, tmp_path)
        network.start("south")
        for ends in (False, True):
            network.connector["north"] = Connector(network, "north")
            work = run(session, identity("north"), play, tmp_path / "north", connector=network.connector["north"])
            network.tasks["north"] = asyncio.get_running_loop().create_task(work)
            if not ends:
                await asyncio.sleep(10 * LATENCY)
                await network.kill("north")
        return await network.outcomes()

    assert "now differ from the one before" in on_clock(twice)["north"].message


def test_no_protocol_may_speak_for_the_driver(tmp_path):
    session = manifest(("north", "south"), at=PLACES[:2])

    def play(crypto):
        yield Send("south", "abort", {"text": "x"})

    async def once():
        network = Network(session, tmp_path)
        network.start("south")
        network.connector["north"] = Connector(network, "north")
        return await asyncio.gather(
            run(session, identity("north"), play, tmp_path / "north", connector=network.connector["north"]),
            network.tasks["south"],
            return_exceptions=True,
        )

    north, south = on_clock(once)
    assert isinstance(north, BadInput)
    assert south.culprits == ("north",)


def test_a_changed_transcript_is_noticed(tmp_path):
    all_right(played(tmp_path))
    path = tmp_path / "north" / TRANSCRIPT
    whole = path.read_text()
    assert (tmp_path / "north" / SEEN).stat().st_mode & 0o777 == 0o600
    for changed in (
        whole.replace('"kind": "settled"', '"kind": "settlex"', 1),
        "".join(whole.splitlines(True)[1:]),
        "{}\n",
    ):
        path.write_text(changed)
        with pytest.raises(Damaged):
            list(lines(tmp_path / "north", SESSION.digest))


def test_a_transcript_that_was_made_anew_is_noticed(tmp_path):
    """Of what came before the end was signed, a line is taken out, and the chain is computed again."""
    all_right(played(tmp_path))
    path = tmp_path / "north" / TRANSCRIPT
    chain, made = SESSION.digest.hex(), []
    for place, text in enumerate(path.read_text().splitlines()):
        if place != 3:
            body = text.rpartition(', "chain": "')[0]
            body = body.replace(json.loads(text)["previous"], chain)
            chain = hashlib.sha256(body.encode()).hexdigest()
            made.append(f'{body}, "chain": "{chain}"}}\n')
    path.write_text("".join(made))
    with pytest.raises(Damaged, match="not the one that was signed"):
        list(lines(tmp_path / "north", SESSION.digest))


def test_a_transcript_has_no_digest_of_what_can_be_guessed(tmp_path):
    session = replace(SESSION, terms=replace(SESSION.terms, protocol="ring"))
    outcomes = played(tmp_path, session)
    guess = {"vector": outcomes["south"].vector}
    for line in lines(tmp_path / "south", session.digest):
        for widths in ({}, {2: 64}):
            assert line.digest != hashlib.sha256(encode_body(guess, 10_000, widths)).hexdigest()


def test_progress_says_who_is_there(tmp_path):
    session = manifest(("north", "south"))
    told = []

    async def play():
        return await asyncio.gather(
            run(session, identity("north"), part(session, "north"), tmp_path / "north", progress=told.append),
            run(session, identity("south"), part(session, "south"), tmp_path / "south"),
        )

    run_loop(play())
    assert told[0].step == "parties"
    assert told[0].waiting == ("south",)
    assert any(one.there == ("south",) for one in told)
