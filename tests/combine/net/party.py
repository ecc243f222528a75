"""A party in a process of its own, which prints its result: its arguments are MANIFEST NAME FOLDER LENGTH."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from tests.combine.net.sessions import identity, part, value

from discreet.errors import Aborted
from discreet.verbs.combine.net.driver import run
from discreet.verbs.combine.net.manifest import load


async def main(path, name, folder, length):
    session = load(path)
    try:
        total = await run(
            session,
            identity(name),
            part(session, name, length),
            Path(folder),
            brought=hashlib.sha256(value(name, length)).hexdigest(),
        )
    except Aborted as error:
        return {"aborted": error.message, "culprits": list(error.culprits)}
    return {"total": [int(item) for item in total.vector], "parties": list(total.parties)}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))))
