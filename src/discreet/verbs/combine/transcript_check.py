"""Cross-check of several parties' transcripts, which anyone can do without any secret.

Of each party only ``manifest.toml``, ``transcript.jsonl`` and, if there is any, ``evidence.json`` are read. A line has
the sender's signature over the session's digest, the message's number, kind, receivers and the digest of its body. So
nothing can be invented in another's name; and what one party says it sent, another says it got, or one of them is
named. When it settles a party signs its transcript up to there; what it leaves out of one that it did not sign shows
only where the other party's is there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.core.text import number
from discreet.errors import BadInput, Damaged, NotFound
from discreet.verbs.combine.net.evidence import check_evidence, contradict, load_evidence
from discreet.verbs.combine.net.frames import HELLO, SETTLED, Signed
from discreet.verbs.combine.net.manifest import Manifest, load
from discreet.verbs.combine.net.mesh import EVIDENCE
from discreet.verbs.combine.net.transcript_log import TRANSCRIPT, TranscriptLine, read_transcript
from discreet.verbs.combine.participation import MANIFEST
from discreet.verbs.combine.transcript import printable

_BEGAN_TWICE = (
    "it lost the folder that it kept, or ran it in two places. That is no contradiction, and no proof of a lie."
)


@dataclass(frozen=True)
class TranscriptProblem:
    """A problem, and the party at fault as far as that can be told."""

    party: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text))  # it may name what others wrote

    def __str__(self) -> str:
        return f"{self.party}: {self.text}"


@dataclass(frozen=True)
class TranscriptCheck:
    """Outcome of cross-checking transcripts."""

    parties: tuple[str, ...]
    """Parties whose transcripts were given."""
    absent: tuple[str, ...]
    """Parties whose transcripts were not."""
    messages: int
    """Number of different messages."""
    problems: tuple[TranscriptProblem, ...]
    session: str = ""
    """Digest of the manifest that they were checked against."""

    @property
    def sound(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    @property
    def culprits(self) -> tuple[str, ...]:
        """Parties with problems."""
        return tuple(dict.fromkeys(problem.party for problem in self.problems))

    def __str__(self) -> str:
        checked = f"{number(self.messages, 'message')} in the transcripts of {', '.join(self.parties)}"
        lines = [f"{checked}: all unbroken, signed and in agreement." if self.sound else f"{checked}. Problems:"]
        lines += [f"  {problem}" for problem in self.problems]
        lines.append(f"Checked against the manifest with the digest {self.session}: compare it with your own.")
        if self.absent:
            lines.append(f"Not compared, because their transcripts are missing: {', '.join(self.absent)}.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"sound": self.sound, **asdict(self), "parties": list(self.parties), "absent": list(self.absent)}


@dataclass(frozen=True)
class _PartyTranscript:
    """Transcript of one party: its own messages by number, and the others' by sender and number."""

    party: str
    sent: dict[int, Signed]
    got: dict[tuple[str, int], Signed]

    @property
    def settled(self) -> bool:
        return any(signed.header.kind == SETTLED for signed in self.sent.values())


def verify(folders: Iterable[str | Path]) -> TranscriptCheck:
    """Cross-check transcripts of one session: unbroken, signed, and the same on both sides."""
    places = [Path(folder) for folder in folders]
    if not places:
        raise BadInput("There is nothing to compare.", hint="Give the parties' folders, such as pay.*/")
    for place in places:
        for name in (MANIFEST, TRANSCRIPT):
            if not (place / name).is_file():
                raise NotFound(f"{place} has no {name}.", hint="Give the folders that parties kept, such as pay.*/")
    manifest = load(places[0] / MANIFEST)
    problems: list[TranscriptProblem] = []
    transcripts: dict[str, _PartyTranscript] = {}
    for place in places:
        one = _read_party(place, manifest, problems)
        if one is None:
            continue
        problems += _check_kept_evidence(place, one.party, manifest)
        if one.party in transcripts:
            raise BadInput(f"Two of these folders are {one.party}'s.", hint="Give each party's folder once.")
        transcripts[one.party] = one
    damaged = {problem.party for problem in problems}
    for one in transcripts.values():
        for other in transcripts.values():
            if one is not other:
                differences = reversed(_compare(manifest, one, other))
                first = {difference.party: difference for difference in differences if difference.party not in damaged}
                problems += first.values()  # of each party the first difference: the rest often follows from it
    everything = {(signed.header.of, number) for one in transcripts.values() for number, signed in one.sent.items()}
    everything |= {key for one in transcripts.values() for key in one.got}
    parties = tuple(party for party in manifest.terms.parties if party in transcripts)
    absent = tuple(party for party in manifest.terms.parties if party not in transcripts)
    return TranscriptCheck(parties, absent, len(everything), tuple(dict.fromkeys(problems)), manifest.digest.hex())


