# SPDX-License-Identifier: MIT
"""One run of overlock-sim, in this process or in a worker, which may be on another machine."""

import hashlib
import json
import os
import signal
import subprocess
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from overlock_tools.core.system import native
from overlock_tools.core.system.errors import Fail, last_line

# Programs that this process runs, by who asked for them: others may use the same worker.
_running: dict[str, set["subprocess.Popen[str]"]] = {}
_stopped: set[str] = set()
_lock = threading.Lock()


def digest(program: Path) -> str:
    """A worker lives long, and another build may be installed meanwhile."""
    found = program.stat()
    return _digest(program, (found.st_ino, found.st_size, found.st_mtime_ns))


@cache
def _digest(program: Path, _of: tuple[int, ...]) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()


def simulate(told: str, program: str, session: str, limit: float) -> dict[str, Any]:
    """The answer, or {"error": why}: what a worker raises cannot always be carried back."""
    try:
        here = native.simulator()
        if digest(here) != program:
            return {"error": "the worker has another build of overlock-sim; install this one there"}
        return _run(here, told, session, limit)
    except Fail as error:
        return {"error": error.message}
    except OSError as error:
        return {"error": f"overlock-sim cannot be run: {error.strerror}"}


def _run(program: Path, told: str, session: str, limit: float) -> dict[str, Any]:
    with _lock:
        if session in _stopped:
            return {"error": "interrupted"}
        child = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # a terminal's Ctrl-C is for us: stop() passes it on
        )
        _running.setdefault(session, set()).add(child)
    try:
        out, err = child.communicate(told, timeout=limit or None)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit:g} s; give more time by --limit"}
    finally:
        with _lock:
            _running[session].discard(child)
        if child.poll() is None:
            child.kill()
            child.communicate()
    return _answer(child.returncode, out, err)


def _answer(code: int, out: str, err: str) -> dict[str, Any]:
    if code < 0:
        return {"error": f"overlock-sim was ended by {_signal(-code)}"}
    if code:
        return {"error": last_line(err).removeprefix("overlock-sim: ")}
    try:
        answer = json.loads(out)
    except ValueError:
        return {"error": "overlock-sim's answer is not JSON"}
    return answer if isinstance(answer, dict) else {"error": "overlock-sim's answer is no object"}


def _signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def stop(session: str) -> None:
    """Ends what runs for that session, and what would."""
    with _lock:
        _stopped.add(session)
        children = list(_running.get(session, ()))
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
