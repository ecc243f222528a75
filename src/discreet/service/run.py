"""The service as a process: it listens, is told to stop, finishes what it is at, and lets go.

When it is stopped (SIGTERM, Ctrl-C) it takes no new request, finishes those that are running, gives a running job some
seconds, and closes the ledger. So it does when the terminal that it was started from goes away (SIGHUP), unless it was
started to outlive that (nohup). Any other SIGHUP, as a service manager sends it, has it read its certificate again. The
log says when it began, and why it ended. If it is killed instead, nothing is lost that was paid for: an answer is in
the release store before it is given, so anyone who asks the same again gets it, for free.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import webbrowser
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager, suppress
from types import FrameType

from fastapi import FastAPI

from discreet._version import __version__
from discreet.curator.people.person import Role
from discreet.errors import BadInput, Damaged
from discreet.service.api.logs import Log, log_plainly
from discreet.service.app import make_app
from discreet.service.listen import listening
from discreet.service.operations.operations import Operations
from discreet.service.operations.permissions import HOST
from discreet.service.server import Server
from discreet.service.settings import Settings

_LOG = logging.getLogger("discreet.service")
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_GARBAGE = (20_000, 5, 10)
"""How many objects are made before those, and how often those before older ones are looked through."""
_SWITCH_SECONDS = 0.0005
"""How long a thread that plans a large question keeps others waiting each time they need the interpreter."""
_STEWARD = "steward"
"""What the first steward is called."""


def serve(desk: Operations, settings: Settings, *, ready: Callable[[str], None]) -> None:
    """Serve until told to stop; ``ready`` is called with the address once requests are answered."""
    log_plainly(log := Log())
    before = {number: signal.signal(number, _stop) for number in _STOPS if signal.getsignal(number) != signal.SIG_IGN}
    why = ""
    try:
        desk.workspace.require_files()
    except Damaged as error:  # who needs no such table can be served
        _LOG.warning("%s", error)
    try:
        with listening(settings) as door:
            app = make_app(desk, settings, log=log)
            if app.state.postgres is not None:
                app.state.postgres.listen()

            def started() -> None:
                desk.start()
                _tidy_seldom()
                address = settings.address(door.getsockname()[1])
                _LOG.info("discreet %s serves %s at %s", __version__, desk.workspace.folder.name, address)
                with suppress(OSError):  # anyone who started it may have stopped reading
                    ready(address)

            server = _Stoppable(app, settings, started, set(before))
            try:
                server.run(sockets=[door])
                why = server.told or "it ended by itself"
            except BaseException as error:
                why = server.told or type(error).__name__
                raise
    except KeyboardInterrupt:
        pass  # the way to stop it
    finally:
        gc.unfreeze()  # what is here for good goes too, or extensions would complain of what was left
        desk.close(settings.grace)
        if why:
            _LOG.info("stopped: %s", why)
        for number, handler in before.items():
            signal.signal(number, handler)


def _tidy_seldom() -> None:
    """Have Python look for garbage seldom, not among what is here for good, and switch threads often.

    No one is served meanwhile, and the trees of large questions would have it look through everything, again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_SWITCH_SECONDS)


def first_steward(desk: Operations) -> dict[str, str]:
    """If no one looks after the workspace yet, a steward is made: their name and one-time password."""
    if any(one.role is Role.STEWARD for one in desk.access.persons(HOST)):
        return {}
    try:
        return {_STEWARD: desk.access.add_person(HOST, _STEWARD, Role.STEWARD)}
    except BadInput:  # another process of the same service was faster, and tells the password
        return {}


def can_show_browser() -> bool:
    """Whether someone sits before a screen on which a browser can open."""
    screen = sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return screen and sys.stdout.isatty()


def show_browser(address: str) -> None:
    """Open a browser at an address, if there is one."""
    with suppress(webbrowser.Error):
        webbrowser.open(address)


def has_terminal() -> bool:
    """Whether the process has a terminal of its own, which it no longer has once that is gone."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


class _Stoppable(Server):
    """A server that says which signal told it to stop."""

    def __init__(self, app: FastAPI, settings: Settings, started: Callable[[], None], stops: Set[int]) -> None:
        super().__init__(app, settings, started, app.state.certificate)
        self.told = ""
        self._stops = stops
        self._at_terminal = has_terminal()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            for number in self._stops:  # more than uvicorn knows of
                signal.signal(number, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGHUP and not (self._at_terminal and not has_terminal()):
            asyncio.get_running_loop().call_soon_threadsafe(
                self._renew
            )  # a line of the log may be half written just now
            return
        self.told = self.told or signal.Signals(sig).name
        super().handle_exit(sig, frame)

    def _renew(self) -> None:
        """Read the certificate again; one that is not good does not take the place of one that is."""
        if self.certificate is None:
            _LOG.info("there is no certificate to be read again")
            return
        try:
            until = self.certificate.renew()
        except (BadInput, OSError) as error:
            _LOG.error("the certificate was not read again, the one before stays: %s", error)
        else:
            _LOG.info("the certificate was read again: it is good until %s", until.date())


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
