#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fetch a program's source from Debian, patch a copy of it, and build both in a folder.

pkg-config must know our library: `make install PREFIX=/somewhere`, then call this with
PKG_CONFIG_PATH=/somewhere/lib/pkgconfig.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from programs import NATIVE, VARIANTS, Program, parser

from overlock_tools.core.system.errors import FAILED, MISSING, Fail
from overlock_tools.guest import debsource, packages


def asked(*words: str) -> str:
    command = ["pkg-config", *words, "overlock"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Fail("pkg-config is missing; install it", MISSING) from error
    if done.returncode:
        raise Fail("pkg-config does not know overlock; set PKG_CONFIG_PATH to it", MISSING)
    return done.stdout.strip()


def flags(lock: str) -> dict[str, str]:
    """-isystem: the program's own warnings are none of ours."""
    cflags = asked("--cflags-only-I").replace("-I", "-isystem ") or "-isystem /usr/include"
    libs = f"{asked('--libs')} -Wl,-rpath,{asked('--variable=libdir')}"
    return {"OL_CFLAGS": f"{cflags} -DOVERLOCK_COMPAT_LOCK={lock}", "OL_LIBS": libs}


def build(program: Program, tree: Path, flags: dict[str, str]) -> None:
    log = tree.parent / f"{tree.name}.log"
    command = ["bash", "-eu", str(program.folder / "build.sh")]
    env = {**os.environ, **flags, "OL_HERE": str(program.folder)}
    with log.open("w") as out:
        done = subprocess.run(
            command, cwd=tree, env=env, stdout=out, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise Fail(f"{tree} cannot be built; see {log}", FAILED)


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument(
        "--lock", default="tas_yield", help="an id of locks.def; default: tas_yield"
    )
    given = arguments.parse_args()
    program, ours = Program(given.program), flags(given.lock)
    folder = given.folder.resolve()
    source = folder / "source"
    if not source.exists():
        print(f"{program.source} {debsource.fetched(program.source, source, print)}")
    for variant in VARIANTS:
        tree = folder / variant
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(source, tree, symlinks=True)
        if variant != NATIVE:
            for path in program.patches:
                packages.patch(tree, path, str(tree))
        print(f"building {tree}", flush=True)
        build(program, tree, ours if variant != NATIVE else {"OL_CFLAGS": "", "OL_LIBS": ""})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fail as why:
        print(f"build.py: {why}", file=sys.stderr)
        sys.exit(1)
