# SPDX-License-Identifier: MIT
"""Many runs at once: by Dask, on a cluster of this machine's own or on one that exists."""

import itertools
import logging
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overlock_tools.simulate import runner
from overlock_tools.system.errors import MISSING, Fail

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

# Runs that wait at the scheduler for each worker: enough that none idles, and a sweep of any size
# costs the scheduler the same.
AHEAD = 4
CONNECT_SECONDS = 10
LOOK_EVERY_SECONDS = 0.1
LOOPBACK = "127.0.0.1:0"


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
    try:
        from distributed import Client
    except ImportError:
        raise Fail(
            "several runs at once need Dask; run `pip install distributed`, or give --jobs 1",
            MISSING,
        ) from None
    for name in ("distributed", "tornado", "asyncio"):  # what they say is not for our reader
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if not terms.cluster:
        with _own(terms.jobs) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(terms.cluster, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Fail(f"--cluster {terms.cluster}: no scheduler answers: {why}") from error
    with client:
        yield client


@contextmanager
def _own(jobs: int) -> "Iterator[LocalCluster]":
    """Its workers are threads of this process: what they wait for are programs."""
    import dask
    from distributed import LocalCluster

    with (
        tempfile.TemporaryDirectory(prefix="overlock-") as folder,
        dask.config.set({"temporary-directory": folder}),
        LocalCluster(
            processes=False,
            n_workers=1,
            threads_per_worker=jobs,
            memory_limit=None,
            dashboard_address=None,
            # Its status pages cannot be left out. Other machines cannot read them here.
            scheduler_kwargs={"dashboard_address": LOOPBACK},
            worker_dashboard_address=LOOPBACK,
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield cluster
