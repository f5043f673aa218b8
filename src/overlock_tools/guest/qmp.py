# SPDX-License-Identifier: MIT
"""QEMU's machine protocol, as far as it is needed: which thread is which vCPU, go, end."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from overlock_tools.guest.channel import Lines


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
        while True:  # events come between
            answer = json.loads(self._lines.line(self._seconds))
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise OSError(f"QEMU refused {command}: {answer['error'].get('desc')}")

    def vcpu_threads(self) -> list[int]:
        """Thread ids, in the order of the vCPUs."""
        cpus = self.ask("query-cpus-fast")
        return [cpu["thread-id"] for cpu in sorted(cpus, key=lambda cpu: int(cpu["cpu-index"]))]

    def close(self) -> None:
        self._lines.close()
