"""Storage of facts: what a release tells, and the atom of everybody, as bytes for the register."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.programs import Numbers
from discreet.errors import Damaged
from discreet.releases.atoms import People, Space
from discreet.releases.records import Told, array_of


def dump_people(spaces: Mapping[str, Space]) -> bytes:
    """The people of all spaces of a population."""
    parts = {}
    for name, space in spaces.items():
        people = space.people
        columns: dict[str, Any] = {"key": people.key, "unit": people.unit, "copies": people.copies, "atom": people.atom}
        columns |= {f"value {name}": texts.dictionary_encode() for name, texts in people.values.items()}
        columns |= {f"amount {name}": figures for name, figures in people.amounts.items()}
        sink = io.BytesIO()
        pq.write_table(pa.table(columns), sink, compression="zstd")
        parts[name] = np.frombuffer(sink.getvalue(), np.uint8)
    parts["spaces"] = _text({name: list(space.by) for name, space in spaces.items()})
    return _packed(parts)


def load_people(data: bytes) -> dict[str, Space]:
    """What ``dump_people`` wrote, without what was told."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as parts:
            spaces = {}
            for name, by in _read(parts["spaces"]).items():
                table = pq.read_table(io.BytesIO(parts[name].tobytes()))
                columns = {column: array_of(table, column) for column in table.column_names}
                people = People(
                    columns["key"],
                    columns["unit"],
                    columns["copies"].to_numpy(),
                    columns["atom"].to_numpy(),
                    {one[6:]: columns[one] for one in columns if one.startswith("value ")},
                    {
                        one[7:]: columns[one].to_numpy(zero_copy_only=False)
                        for one in columns
                        if one.startswith("amount ")
                    },
                )
                spaces[name] = Space(people, (), tuple(by))
    except (KeyError, ValueError, OSError, pa.ArrowException) as error:
        raise _damaged() from error
    return spaces


_ARRAYS = ("group", "leaf", "starts", "places", "low", "high", "possible")


def dump_told(told: Mapping[str, Sequence[Told]], parents: Mapping[str, Numbers]) -> bytes:
    """What a release tells in each space, with the atom that each atom was part of before it."""
    parts: dict[str, Any] = {}
    listed: list[dict[str, Any]] = []
    for space, items in told.items():
        parts[f"parents {space}"] = parents[space]
        for one in items:
            number = len(listed)
            parts |= {f"{name} {number}": getattr(one, name) for name in _ARRAYS}
            listed.append(
                {
                    "space": space,
                    "tells": list(one.tells),
                    "domain": [list(row) for row in one.domain],
                    "leaves": one.leaves,
                    "measure": one.measure,
                    "nonnegative": one.nonnegative,
                    "share": one.share,
                }
            )
    parts["told"] = _text(listed)
    return _packed(parts)


def load_told(data: bytes, number: int, title: str) -> tuple[dict[str, list[Told]], dict[str, Numbers]]:
    """What ``dump_told`` wrote."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as parts:
            told: dict[str, list[Told]] = {}
            for place, one in enumerate(_read(parts["told"])):
                arrays = {name: parts[f"{name} {place}"] for name in _ARRAYS}
                told.setdefault(one["space"], []).append(
                    Told(
                        number,
                        title,
                        tells=tuple(one["tells"]),
                        domain=tuple(map(tuple, one["domain"])),
                        leaves=one["leaves"],
                        measure=one["measure"],
                        nonnegative=one["nonnegative"],
                        share=one["share"],
                        **arrays,
                    )
                )
            return told, {name[8:]: parts[name] for name in parts.files if name.startswith("parents ")}
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise _damaged() from error


def _packed(parts: Mapping[str, Any]) -> bytes:
    sink = io.BytesIO()
    np.savez_compressed(sink, **parts)
    return sink.getvalue()


def _text(value: object) -> Numbers:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _read(part: Numbers) -> Any:
    return json.loads(part.tobytes())


def _damaged() -> Damaged:
    return Damaged("What the register says of people cannot be read.", hint="Put the newest copy of the register back.")
