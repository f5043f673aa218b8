# SPDX-License-Identifier: MIT
"""QEMU's machine protocol, as far as it is needed: which thread is which vCPU, go, end. A guest may
have taken QEMU over, so any answer can come: a wrong one is a ValueError, none in time Late."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Required, TypedDict

from overlock_tools.core.system import reading
from overlock_tools.guest.channel import Lines

Cpu = TypedDict("Cpu", {"cpu-index": Required[int], "thread-id": Required[int]})


def threads_of(answer: Any) -> list[int]:
    """Thread ids, in the order of the vCPUs, of what query-cpus-fast returns."""
    cpus = reading.checked(list[Cpu], answer, "the list of vCPUs")
    return [cpu["thread-id"] for cpu in sorted(cpus, key=lambda cpu: int(cpu["cpu-index"]))]


class Monitor:
    def __init__(self, path: Path, seconds: float, lives: Callable[[], bool]) -> None:
        self._lines = Lines(path, seconds, lives)
        self._seconds = seconds
        self._lines.line(seconds)  # its greeting
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: Any) -> Any:
        told: dict[str, Any] = {"execute": command}
        if arguments:
            told["arguments"] = arguments
        self._lines.say(json.dumps(told))
        until = time.monotonic() + self._seconds
        while True:  # events come between
            answer = reading.parsed(self._lines.line(max(0.0, until - time.monotonic())))
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise OSError(f"QEMU refused {command}: {json.dumps(answer['error'])[:200]}")

    def vcpu_threads(self) -> list[int]:
        """Thread ids, in the order of the vCPUs."""
        return threads_of(self.ask("query-cpus-fast"))

    def process(self) -> int:
        """QEMU's, whose threads these must be."""
        return self._lines.process()

    def close(self) -> None:
        self._lines.close()
