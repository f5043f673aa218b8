# SPDX-License-Identifier: MIT
"""Many runs at once: by Dask, on a cluster of this machine's own or on one that exists."""

import itertools
import logging
import signal
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overlock_tools.simulate import runner
from overlock_tools.system.errors import MISSING, Fail

if TYPE_CHECKING:
    from distributed import Client, Future

# Runs that wait at the scheduler for each worker: enough that none idles, and a sweep of any size
# costs the scheduler the same.
AHEAD = 4
CONNECT_SECONDS = 10


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
    """All tasks, in this process if there is one or one at a time."""
    session = uuid.uuid4().hex
    if not terms.cluster and (len(tasks) == 1 or terms.jobs == 1):
        _here(tasks, terms, session, done, asked_to_end)
    else:
        _by_dask(tasks, terms, session, done, asked_to_end)


def _here(
    tasks: Sequence[Task], terms: Terms, session: str, done: Done, asked_to_end: Ending
) -> None:
    """In a thread, so that we hear of Ctrl-C meanwhile."""
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(1) as pool:
        for task in tasks:
            if asked_to_end():
                return
            future = pool.submit(runner.simulate, task.told, terms.program, session, terms.limit)
            while not wait([future], LOOK_EVERY_SECONDS).done:
                if asked_to_end():
                    runner.stop(session)
            if not asked_to_end():
                done(task.key, future.result())


LOOK_EVERY_SECONDS = 0.1


def _by_dask(
    tasks: Sequence[Task], terms: Terms, session: str, done: Done, asked_to_end: Ending
) -> None:
    with _client(terms, len(tasks)) as client:
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
def _client(terms: Terms, tasks: int) -> "Iterator[Client]":
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise Fail(
            "several runs at once need Dask; run `pip install distributed`, or give --jobs 1",
            MISSING,
        ) from None
    for name in ("distributed", "tornado", "asyncio"):  # what they say is not for our reader
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        if terms.cluster:
            try:
                client = Client(terms.cluster, timeout=CONNECT_SECONDS)
            except (OSError, ValueError) as error:
                why = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise Fail(f"--cluster {terms.cluster}: no scheduler answers: {why}") from error
            yield stack.enter_context(client)
            return
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="overlock-"))
        with _deaf_children():
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=min(terms.jobs, tasks),
                    threads_per_worker=1,
                    dashboard_address=None,
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                )
            )
        yield stack.enter_context(Client(cluster))


@contextmanager
def _deaf_children() -> Iterator[None]:
    """A terminal's Ctrl-C reaches all processes: those started here leave it to us.

    They inherit that it is ignored. For the second that their start takes, we ignore it, too.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
