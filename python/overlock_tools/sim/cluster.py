# SPDX-License-Identifier: MIT
"""Many runs at once: on this machine, or by Dask on a cluster."""

import itertools
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overlock_tools.core.system.errors import Fail
from overlock_tools.sim import runner

if TYPE_CHECKING:
    from distributed import Client, Future

# Runs that wait at the scheduler for each worker: enough that none idles, and a sweep of any size
# costs the scheduler the same.
AHEAD = 4
CONNECT_SECONDS = 10
LOOK_EVERY_SECONDS = 0.1


@dataclass(frozen=True)
class Task:
    key: str
    told: str


@dataclass(frozen=True)
class Terms:
    program: str  # digest of overlock-sim
    jobs: int
    cluster: str | None = None
    limit: float = 0.0  # seconds of each run; 0: none


Done = Callable[[str, dict[str, Any]], None]  # a task's key, and its answer
Ending = Callable[[], bool]


def run(tasks: Sequence[Task], terms: Terms, done: Done, asked_to_end: Ending) -> None:
    session = uuid.uuid4().hex
    (_by_dask if terms.cluster else _here)(tasks, terms, session, done, asked_to_end)


def _here(
    tasks: Sequence[Task], terms: Terms, session: str, done: Done, asked_to_end: Ending
) -> None:
    """In threads, which only wait for programs, so that we hear of Ctrl-C meanwhile."""
    left = iter(tasks)
    running: dict[futures.Future[dict[str, Any]], Task] = {}

    def submit(number: int) -> None:
        for task in itertools.islice(left, number):
            asked = (task.told, terms.program, session, terms.limit)
            running[pool.submit(runner.simulate, *asked)] = task

    with futures.ThreadPoolExecutor(terms.jobs) as pool, stopping(session):
        submit(terms.jobs)
        while running and not asked_to_end():
            ended = futures.wait(running, LOOK_EVERY_SECONDS, futures.FIRST_COMPLETED).done
            for future in ended:
                done(running.pop(future).key, future.result())
            submit(len(ended))


@contextmanager
def stopping(session: str) -> Iterator[None]:
    """What still runs in the end is not waited for."""
    try:
        yield
    finally:
        runner.stop(session)


def _by_dask(
    tasks: Sequence[Task], terms: Terms, session: str, done: Done, asked_to_end: Ending
) -> None:
    with _client(terms) as client:
        left = iter(tasks)
        running: dict[Future, Task] = {}

        def submit(number: int) -> None:
            for task in itertools.islice(left, number):
                future = client.submit(
                    runner.simulate,
                    *(task.told, terms.program, session, terms.limit),
                    key=f"overlock-sim-{session}-{task.key}",
                    pure=False,
                )
                running[future] = task

        submit(AHEAD * max(1, sum(client.ncores().values())))
        while running and not asked_to_end():
            for future in _finished(running):
                task = running.pop(future)
                done(task.key, _answer(future))
                submit(1)
        if running:
            with suppress(Exception):  # the cluster may be gone: then nothing runs there
                client.cancel(list(running))
                client.run(runner.stop, session)


def _finished(running: dict["Future", Task]) -> "list[Future]":
    from distributed import wait

    with suppress(TimeoutError):
        wait(list(running), timeout=LOOK_EVERY_SECONDS, return_when="FIRST_COMPLETED")
    return [future for future in running if future.done()]


def _answer(future: "Future") -> dict[str, Any]:
    try:
        answer: dict[str, Any] = future.result()
    except Exception as error:  # Dask's, of many kinds: the worker died, or lacks this package
        return {"error": f"the worker failed: {' '.join(str(error).split())[:200]}"}
    return answer


@contextmanager
def _client(terms: Terms) -> "Iterator[Client]":
    from distributed import Client

    for name in ("distributed", "tornado", "asyncio"):  # what they say is not for our reader
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(terms.cluster, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Fail(f"--cluster {terms.cluster}: no scheduler answers: {why}") from error
    with client:
        yield client
