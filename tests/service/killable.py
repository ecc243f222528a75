"""A process with the service at hand, which forks one for every line that it is sent: a start costs no import."""

import os
import sys

import uvicorn

from discreet.service.app import make_app
from discreet.service.operations.operations import Operations
from discreet.service.settings import Settings


def serve(folder, port):
    with Operations(folder) as desk:
        settings = Settings(port=port, rate=10_000, burst=10_000)
        uvicorn.run(make_app(desk, settings, console=False), port=port, log_config=None, access_log=False)


def main(folder, port):
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            serve(folder, int(port))
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)


main(*sys.argv[1:])
