"""Group commit: callers that wait at the same time share one transaction, and so one write to the disk."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from discreet.errors import LedgerError

Request = TypeVar("Request")
Answer = TypeVar("Answer")

_LARGEST = 500
_PATIENCE = 0.25


class Group(Generic[Request, Answer]):
    """A thread that takes what is waiting, has it written in one go, and then answers everybody.

    Callers that were answered together come back together. So the thread waits for as many as it answered
    last, up to a quarter of the time that writing took; a lone caller is never kept waiting.
    """

    def __init__(self, work: Callable[[Sequence[Request]], Sequence[Answer | Exception]], what: str = "ledger") -> None:
        self._work = work
        self._what = what
        self._waiting: queue.SimpleQueue[tuple[Request, Future[Answer]] | None] = queue.SimpleQueue()
        self._process = os.getpid()
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Answer:
        """Wait until ``request`` has been written, or refused."""
        future: Future[Answer] = Future()
        if self._process != os.getpid():
            raise LedgerError(
                f"This {self._what} was opened in another process.",
                hint="Open it in every process that uses it, after forking.",
            )
        with self._gate:
            if self._closed:
                raise LedgerError(f"This {self._what} has been closed.", hint="Open it again.")
            self._waiting.put((request, future))
        return future.result()

    def close(self) -> bool:
        """Finish what is waiting, and stop. Whether there was something to stop, in this process."""
        if self._process != os.getpid():
            return False
        with self._gate:
            if self._closed:
                return False
            self._closed = True
        self._waiting.put(None)
        self._thread.join()
        return True

    def _run(self) -> None:
        answered, took = 0, 0.0
        while batch := self._gathered(answered, time.monotonic() + took * _PATIENCE):
            began = time.monotonic()
            self._answer(batch)
            answered, took = len(batch), time.monotonic() - began

    def _gathered(self, expected: int, deadline: float) -> list[tuple[Request, Future[Answer]]]:
        batch: list[tuple[Request, Future[Answer]]] = []
        while len(batch) < _LARGEST:
            try:
                if not batch:
                    found = self._waiting.get()
                elif len(batch) < expected and (left := deadline - time.monotonic()) > 0:
                    found = self._waiting.get(timeout=left)
                else:
                    found = self._waiting.get_nowait()
            except queue.Empty:
                break
            if found is None:
                if batch:
                    self._waiting.put(None)
                break
            batch.append(found)
        return batch

    def _answer(self, batch: Sequence[tuple[Request, Future[Answer]]]) -> None:
        try:
            answers = self._work([request for request, _ in batch])
        except BaseException as error:  # noqa: BLE001  # whatever it is, those who wait must hear of it
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
