"""Transcripts of several parties, cross-checked: anybody who is given them can do it, and needs nobody's secret.

Of each party only ``manifest.toml``, ``transcript.jsonl`` and, if there is any, ``evidence.json`` are read. A line has
the sender's signature over the session's digest, the message's number, kind, receivers and the digest of its body. So
nothing can be invented in another's name; and what one party says it sent, another says it got, or one of them is
named. When it settles a party signs its transcript up to there; what it leaves out of one that it did not sign shows
only where the other party's is there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.text import number
from discreet.errors import BadInput, Damaged, NotFound
from discreet.verbs.combine.net.evidence import check_evidence, contradict, load_evidence
from discreet.verbs.combine.net.frames import HELLO, SETTLED, Signed
from discreet.verbs.combine.net.manifest import Manifest, load
from discreet.verbs.combine.net.mesh import EVIDENCE
from discreet.verbs.combine.net.transcript_log import TRANSCRIPT, Line, read
from discreet.verbs.combine.running import MANIFEST
from discreet.verbs.combine.transcript import printable

_TWICE = "it lost the folder that it kept, or ran it in two places. That is no contradiction, and no proof of a lie."


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, and whose fault it is as far as that can be told."""

    party: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text))  # it may name what others wrote

    def __str__(self) -> str:
        return f"{self.party}: {self.text}"


@dataclass(frozen=True)
class Checked:
    """What was found in some parties' transcripts."""

    parties: tuple[str, ...]
    """Whose transcripts were there."""
    absent: tuple[str, ...]
    """Whose were not."""
    messages: int
    """How many different messages there were."""
    problems: tuple[Problem, ...]
    session: str = ""
    """The digest of the manifest that they were checked against."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def culprits(self) -> tuple[str, ...]:
        """Who differs."""
        return tuple(dict.fromkeys(problem.party for problem in self.problems))

    def __str__(self) -> str:
        said = f"{number(self.messages, 'message')} in the transcripts of {', '.join(self.parties)}"
        lines = [f"{said}: all unbroken, signed and in agreement." if self.sound else f"{said}. Something is wrong:"]
        lines += [f"  {problem}" for problem in self.problems]
        lines.append(f"Checked against the manifest with the digest {self.session}: compare it with your own.")
        if self.absent:
            lines.append(f"Not compared, for lack of a transcript: {', '.join(self.absent)}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "sound": self.sound,
            "session": self.session,
            "parties": list(self.parties),
            "absent": list(self.absent),
            "messages": self.messages,
            "problems": [{"party": problem.party, "text": problem.text} for problem in self.problems],
        }


@dataclass(frozen=True)
class _Kept:
    """What one party kept: its own messages by number, and the others' by sender and number."""

    party: str
    sent: dict[int, Signed]
    got: dict[tuple[str, int], Signed]

    @property
    def settled(self) -> bool:
        """Whether it came to the end."""
        return any(signed.header.kind == SETTLED for signed in self.sent.values())


def verify(folders: Iterable[str | Path]) -> Checked:
    """Cross-check what parties kept of one session: whether it is unbroken, signed, and the same on both sides."""
    places = [Path(folder) for folder in folders]
    if not places:
        raise BadInput("There is nothing to compare.", hint="Give the parties' folders, such as pay.*/")
    for place in places:
        for name in (MANIFEST, TRANSCRIPT):
            if not (place / name).is_file():
                raise NotFound(f"{place} has no {name}.", hint="Give the folders that parties kept, such as pay.*/")
    manifest = load(places[0] / MANIFEST)
    problems: list[Problem] = []
    kept: dict[str, _Kept] = {}
    for place in places:
        one = _read(place, manifest, problems)
        if one is None:
            continue
        problems += _convicted(place, one.party, manifest)
        if one.party in kept:
            raise BadInput(f"Two of these folders are {one.party}'s.", hint="Give each party's folder once.")
        kept[one.party] = one
    damaged = {problem.party for problem in problems}
    for one in kept.values():
        for other in kept.values():
            if one is not other:
                differences = reversed(_compared(manifest, one, other))
                first = {found.party: found for found in differences if found.party not in damaged}
                problems += first.values()  # of each party the first difference: the rest often follows from it
    everything = {(signed.header.of, number) for one in kept.values() for number, signed in one.sent.items()}
    everything |= {key for one in kept.values() for key in one.got}
    parties = tuple(party for party in manifest.terms.parties if party in kept)
    absent = tuple(party for party in manifest.terms.parties if party not in kept)
    return Checked(parties, absent, len(everything), tuple(dict.fromkeys(problems)), manifest.digest.hex())


