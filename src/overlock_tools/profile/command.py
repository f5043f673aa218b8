# SPDX-License-Identifier: MIT
"""`overlock profile`, from what was asked to what is written."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from overlock_tools.preload import live
from overlock_tools.profile import agent, report, show
from overlock_tools.profile.seen import Seen
from overlock_tools.system import cgroups, files
from overlock_tools.system.errors import Fail
from overlock_tools.system.kernel_files import Tree, Unknown

Report = dict[str, Any]


def _context(pid: int) -> Report:
    """While it runs: its quota, and whether it has OpenMP."""
    tree, found = Tree(), Report()
    with contextlib.suppress(Unknown):
        quota = cgroups.quota(tree, cgroups.of(tree, str(pid)))
        found["quota"] = quota.cpus if quota else None
    with contextlib.suppress(OSError):
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
        found["openmp"] = any(name in maps for name in ("libgomp", "libomp", "libiomp5"))
    return found


def _write(found: Report, options: dict[str, Any]) -> None:
    if path := options["json_path"]:
        files.write(path, json.dumps(found, indent=1) + "\n")
    if path := options["folded"]:
        files.write(path, show.folded(found))
    print(show.whole(found, options["top"]), end="", file=sys.stderr, flush=True)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError as error:
        raise Fail(f"process {pid} does not exist; `ps` lists those that do") from error


def _watch_running(pid: int, options: dict[str, Any]) -> int:
    name = _name(pid)
    watching = agent.start(pid, options["seconds"], {"locks": options["locks"]})
    context = _context(pid)
    _write(report.make(watching.answer(), name, context), options)
    return 0


def _watch_program(args: tuple[str, ...], options: dict[str, Any]) -> int:
    with agent.started(args, options["seconds"], {"locks": options["locks"]}) as (watching, child):
        seen: Seen = watching.answer()
        context = _context(os.getpid())  # it has ended; it is in our group, unless it chose another
        _write(report.make(seen, Path(args[0]).name, context), options)
        return live.end_as(child.wait())


def run(program: tuple[str, ...], options: dict[str, Any]) -> int:
    if (options["pid"] is None) == (not program):
        raise Fail("expected either --pid PID or -- PROGRAM")
    for path in (options["json_path"], options["folded"]):
        if path:
            files.check_writable(path)
    if program:
        return _watch_program(program, options)
    return _watch_running(options["pid"], options)
