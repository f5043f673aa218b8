# SPDX-License-Identifier: MIT
"""The module's self-test in a booted kernel: real CPUs' worth of kernel threads on every lock."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from overlock_tools.core.model import defs
from tests.conftest import TOP
from tests.guest.kernel.conftest import Build, mutant
from tests.mutant import changed

CPUS = "2"


def boot(folder: Path, image: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(TOP / "guest/boot-module"), str(folder), CPUS]
    env = {**os.environ, "KERNEL_IMAGE": str(image)} if image else None
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def test_every_lock_excludes(module: Path) -> None:
    done = boot(module)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = set(re.findall(r"^overlock: (\w+): .*: passed$", done.stdout, re.MULTILINE))
    assert passed == set(re.findall(r"LOCK\((\w+)\)", (module / "fits4.h").read_text()))
    failing = re.findall(r"^overlock: lock_or_fail: (\w+) passed$", done.stdout, re.MULTILINE)
    assert failing == ["rota", "preemptable_ticket", "tas"]
    met = re.findall(r"^overlock: waits: (\w+) passed$", done.stdout, re.MULTILINE)
    barriers = [barrier.id for barrier in defs.load().barriers.values() if barrier.simulated]
    assert met == [*barriers, "latch", "sequence", "until"]


def test_mutant_that_does_not_exclude_fails_the_self_test(
    build: Build, module: Path, tmp_path: Path
) -> None:
    taken = "return !ol_load_relaxed(&l->word) && !ol_xchg_acquire(&l->word, 1u);"
    careless = """if (ol_load_relaxed(&l->word))
		return false;
	for (unsigned int i = 0; i < 50; i++) /* the most of its time: whenever it is preempted */
		ol_relax();
	ol_store_relaxed(&l->word, 1u);
	return true;"""
    folder = tmp_path / "module"
    built = build(folder, mutant(tmp_path, "careless", (taken, careless)))
    assert built.returncode == 0, built.stderr
    fetched = next(module.glob("image/boot/vmlinuz-*"), None)  # by the test before
    done = boot(folder, fetched)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^overlock: careless: .*: FAILED$", done.stdout, re.MULTILINE)


def test_mutant_that_lets_pass_too_early_fails_the_self_test(module: Path, tmp_path: Path) -> None:
    for part in ("include", "lib", "guest", "bench/workload"):
        shutil.copytree(TOP / part, tmp_path / part)
    header = tmp_path / "include/overlock/wait/barrier.h"
    too_early = ("*last = w / OL_BARRIER_ARRIVAL + 1 == n;", "*last = true;")
    header.write_text(changed(header.read_text(), too_early))
    folder, environment = tmp_path / "module", {**os.environ, "LOCKS": "tas"}
    command = [tmp_path / "guest/build-module", folder]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    done = boot(folder, next(module.glob("image/boot/vmlinuz-*"), None))
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^overlock: waits: barrier: a context passed too early$", done.stdout, re.M)
    found = dict(re.findall(r"^overlock: waits: (\w+) (passed|FAILED)$", done.stdout, re.M))
    assert found["barrier"] == found["spin_barrier"] == "FAILED"
    assert found["latch"] == found["sequence"] == found["until"] == "passed"
