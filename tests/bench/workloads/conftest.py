# SPDX-License-Identifier: MIT
"""overlock-bench as `overlock bench` drives it, and the locks that are wrong on purpose."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import NATIVE, TOP

BUILT = NATIVE.parent / "tests"
EXCLUDES_NOBODY, STOPS_GRANTING = "in_step", "dead_end"
OPENS_EARLY = "opens_early"  # a barrier

from overlock_tools.bench import header_locks, server  # noqa: E402  (after the folder is named)


class Bench:
    def __init__(self, running: server.Server) -> None:
        self._server = running
        self.workloads = [entry["id"] for entry in running.facts["workloads"]]
        subjects = running.facts["subjects"]
        self.barriers = [entry["id"] for entry in subjects if entry["kind"] == "barrier"]

    def measure(self, workload: str, **options: object) -> dict[str, Any]:
        """`workload` may bring parameters: "sections locks=8"."""
        name, *parameters = workload.split()
        given = dict(word.split("=") for word in parameters)
        return self._server.measure({"workload": name, **given, **options})


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("locks")
    headers = TOP / "tests/bench/measuring"
    options = [
        f"--lock-so={name}={header_locks.compile_lock(headers / f'{name}.h', folder)}"
        for name in (EXCLUDES_NOBODY, STOPS_GRANTING)
    ]
    options.append(f"--peers={BUILT / OPENS_EARLY}.so")
    with server.started(options) as running:
        yield Bench(running)
