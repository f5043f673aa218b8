# SPDX-License-Identifier: MIT
"""Programs that are started here, and end with us and with all that they have started."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_with_us() -> None:
    """SIGTERM and a closed terminal are as Ctrl-C, so that what was started is ended."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores one
            signal.signal(number, signal.default_int_handler)


@contextlib.contextmanager
def deferred_stops() -> Iterator[None]:
    """Ctrl-C takes effect at the end of the context: what was started in it is known by then.

    Signals are not blocked, and ignored ones stay ignored, for a program inherits both.
    """
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in STOPS}
    handled = {number: one for number, one in handlers.items() if callable(one)}
    if threading.current_thread() is not threading.main_thread():
        handled = {}  # handlers run in the main thread alone
    for number in handled:
        signal.signal(number, lambda stop, _: came.append(stop))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for stop in came:
            signal.raise_signal(stop)


@contextlib.contextmanager
def group(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """The program, in a session of its own; at the end it is killed, and all that it left there."""
    child = None
    try:
        with deferred_stops():
            child = subprocess.Popen(command, start_new_session=True, **options)
        yield child
    finally:
        if child:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
