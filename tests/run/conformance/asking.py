# SPDX-License-Identifier: MIT
"""Asks the program of cases, and compares with the table."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.run.conformance.generate import Case

OURS = {"mutex", "cond", "c11"}  # families that are not glibc's under every lock


def wanted(chosen: Iterable[Case], ours: set[str]) -> dict[str, tuple[Case, str]]:
    """What each must say where these families are not glibc's."""
    results = ((c, c.ours if c.family in ours else c.native) for c in chosen)
    return {case.name: (case, result) for case, result in results if result is not None}


def differences(
    program: Path,
    expected: dict[str, tuple[Case, str]],
    env: dict[str, str],
    seconds: float = 20,
    anew: bool = False,
) -> list[str]:
    """What was said otherwise; each case may take so long, and may be an execution of its own."""
    asked = "".join(f"{case.asked(result)}\n" for case, result in expected.values())
    command = [str(program), "--seconds", str(seconds), *(["--exec"] if anew else [])]
    done = subprocess.run(
        command, env=env, input=asked, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said.keys() == expected.keys()
    return [
        f"{name}: {said[name]}, not {result}"
        for name, (_, result) in expected.items()
        if said[name] != result
    ]
