# SPDX-License-Identifier: MIT
"""What stepped.c is run with: calls, what happens at their instructions, and under which locks."""

from pathlib import Path

from tests.run.conftest import Compile, environment, run

WAITS = ("contended", "timed", "read", "write", "wait")
CALLS = ("lock", "recursive", *WAITS, "unlock", "signal")
# In the child of a fork a recursive mutex of glibc's, and the mutex of a wait, are the parent's.
GO_ON_IN_CHILDREN = ("lock", "unlock", "signal")
# Out of a wait for glibc's rwlock, its readers and writers are counted for ever.
MAY_BE_LEFT = ("contended", "timed")
EVENTS = {
    "signal": CALLS,
    "contended-signal": CALLS,
    "fork": CALLS,
    "fork-both": GO_ON_IN_CHILDREN,
    "cancel": CALLS,
    "jump": MAY_BE_LEFT,
}
PAIRS = [(call, event) for event, calls in EVENTS.items() for call in calls]

# So that waiters sleep soon.
SOON = {"OVERLOCK_LONGEST_SPIN_NS": "1000", "OVERLOCK_SPIN_NS": "1000", "OVERLOCK_RWLOCK": "qrw"}


def under(lock: str, library: Path | None = None, **more: str) -> dict[str, str]:
    return environment(lock, library, **SOON, **more)


def steps(
    program: Compile, pair: tuple[str, str], samples: int, env: dict[str, str], draw: int
) -> str:
    """How many instructions; the same program is right natively, and so has to be right here."""
    stepped = program("stepped.c", "-Wl,-z,now")
    done = run([stepped, *pair, str(samples), str(draw)], env, timeout=900)
    assert (done.returncode, done.stderr) == (0, ""), (done, draw)
    return done.stdout
