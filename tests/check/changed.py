# SPDX-License-Identifier: MIT
"""Which locks a change touches, so that CI explores no other anew."""

import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LOCKS = "include/overlock/lock/"
# What every exploration depends on; the rest of include/ is beneath all locks.
EVERYTHING = ("include/", "check/", "check/engine/", "tests/check/")


def files(base: str, top: Path = TOP) -> list[str] | None:
    """What differs from the commit `base`; None if there is no such commit."""
    command = ["git", "diff", "--name-only", base]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout.split()


def parts(lock: str, top: Path = TOP) -> set[str]:
    """The headers that the lock is made of."""
    command = ["cc", "-MM", "-Iinclude", f"{LOCKS}{lock}.h"]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=True)
    return set(done.stdout.replace("\\\n", " ").split()[1:])


def touches(lock: str, changed: list[str], top: Path = TOP) -> bool:
    beneath = (path for path in changed if path.startswith(EVERYTHING))
    if any(not path.startswith(LOCKS) for path in beneath):
        return True
    return not parts(lock, top).isdisjoint(changed)


def of_ci(lock: str) -> bool:
    """Is it to be explored? Outside of CI, which says what was tested before, each is."""
    base = os.environ.get("OVERLOCK_BASE")
    changed = files(base) if base else None
    return changed is None or touches(lock, changed)
