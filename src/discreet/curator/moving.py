"""Move the ledger and all other databases of a workspace to PostgreSQL: once, and never in use at both places.

A ledger that is charged in two places is a budget that can be spent twice. So the files are retired first, for good:
from then on no one writes to them, and who has them open is refused. Then all of them are copied to PostgreSQL, in one
transaction; the copy is checked line by line, with the receipts of all answers; and then the workspace names it. What
was charged until the files were retired is in the copy, and nothing is charged until the workspace names it.

If the copy cannot be made, the files are used again as before. The ledger is the last to be retired: after a crash
before that, what was retired is used again, since no copy can be there, and all of it begins anew. After a later crash
all files are retired, or copied as well; the same again goes on from there.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from discreet.budget.ledger import LEDGER as LEDGER_CONTENTS
from discreet.budget.ledger import POSTGRES_SCHEMA, open_postgres
from discreet.budget.postgres import Copied, copied, has_schema, require_copied
from discreet.budget.sqlite import is_retired, open_store, revive
from discreet.budget.store import Home
from discreet.curator.people.audit import Audit
from discreet.curator.people.state import FILE as STATE
from discreet.curator.people.state import SERVICE, State
from discreet.curator.streams import FILE as STREAMS
from discreet.curator.streams import STREAMS as STREAMS_CONTENTS
from discreet.curator.streams import Streams
from discreet.curator.tables import require_no_secret
from discreet.curator.workspace import LEDGER, REGISTER, Workspace, open_books, open_workspace, set_ledger
from discreet.errors import BadInput, Damaged
from discreet.releases.register import REGISTER as REGISTER_CONTENTS
from discreet.releases.register import Register
from discreet.releases.store import Store


def move_ledger(folder: str | Path, address: str) -> int:
    """Move the ledger of a workspace from its folder to the PostgreSQL database at ``address``; its number of lines.

    Services that have the workspace open answer nothing from then on, until they are started again.
    """
    workspace = open_workspace(Path(folder))
    if workspace.ledger != LEDGER:
        raise BadInput(
            f"The ledger of {workspace.folder} is in a database already.",
            hint="Move a database with its own tools, and name its new address: discreet workspace restore --to",
        )
    require_no_secret(address)
    files = [one for one in _files(workspace) if one.file.is_file()]
    begun = is_retired(workspace.folder / LEDGER)
    if not begun:
        for one in files:
            if is_retired(one.file):  # by an attempt that ended before the ledger's turn
                revive(one.file, one.contents)
        _require_sound(workspace)
    there = [one.schema for one in files if has_schema(address, one.schema, one.contents)]
    if there and not begun:
        raise BadInput(
            f"There is a schema {there[0]} in that database already.",
            hint="Name another database: a ledger cannot be added to one that is there.",
        )
    if not there:
        _copy(files, address)
    lines = _require_same(workspace, files, address)
    set_ledger(workspace.folder, address)
    return lines


def _files(workspace: Workspace) -> list[Copied]:
    """What is moved, and to where. The ledger comes last, so that anything before it can be undone."""
    schema = f"discreet_{{}}_{workspace.identity}".format
    return [
        Copied(workspace.folder / REGISTER, schema("register"), REGISTER_CONTENTS),
        Copied(workspace.folder / STATE, schema("service"), SERVICE),
        Copied(workspace.folder / STREAMS, schema("streams"), STREAMS_CONTENTS),
        Copied(workspace.folder / LEDGER, POSTGRES_SCHEMA, LEDGER_CONTENTS),
    ]


def _require_sound(workspace: Workspace) -> None:
    """An error if what would be moved is not what was written."""
    with Register(workspace.register) as register:
        register.verify()
    with open_books(workspace) as ledger:
        answers = Store(workspace.releases, ledger)
        verdict = ledger.verify(answers.receipts())
        with closing(Streams(workspace, ledger, answers)) as streams:
            streams.verify()
    if not verdict.sound:
        raise Damaged(f"The ledger failed its check: {verdict}", hint="Restore a backup.")


def _copy(files: list[Copied], address: str) -> None:
    """Retire the files and copy them; on an error before the database had to keep the copies, use the files again."""
    decided = False
    try:
        for one in files:
            if not is_retired(one.file):
                with closing(open_store(one.file, one.contents)) as store:
                    store.retire()
        with copied(address, files):
            decided = True
    except BaseException:
        if not decided:
            for one in files:
                revive(one.file, one.contents)
        raise


def _require_same(workspace: Workspace, files: list[Copied], address: str) -> int:
    """Number of lines of the ledger in the database; an error if the copies are not what is in the files."""
    with open_postgres(address, witness=workspace.folder / LEDGER) as ledger:
        verdict = ledger.verify(Store(workspace.releases, ledger).receipts())
    if not verdict.sound:
        raise Damaged(f"The ledger in the database failed its check: {verdict}", hint="Drop its schemas there.")
    for one in files:
        require_copied(address, one)
        home = Home(one.file, address, one.schema)
        if one.contents is REGISTER_CONTENTS:
            with Register(str(home)) as register:
                register.verify()
        elif one.contents is SERVICE:
            with closing(State(home.find_or_create(SERVICE))) as state:
                if not (logged := Audit(state).verify()).sound:
                    raise Damaged(f"The audit log in the database failed its check: {logged}", hint="Restore a backup.")
    return verdict.lines
