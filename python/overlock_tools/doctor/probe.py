# SPDX-License-Identifier: MIT
"""What overlock-probe said: costs, and what the kernel lets us do."""

import errno
import json
import os
import signal
import subprocess
from dataclasses import dataclass
from typing import Any

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail
from overlock_tools.core.system.kernel_files import Unknown

# It takes a tenth of a second where it gets its CPUs; a group with 1 % of one takes far longer.
LIMIT_S = 20.0


@dataclass(frozen=True)
class Probe:
    parts: dict[str, dict[str, Any]]
    lacking: str  # why a part may not be there
    built: bool = True

    def part(self, name: str) -> dict[str, Any]:
        if name not in self.parts:
            raise Unknown(self.lacking)
        return self.parts[name]

    def get(self, part: str, name: str) -> Any:
        found = self.part(part)
        if name not in found:
            raise Unknown("not available on this architecture")
        return found[name]


def parse(text: str, lacking: str) -> Probe:
    parts: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            parts[str(entry["part"])] = entry
        except (ValueError, TypeError, KeyError):  # the line at which it was killed
            break
    return Probe(parts, lacking)


def run() -> Probe:
    try:
        program = native.file("overlock-probe")
    except Fail as error:
        return Probe({}, error.message, built=False)
    try:
        done = subprocess.run(
            [program], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as cut:
        return parse(
            (cut.stdout or b"").decode(errors="replace"),
            f"overlock-probe took more than {LIMIT_S:g} s",
        )
    except OSError as error:
        return Probe({}, f"{program} cannot be executed: {error.strerror}")
    how = f"ended with status {done.returncode}"
    if done.returncode < 0:
        how = f"was killed by {signal.Signals(-done.returncode).name}"
    lacking = "the probe could not test it here" if not done.returncode else f"overlock-probe {how}"
    return parse(done.stdout.decode(errors="replace"), lacking)


def because(number: int) -> str:
    """An error number as its name and words."""
    return f"{errno.errorcode.get(number, number)}, {os.strerror(number).lower()}"
