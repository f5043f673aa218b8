# SPDX-License-Identifier: MIT
"""A look into the program, beside those at the kernel's counters: `overlock profile`, as long."""

import threading
from typing import Any

from overlock_tools.core.system import children
from overlock_tools.core.system.errors import Fail

Report = dict[str, Any]


class Inside(threading.Thread):
    """Afterwards there is a report, or `why_not`."""

    def __init__(self, pid: int, seconds: float) -> None:
        super().__init__(daemon=True)  # Ctrl-C does not wait for it
        self.pid, self.seconds = pid, seconds
        self.report: Report | None = None
        self.why_not = ""

    def run(self) -> None:
        from overlock_tools.profile import command

        try:
            self.report = command.watched(self.pid, self.seconds)
        except Fail as error:
            self.why_not = error.message


def looked(pid: int, seconds: float) -> Inside:
    children.end_with_us()
    found = Inside(pid, seconds)
    found.start()
    return found