def _convicted(place: Path, keeper: str, manifest: Manifest) -> list[Problem]:
    """Who is convicted by the evidence that a party kept; the party itself, if that convicts nobody."""
    if not (place / EVIDENCE).is_file():
        return []
    try:
        culprit = check_evidence(manifest, load_evidence(place / EVIDENCE))
    except (BadInput, ValueError) as error:
        return [Problem(keeper, f"kept evidence that convicts nobody: {error}")]
    return [Problem(culprit, f"signed two messages that contradict each other; {keeper} kept the evidence.")]


def _read(place: Path, manifest: Manifest, problems: list[Problem]) -> _Kept | None:
    """What a party kept of this session; what is wrong with it by itself is added to the problems."""
    called = place.resolve().name
    known = [party for party in manifest.terms.parties if called.endswith(f".{party}")]
    lines: list[Line] = []
    wrong = ""
    if load(place / MANIFEST).digest != manifest.digest:
        problems.append(Problem(known[0] if known else called, "is of another session than the first folder."))
        return None
    try:
        lines.extend(read(place, manifest.digest))
    except Damaged as error:
        wrong = error.message
    mine = next((line.signed.header.of for line in lines if line.sent), known[0] if known else called)
    if mine not in manifest.terms.parties:
        raise BadInput(f"Whose folder {place} is cannot be told.", hint="Name it as it was: SESSION.NAME")
    if wrong:
        problems.append(Problem(mine, wrong))
    kept = _Kept(mine, {}, {})
    for line in lines:
        if problem := _wrong(line, mine, manifest):
            problems.append(Problem(mine, problem))
        elif line.sent:
            kept.sent[line.number] = line.signed
        else:
            kept.got[line.signed.header.of, line.number] = line.signed
    return kept


def _wrong(line: Line, mine: str, manifest: Manifest) -> str:
    """What is wrong with a line by itself; nothing if it is sound."""
    try:
        header = line.signed.header
        line.signed.check(manifest)
    except BadInput as error:
        return f"kept a {line.kind} that does not hold: {error.message}"
    said = (header.number, header.kind, header.digest.hex(), header.size)
    if said != (line.number, line.kind, line.digest, line.size) or (header.of == mine) != line.sent:
        return f"wrote down of message {line.number} ({line.kind}) something else than was signed."
    return ""


def _hellos(name: str, *kept: _Kept) -> list[Signed]:
    """With which hellos a party began, as far as some know."""
    found = [one.sent.get(0) if one.party == name else one.got.get((name, 0)) for one in kept]
    return [hello for hello in found if hello is not None and hello.header.kind == HELLO]


def _compared(manifest: Manifest, one: _Kept, other: _Kept) -> list[Problem]:
    """What one says it sent beside what the other says it got of it."""
    twice = {name for name in manifest.terms.parties if len({hello.raw for hello in _hellos(name, one, other)}) > 1}
    found = [Problem(name, f"began the session twice, with other keys: {_TWICE}") for name in sorted(twice)]
    if one.party in twice:
        return found
    for key, got in other.got.items():
        if key[0] != one.party:
            continue
        sent = one.sent.get(key[1])
        if sent is None:
            found.append(Problem(one.party, f"left out message {key[1]} ({got.header.kind}), which {other.party} has."))
        elif sent.raw != got.raw:
            found.append(Problem(one.party, f"signed two different messages {key[1]}: {other.party} has the other."))
    everybody = one.settled and other.settled
    for count, sent in one.sent.items():
        header = sent.header
        told = header.to or tuple(party.name for party in manifest.others(one.party))
        late = manifest.terms.threshold and header.kind == SETTLED
        if everybody and other.party in told and not late and (one.party, count) not in other.got:
            text = f"left out message {count} ({header.kind}) of {one.party}, with which the session ended."
            found.append(Problem(other.party, text))
    for first in one.got.values():
        if first.header.of in twice:
            continue
        second = other.got.get((first.header.of, first.header.number))
        if second is not None and second.raw != first.raw and contradict(manifest, first.header, second.header):
            text = f"signed two different messages {first.header.number}, for {one.party} and for {other.party}."
            found.append(Problem(first.header.of, text))
    return found
