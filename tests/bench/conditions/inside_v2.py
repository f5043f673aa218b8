# SPDX-License-Identifier: MIT
"""Runs in a booted kernel with nothing but cgroup v2: quotas from every place a process may be in.

A line `v2: CASE: JSON` each: where the group was, the proof or the refusal, and whether all was as
before afterwards.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from overlock_tools.bench.conditions import applied
from overlock_tools.bench.conditions.quota import Quota
from overlock_tools.core.system.errors import Fail

TOP = Path("/sys/fs/cgroup")
SPIN = [sys.executable, "-c", "while True: pass"]


def tree() -> dict[str, str]:
    """Each group and what it hands on."""
    folders = [TOP, *(folder for folder in TOP.rglob("*") if folder.is_dir())]
    return {str(f.relative_to(TOP)): (f / "cgroup.subtree_control").read_text() for f in folders}


def group_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::")


def case(name: str, quota: str) -> None:
    child = subprocess.Popen(SPIN)
    before = tree(), group_of(child.pid)
    said: dict[str, object] = {}
    try:
        with applied([Quota.parse(quota)], child.pid) as proofs:
            said["group"] = group_of(child.pid)
            time.sleep(1)
            said["proof"] = proofs.collect()["quota"]
    except Fail as error:
        said["refused"] = error.message
    said["undone"] = before == (tree(), group_of(child.pid))
    child.kill()
    child.wait()
    print(f"v2: {name}: {json.dumps(said)}", flush=True)


def main() -> None:
    case("in the top group", "0.2")
    session = TOP / "user/session"
    session.mkdir(parents=True)
    (session / "cgroup.procs").write_text(str(os.getpid()))
    case("nobody hands it on", "0.2:20")
    (TOP / "cgroup.subtree_control").write_text("+cpu")
    (TOP / "user/cgroup.subtree_control").write_text("+cpu")
    case("the slice hands it on", "0.2")
    (TOP / "user/cpu.max").write_text("10000 100000")
    case("looser than what is above", "0.2")
    (TOP / "user/cpu.max").write_text("max")
    os.setgid(65534)
    os.setuid(65534)
    case("nobody", "0.2")


if __name__ == "__main__":
    main()
