# SPDX-License-Identifier: MIT
"""overlock-bench as `overlock bench` drives it: cells in, answers out."""

import json
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NATIVE
from tests.processes import HANG_S

STRIDE = NATIVE.parent / "tests/bench/measuring/overlock-bench-stride"  # whose sampler is broken

from overlock_tools.bench import header_locks  # noqa: E402  (after the folder is named)

Answer = dict[str, Any]


class Bench:
    """A running overlock-bench."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.facts = self.answer()

    def answer(self) -> Answer:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], HANG_S)[0]:
            pytest.fail(f"no answer within {HANG_S:g} s")
        answer: Answer = json.loads(self.process.stdout.readline())
        return answer

    def start(self, line: str) -> None:
        """Asks for a cell; its answer is still to be read."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> Answer:
        self.start(line)
        return self.answer()

    def end(self) -> int:
        """Ends the input; the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(HANG_S)

    def copies(self) -> list[int]:
        """The processes of the cell at hand."""
        pid = self.process.pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(word) for word in text.split()]


@contextmanager
def started(*options: str, program: Path = NATIVE / "overlock-bench") -> Iterator[Bench]:
    process = subprocess.Popen(
        [program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Bench(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    with started() as running:
        yield running


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The option that loads one of the locks here, each with a fault that is known."""
    folder = tmp_path_factory.mktemp("planted")

    def option(name: str) -> str:
        header = Path(__file__).with_name(f"{name}.h")
        return f"--lock-so={name}={header_locks.compile_lock(header, folder)}"

    return option
