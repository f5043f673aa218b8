# SPDX-License-Identifier: MIT
"""Starts overlock-monitord: until it is stopped, or for one program."""

import os
import secrets
import subprocess
from typing import Any, NoReturn

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail

VARIABLE = "OVERLOCK_MONITOR"  # lib/slices.c


def run(options: dict[str, Any]) -> NoReturn:
    program = str(native.monitord())
    words = [f"--detail={options['detail']}"]
    words += [f"--{name}={options[name]}" for name in ("socket", "seconds") if options[name]]
    words += ["--cost"] if options["cost"] else []
    words += ["--json"] if options["as_json"] else []
    os.execv(program, [program, *words])  # noqa: S606 - no shell is wanted


def begin_for(process: int) -> dict[str, str]:
    """Serves until that process ends; the variable by which it, and its children, find it."""
    socket = f"@overlock-monitor-{secrets.token_hex(8)}"
    done = subprocess.run(
        [native.monitord(), f"--socket={socket}", f"--until={process}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Fail(done.stderr.strip().removeprefix("overlock monitord: "), done.returncode)
    return {VARIABLE: socket}