def _check_kept_evidence(place: Path, keeper: str, manifest: Manifest) -> list[TranscriptProblem]:
    """Check the evidence that a party kept; the party itself is at fault if it convicts no one."""
    if not (place / EVIDENCE).is_file():
        return []
    try:
        culprit = check_evidence(manifest, load_evidence(place / EVIDENCE))
    except (BadInput, ValueError) as error:
        return [TranscriptProblem(keeper, f"kept evidence that proves nothing: {error}")]
    return [TranscriptProblem(culprit, f"signed two messages that contradict each other; {keeper} kept the evidence.")]


def _read_party(place: Path, manifest: Manifest, problems: list[TranscriptProblem]) -> _PartyTranscript | None:
    """Read a party's transcript; what is wrong with it by itself is added to the problems."""
    called = place.resolve().name
    known = [party for party in manifest.terms.parties if called.endswith(f".{party}")]
    lines: list[TranscriptLine] = []
    wrong = ""
    if load(place / MANIFEST).digest != manifest.digest:
        problems.append(
            TranscriptProblem(known[0] if known else called, "is of another session than the first folder.")
        )
        return None
    try:
        lines.extend(read_transcript(place, manifest.digest))
    except Damaged as error:
        wrong = error.message
    mine = next((line.signed.header.of for line in lines if line.sent), known[0] if known else called)
    if mine not in manifest.terms.parties:
        raise BadInput(f"It is unclear which party's folder {place} is.", hint="Name it as it was: SESSION.NAME")
    if wrong:
        problems.append(TranscriptProblem(mine, wrong))
    transcript = _PartyTranscript(mine, {}, {})
    for line in lines:
        if problem := _check_line(line, mine, manifest):
            problems.append(TranscriptProblem(mine, problem))
        elif line.sent:
            transcript.sent[line.number] = line.signed
        else:
            transcript.got[line.signed.header.of, line.number] = line.signed
    return transcript


def _check_line(line: TranscriptLine, mine: str, manifest: Manifest) -> str:
    """Describe what is wrong with a line by itself; empty if it is sound."""
    try:
        header = line.signed.header
        line.signed.check(manifest)
    except BadInput as error:
        return f"kept a {line.kind} that is invalid: {error.message}"
    summary = (header.number, header.kind, header.digest.hex(), header.size)
    if summary != (line.number, line.kind, line.digest, line.size) or (header.of == mine) != line.sent:
        return f"recorded message {line.number} ({line.kind}) differently from what was signed."
    return ""


def _hellos(name: str, *transcripts: _PartyTranscript) -> list[Signed]:
    """Hellos of a party, as far as some transcripts have them."""
    hellos = [one.sent.get(0) if one.party == name else one.got.get((name, 0)) for one in transcripts]
    return [hello for hello in hellos if hello is not None and hello.header.kind == HELLO]


def _compare(manifest: Manifest, one: _PartyTranscript, other: _PartyTranscript) -> list[TranscriptProblem]:
    """Compare what one party says it sent with what the other says it received."""
    twice = {name for name in manifest.terms.parties if len({hello.raw for hello in _hellos(name, one, other)}) > 1}
    problems = [
        TranscriptProblem(name, f"started the session twice, with two keys: {_BEGAN_TWICE}") for name in sorted(twice)
    ]
    if one.party in twice:
        return problems
    for key, got in other.got.items():
        if key[0] != one.party:
            continue
        sent = one.sent.get(key[1])
        if sent is None:
            problems.append(
                TranscriptProblem(one.party, f"left out message {key[1]} ({got.header.kind}), which {other.party} has.")
            )
        elif sent.raw != got.raw:
            problems.append(
                TranscriptProblem(one.party, f"signed two different messages {key[1]}: {other.party} has the other.")
            )
    everybody = one.settled and other.settled
    for count, sent in one.sent.items():
        header = sent.header
        receivers = header.to or tuple(party.name for party in manifest.others(one.party))
        late = manifest.terms.threshold and header.kind == SETTLED
        if everybody and other.party in receivers and not late and (one.party, count) not in other.got:
            text = f"left out message {count} ({header.kind}) of {one.party}, with which the session ended."
            problems.append(TranscriptProblem(other.party, text))
    for first in one.got.values():
        if first.header.of in twice:
            continue
        second = other.got.get((first.header.of, first.header.number))
        if second is not None and second.raw != first.raw and contradict(manifest, first.header, second.header):
            text = f"signed two different messages {first.header.number}, for {one.party} and for {other.party}."
            problems.append(TranscriptProblem(first.header.of, text))
    return problems
