"""Parties between hosts, on loopback: keys and a manifest in a folder, and all of them run at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.combine.net.sessions import ports

from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.manifest import dump, new_manifest
from discreet.verbs.combine.participation import take_part
from discreet.verbs.combine.session import agree_terms

PAY = {"north": 31_000, "east": 42_000, "south": 27_500}


def prepared(
    folder: Path, parties: Collection[str] = PAY, *, protocol: str = "masks", start_within: int = 20, **terms: Any
) -> Path:
    """Keys of all parties, and the manifest of a session among them, who have so many seconds to connect."""
    for name in parties:
        if not (folder / f"{name}.key").exists():
            Identity.new(name).save(folder)
    wanted = {"function": "sum", "bounds": "0:100000"} | terms
    made = agree_terms(",".join(parties), protocol, wanted.pop("function"), **wanted)
    at = [f"{name}=127.0.0.1:{port}" for name, port in zip(parties, ports(len(parties)), strict=True)]
    file = folder / "pay.toml"
    file.write_text(dump(new_manifest("pay", made, folder, at, deadline=10, start_within=start_within)))
    return file


def together(
    file: Path, brought: Mapping[str, Any] = PAY, *, verb: Callable[..., Any] = take_part, **more: Any
) -> dict[str, Any]:
    """What every party gets, or the error that it ends with."""
    with ThreadPoolExecutor(len(brought)) as threads:
        begun = {name: threads.submit(verb, file, value, name=name, **more) for name, value in brought.items()}
        return {name: one.exception() or one.result() for name, one in begun.items()}
